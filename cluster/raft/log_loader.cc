#include "cluster/raft/log_loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "broker/runtime/log.h"

namespace ringtail::cluster::raft {

namespace {

using runtime::Code;
using runtime::log;
using runtime::LogLevel;
using runtime::Result;
using runtime::Status;

constexpr std::string_view kLogPrefix = "log-";
constexpr std::string_view kSnapshotPrefix = "snapshot-";

std::optional<std::uint64_t> number_of(const std::string& name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  std::uint64_t number = 0;
  const char* const end = name.data() + name.size();
  const auto [at, error] = std::from_chars(name.data() + prefix.size(), end, number);
  if (error != std::errc() || at != end) return std::nullopt;
  return number;
}

}  // namespace

std::string log_path(const std::string& directory, std::uint64_t number) {
  return fmt::format("{}/{}{:010}", directory, kLogPrefix, number);
}

std::string snapshot_path(const std::string& directory, Index index) {
  return fmt::format("{}/{}{:010}", directory, kSnapshotPrefix, index);
}

LogLoader::LogLoader(runtime::Disk& disk, std::string directory, Index trailing)
    : disk_(disk), directory_(std::move(directory)), trailing_(trailing) {
  request_.done = [this](const Status& status) { file_read(status); };
}

void LogLoader::start(Done done) {
  done_ = std::move(done);
  if (const Status status = find_files(); !status.ok()) return end(status);
  read_next();
}

Status LogLoader::find_files() {
  const auto names = disk_.list(directory_);
  if (!names.ok()) return names.status();
  std::vector<std::uint64_t> snapshots;
  for (const std::string& name : names.value()) {
    if (const auto number = number_of(name, kLogPrefix)) logs_.push_back(*number);
    if (const auto number = number_of(name, kSnapshotPrefix)) snapshots.push_back(*number);
    if (name == kBallotFile) has_ballot_ = true;
    if (name == kUnfinishedLog || name == kUnfinishedSnapshot) {
      result_.leftovers.push_back(directory_ + "/" + name);
    }
  }
  std::sort(logs_.begin(), logs_.end());
  std::sort(snapshots.begin(), snapshots.end());
  if (!snapshots.empty()) {
    snapshot_ = snapshots.back();
    snapshots.pop_back();
  }
  for (const std::uint64_t older : snapshots) {
    result_.leftovers.push_back(snapshot_path(directory_, older));
  }
  for (std::size_t i = 1; i < logs_.size(); ++i) {
    if (logs_[i] != logs_[i - 1] + 1) {
      return {Code::kCorrupt, log_path(directory_, logs_[i - 1] + 1) + " is missing"};
    }
  }
  if (snapshot_ && logs_.empty()) {
    return {Code::kCorrupt, directory_ + " has a snapshot and no log"};
  }
  return {};
}

void LogLoader::read_next() {
  std::string path;
  if (next_ < logs_.size()) {
    path = log_path(directory_, logs_[next_]);
  } else if (next_ == logs_.size() && has_ballot_) {
    path = directory_ + "/" + kBallotFile;
  } else {
    return read_snapshot();
  }
  auto file = disk_.open(path, runtime::OpenMode::kRead);
  if (!file.ok()) return end(file.status());
  file_ = std::move(file).value();
  content_.resize(file_->size());
  request_.buffer = {reinterpret_cast<std::uint8_t*>(content_.data()), content_.size()};
  file_->read_at(request_);
}

void LogLoader::file_read(const Status& status) {
  file_.reset();
  if (!status.ok()) return end(status);
  if (request_.transferred != content_.size()) {
    return end({Code::kIo, fmt::format("a file in {} was not read whole: {} bytes of {} came",
                                       directory_, request_.transferred, content_.size())});
  }
  const std::size_t at = next_++;
  const Status taken =
      at < logs_.size() ? take(logs_[at], std::move(content_)) : ballot_read(content_);
  if (!taken.ok()) return end(taken);
  read_next();
}

Status LogLoader::ballot_read(std::string_view content) {
  const auto ballot = decode_ballot(content, directory_ + "/" + kBallotFile);
  if (!ballot.ok()) return ballot.status();
  result_.ballot = ballot.value();
  return {};
}

// --- the log's files -----------------------------------------------------------------------------

Status LogLoader::take(std::uint64_t number, std::string content) {
  const std::string path = log_path(directory_, number);
  const auto scan = scan_header(content, path);
  if (!scan.ok()) return scan.status();
  const LogHeader& header = scan.value().header;
  if (header.number != number) {
    return {Code::kCorrupt,
            fmt::format("{} says that it is log {}: it was renamed", path, header.number)};
  }
  if (waiting_) RT_TRY(replay(header.previous_end));
  waiting_ = LogFileFacts{number, 0, content.size()};
  waiting_content_ = std::move(content);
  return {};
}

Status LogLoader::replay(std::optional<std::uint64_t> end) {
  const std::string path = log_path(directory_, waiting_->number);
  LogVisitor visitor;
  visitor.entry = [this](Index index, const EntryView& view) { return entry(index, view); };
  visitor.truncate = [this](Index index) { return truncate(index); };
  visitor.restart = [this](Index index, Term) {
    entries_.clear();
    next_index_ = index + 1;
    return Status();
  };
  const auto scan = scan_log(waiting_content_, end, path, visitor);
  if (!scan.ok()) return scan.status();
  result_.last_end = scan.value().end;
  if (!end && scan.value().last_record > 0) {
    result_.last_end = scan.value().last_record;
    const std::uint64_t begin = scan.value().last_record + kRecordHeaderSize;
    result_.last_operations = waiting_content_.substr(begin, scan.value().end - begin);
  }
  if (scan.value().torn > 0) {
    log(LogLevel::kWarning, "raft",
        "{} ends in a write that was cut off at offset {}: its {} bytes are left out, nobody was "
        "told that they were done",
        path, scan.value().end, scan.value().torn);
  }
  result_.files.push_back(*waiting_);
  waiting_content_.clear();
  return {};
}

Status LogLoader::entry(Index index, const EntryView& entry) {
  if (!next_index_) next_index_ = index;
  if (index != *next_index_ || index == 0) {
    return {Code::kCorrupt, fmt::format("entry {} where {} must be", index, *next_index_)};
  }
  if (!entries_.empty() && entry.term < entries_.back().term) {
    return {Code::kCorrupt, fmt::format("entry {} has term {} behind term {}", index, entry.term,
                                        entries_.back().term)};
  }
  entries_.push_back({entry.term, entry.kind, std::string(entry.payload)});
  ++*next_index_;
  waiting_->highest = std::max(waiting_->highest, index);
  return {};
}

Status LogLoader::truncate(Index index) {
  // The file that had the entries may be gone: then so were they, but for the number.
  if (!next_index_) next_index_ = index;
  if (index > *next_index_ || index == 0) {
    return {Code::kCorrupt, fmt::format("entries from {} on are cut off, and the next would be {}",
                                        index, *next_index_)};
  }
  const std::uint64_t cut = std::min<std::uint64_t>(*next_index_ - index, entries_.size());
  entries_.resize(entries_.size() - cut);
  next_index_ = index;
  return {};
}

// --- all of it -----------------------------------------------------------------------------------

void LogLoader::read_snapshot() {
  if (waiting_) {
    if (const Status status = replay(std::nullopt); !status.ok()) return end(status);
  }
  if (!snapshot_) return end(fit_together());
  reader_ = std::make_unique<SnapshotReader>(disk_, snapshot_path(directory_, *snapshot_));
  reader_->start([this](Result<StoredSnapshot> snapshot) {
    if (!snapshot.ok()) return end(snapshot.status());
    if (snapshot.value().index != *snapshot_) {
      return end({Code::kCorrupt,
                  fmt::format("{} says that it ends at {}: it was renamed",
                              snapshot_path(directory_, *snapshot_), snapshot.value().index)});
    }
    result_.snapshot = std::move(snapshot).value();
    end(fit_together());
  });
}

Status LogLoader::fit_together() {
  RT_TRY(check_ballot());
  const Index next = next_index_.value_or(1);
  result_.first = next - entries_.size();
  if (!result_.snapshot) {
    if (result_.first != 1 || (!entries_.empty() && entries_[0].kind != EntryKind::kChange)) {
      return {Code::kCorrupt,
              fmt::format("{} has entries from {} on and no snapshot", directory_, result_.first)};
    }
  } else {
    const Index end = result_.snapshot->index;
    if (result_.first > end + 1) {
      return {Code::kCorrupt, fmt::format("{} has entries from {} on, and its snapshot ends at {}",
                                          directory_, result_.first, end)};
    }
    const bool reached = next == end + 1 && entries_.empty();
    const bool same = next > end && result_.first <= end &&
                      entries_[end - result_.first].term == result_.snapshot->term;
    const bool behind = result_.first == end + 1;
    if (!reached && !same && !behind) {
      // A snapshot that was installed stands for a log that this node never had. One of its own
      // does not.
      if (!result_.snapshot->installed) {
        return {Code::kCorrupt, fmt::format("the log in {} does not go on where its snapshot ends, "
                                            "at entry {}",
                                            directory_, end)};
      }
      result_.restart = true;
      entries_.clear();
      result_.first = end + 1;
    }
    drop_before(end > trailing_ ? end - trailing_ + 1 : 1);
  }
  result_.entries.assign(std::make_move_iterator(entries_.begin()),
                         std::make_move_iterator(entries_.end()));
  return {};
}

void LogLoader::drop_before(Index first) {
  while (!entries_.empty() && result_.first < first) {
    entries_.pop_front();
    ++result_.first;
  }
}

Status LogLoader::check_ballot() const {
  const std::string path = directory_ + "/" + kBallotFile;
  if (!has_ballot_ && (!entries_.empty() || result_.snapshot || snapshot_)) {
    return {Code::kCorrupt, path + " is missing"};
  }
  if (!entries_.empty() && entries_.back().term > result_.ballot.term) {
    return {Code::kCorrupt, fmt::format("{} has term {}, and the log an entry of term {}", path,
                                        result_.ballot.term, entries_.back().term)};
  }
  return {};
}

void LogLoader::end(const Status& status) {
  const Done done = std::move(done_);
  if (!status.ok()) return done(status);
  done(std::move(result_));
}

}  // namespace ringtail::cluster::raft
