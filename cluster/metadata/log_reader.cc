#include "cluster/metadata/log_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "broker/runtime/log.h"

namespace ringtail::cluster::metadata {

namespace {

using runtime::Code;
using runtime::log;
using runtime::LogLevel;
using runtime::Result;
using runtime::Status;

std::string_view prefix_of(LogFileKind kind) {
  return kind == LogFileKind::kLog ? "log-" : "snapshot-";
}

// Each start has qids of its own: its number above these bits.
constexpr int kQidBitsOfBoot = 40;

}  // namespace

std::string log_path(const std::string& directory, LogFileKind kind, std::uint64_t number) {
  return fmt::format("{}/{}{:010}", directory, prefix_of(kind), number);
}

std::optional<std::uint64_t> log_number(const std::string& name, LogFileKind kind) {
  const std::string_view prefix = prefix_of(kind);
  if (!name.starts_with(prefix)) return std::nullopt;
  std::uint64_t number = 0;
  const char* const end = name.data() + name.size();
  const auto [at, error] = std::from_chars(name.data() + prefix.size(), end, number);
  if (error != std::errc() || at != end) return std::nullopt;
  return number;
}

LogReader::LogReader(runtime::Disk& disk, std::string directory)
    : disk_(disk), directory_(std::move(directory)) {
  request_.done = [this](const Status& status) { read_done(status); };
}

void LogReader::start(Done done) {
  done_ = std::move(done);
  if (const Status status = find_sources(); !status.ok()) return fail(status);
  read_next();
}

// Which files count, in the order in which they are read.
Status LogReader::find_sources() {
  const auto names = disk_.list(directory_);
  if (!names.ok()) return names.status();
  std::vector<std::uint64_t> logs;
  std::vector<std::uint64_t> snapshots;
  for (const std::string& name : names.value()) {
    if (const auto number = log_number(name, LogFileKind::kLog)) logs.push_back(*number);
    if (const auto number = log_number(name, LogFileKind::kSnapshot)) snapshots.push_back(*number);
    if (name == kUnfinishedSnapshot || name == kUnfinishedLog)
      result_.leftovers.push_back(directory_ + "/" + name);
  }
  std::sort(logs.begin(), logs.end());
  std::sort(snapshots.begin(), snapshots.end());
  result_.fresh = logs.empty() && snapshots.empty();
  if (result_.fresh) return {};

  std::uint64_t first = 1;
  if (!snapshots.empty()) {
    first = result_.snapshot = snapshots.back();
    sources_.push_back(
        {LogFileKind::kSnapshot, first, log_path(directory_, LogFileKind::kSnapshot, first)});
    snapshots.pop_back();
  }
  for (const std::uint64_t number : snapshots) {
    result_.leftovers.push_back(log_path(directory_, LogFileKind::kSnapshot, number));
  }
  std::uint64_t expected = first;
  for (const std::uint64_t number : logs) {
    const std::string path = log_path(directory_, LogFileKind::kLog, number);
    if (number < first) {
      result_.leftovers.push_back(path);
      continue;
    }
    if (number != expected) break;
    sources_.push_back({LogFileKind::kLog, number, path});
    ++expected;
  }
  if (expected == first || (!logs.empty() && logs.back() >= expected)) {
    return {Code::kCorrupt, log_path(directory_, LogFileKind::kLog, expected) + " is missing"};
  }
  return {};
}

void LogReader::read_next() {
  if (next_ == sources_.size()) return finish();
  const std::string& path = sources_[next_].path;
  auto file = disk_.open(path, runtime::OpenMode::kRead);
  if (!file.ok()) return fail(file.status());
  file_ = std::move(file).value();
  content_.resize(file_->size());
  request_.buffer = {reinterpret_cast<std::uint8_t*>(content_.data()), content_.size()};
  file_->read_at(request_);
}

void LogReader::read_done(const Status& status) {
  file_.reset();
  if (!status.ok()) return fail(status);
  const Source source = sources_[next_++];
  if (request_.transferred != content_.size()) {
    return fail({Code::kIo, fmt::format("cannot read {}: {} bytes of {} came", source.path,
                                        request_.transferred, content_.size())});
  }
  if (const Status taken = take(source, std::move(content_)); !taken.ok()) return fail(taken);
  read_next();
}

Status LogReader::take(const Source& source, std::string content) {
  if (source.kind == LogFileKind::kSnapshot) {
    const auto scan =
        scan_log(content, source.kind, std::nullopt, source.path,
                 [this](std::string_view changes) { return builder_.apply(changes); });
    if (!scan.ok()) return scan.status();
    if (!scan.value().complete) {
      return {Code::kCorrupt, fmt::format("{} is damaged at offset {}: it ends too early",
                                          source.path, scan.value().end)};
    }
    result_.snapshot_bytes = content.size();
    result_.boot = scan.value().header.boot + 1;
    return {};
  }
  const auto scan = scan_header(content, source.kind, source.path);
  if (!scan.ok()) return scan.status();
  const LogHeader& header = scan.value().header;
  if (header.number != source.number) {
    return {Code::kCorrupt,
            fmt::format("{} says that it is log {}: it was renamed", source.path, header.number)};
  }
  if (waiting_) RT_TRY(take_log(*waiting_, header.previous_end));
  result_.boot = header.boot + 1;
  waiting_ = source;
  waiting_content_ = std::move(content);
  return {};
}

Status LogReader::take_log(const Source& source, std::optional<std::uint64_t> end) {
  const auto scan = scan_log(waiting_content_, LogFileKind::kLog, end, source.path,
                             [this](std::string_view changes) { return builder_.apply(changes); });
  if (!scan.ok()) return scan.status();
  result_.last_log = source.number;
  result_.last_end = scan.value().end;
  if (!end && scan.value().last_record > 0) {
    result_.last_end = scan.value().last_record;
    result_.last_changes =
        waiting_content_.substr(scan.value().last_record + kLogRecordHeaderSize,
                                scan.value().end - scan.value().last_record - kLogRecordHeaderSize);
  }
  result_.log_bytes += scan.value().end;
  if (scan.value().torn > 0) {
    log(LogLevel::kWarning, "metadata",
        "{} ends in a write that was cut off at offset {}: its {} bytes are left out, nobody was "
        "told that they were done",
        source.path, scan.value().end, scan.value().torn);
  }
  waiting_content_.clear();
  return {};
}

void LogReader::finish() {
  if (waiting_) {
    if (const Status status = take_log(*waiting_, std::nullopt); !status.ok()) return fail(status);
  }
  result_.state = builder_.finish();
  std::uint64_t highest = 0;
  for (const auto& queue : result_.state.queues) highest = std::max(highest, queue->qid.value);
  if (highest > 0) result_.boot = std::max(result_.boot, (highest >> kQidBitsOfBoot) + 1);
  result_.state.first_qid = (result_.boot << kQidBitsOfBoot) + 1;
  const Done done = std::move(done_);
  done(std::move(result_));
}

void LogReader::fail(const Status& status) {
  const Done done = std::move(done_);
  done(status);
}

}  // namespace ringtail::cluster::metadata
