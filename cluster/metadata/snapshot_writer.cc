#include "cluster/metadata/snapshot_writer.h"

#include <utility>

#include "broker/runtime/buggify.h"
#include "broker/runtime/bytes.h"
#include "cluster/metadata/log_reader.h"

namespace ringtail::cluster::metadata {

namespace {

using runtime::Code;
using runtime::Status;

// What one step may cost the shard: about a millisecond.
constexpr std::size_t kRecordsPerStep = 500;

}  // namespace

SnapshotWriter::SnapshotWriter(runtime::Disk& disk, Store& store, std::string directory,
                               const LogHeader& header)
    : disk_(disk),
      store_(store),
      directory_(std::move(directory)),
      unfinished_(directory_ + "/" + kUnfinishedSnapshot),
      header_(header) {}

void SnapshotWriter::start(Done done) {
  done_ = std::move(done);
  auto file = disk_.open(unfinished_, runtime::OpenMode::kCreateNew);
  if (!file.ok()) return end(file.status());
  file_ = std::move(file).value();
  request_.done = [this](const Status& written_status) { written(written_status); };
  walk_ = store_.begin_walk();
  buffer_ = encode_header(header_);
  step();
}

void SnapshotWriter::step() {
  const std::size_t records = RT_BUGGIFY(0.9) ? 2 : kRecordsPerStep;
  more_ = store_.walk_saved(walk_, records, encoder_);
  if (const std::string changes = encoder_.take(); !changes.empty()) {
    append_record(buffer_, header_, ++index_, LogRecordType::kChanges, changes);
  }
  if (!more_) append_record(buffer_, header_, ++index_, LogRecordType::kEnd, {});
  bytes_ += buffer_.size();
  request_.content = runtime::as_bytes(buffer_);
  file_->append(request_);
}

void SnapshotWriter::written(const Status& status) {
  buffer_.clear();
  if (!status.ok()) return end(status);
  if (aborted_) return end({Code::kClosed, "the node is stopping"});
  if (more_) return step();
  if (!syncing_) {
    syncing_ = true;
    file_->sync(request_);
    return;
  }
  end(rename());
}

Status SnapshotWriter::rename() {
  file_.reset();
  RT_TRY(disk_.rename(unfinished_, log_path(directory_, header_.kind, header_.number)));
  return disk_.sync_directory(directory_);
}

void SnapshotWriter::end(const Status& status) {
  store_.end_walk(walk_);
  file_.reset();
  // What is left of it is removed by the next start too.
  if (!status.ok()) (void)disk_.remove(unfinished_);
  const Done done = std::move(done_);
  done(status, bytes_);
}

}  // namespace ringtail::cluster::metadata
