#include "cluster/raft/snapshot_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "broker/runtime/bytes.h"

namespace ringtail::cluster::raft {

using runtime::as_bytes;
using runtime::Code;
using runtime::Status;

// --- writing -------------------------------------------------------------------------------------

SnapshotWriter::SnapshotWriter(runtime::Disk& disk, std::string directory, std::string path,
                               SnapshotSource source)
    : disk_(disk),
      directory_(std::move(directory)),
      unfinished_(directory_ + "/" + kUnfinishedSnapshot),
      path_(std::move(path)),
      source_(std::move(source)) {
  head_.done = [this](const Status& status) { head_status_ = status; };
  body_.done = [this](const Status& status) { written(head_status_.ok() ? status : head_status_); };
}

void SnapshotWriter::start(Done done) {
  done_ = std::move(done);
  // One that was left by a failure.
  const Status removed = disk_.remove(unfinished_);
  if (!removed.ok() && removed.code() != Code::kNotFound) return end(removed);
  auto file = disk_.open(unfinished_, runtime::OpenMode::kCreateNew);
  if (!file.ok()) return end(file.status());
  file_ = std::move(file).value();
  left_ = source_.header.payload_size;
  head_bytes_ = encode_snapshot_header(source_.header, source_.configuration);
  body_.content = as_bytes(head_bytes_);
  file_->append(body_);
}

void SnapshotWriter::step() {
  const std::string_view chunk = next_chunk();
  head_bytes_ = encode_chunk_header(source_.header.salt, chunk_++, chunk);
  head_.content = as_bytes(head_bytes_);
  body_.content = as_bytes(chunk);
  left_ -= chunk.size();
  file_->append(head_);
  file_->append(body_);
}

std::string_view SnapshotWriter::next_chunk() {
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(left_, kChunkBytes));
  gathered_.clear();
  while (true) {
    const std::string_view rest = source_.payload[piece_].substr(piece_offset_);
    const std::size_t taken = std::min(rest.size(), wanted - gathered_.size());
    piece_offset_ += taken;
    if (piece_offset_ == source_.payload[piece_].size()) {
      ++piece_;
      piece_offset_ = 0;
    }
    if (taken == wanted) return rest.substr(0, taken);
    gathered_ += rest.substr(0, taken);
    if (gathered_.size() == wanted) return gathered_;
  }
}

void SnapshotWriter::written(const Status& status) {
  if (!status.ok()) return end(status);
  if (aborted_) return end({Code::kClosed, "the node is stopping"});
  if (left_ > 0) return step();
  if (!syncing_) {
    syncing_ = true;
    file_->sync(body_);
    return;
  }
  end(rename());
}

Status SnapshotWriter::rename() {
  file_.reset();
  RT_TRY(disk_.rename(unfinished_, path_));
  return disk_.sync_directory(directory_);
}

void SnapshotWriter::end(const Status& status) {
  file_.reset();
  // What is left of it is removed by the next snapshot or start too.
  if (!status.ok()) (void)disk_.remove(unfinished_);
  const Done done = std::move(done_);
  done(status.within("a snapshot of Raft"));
}

// --- reading -------------------------------------------------------------------------------------

SnapshotReader::SnapshotReader(runtime::Disk& disk, std::string path)
    : disk_(disk), path_(std::move(path)) {
  request_.done = [this](const Status& status) { read_done(status); };
}

void SnapshotReader::start(Done done) {
  done_ = std::move(done);
  auto file = disk_.open(path_, runtime::OpenMode::kRead);
  if (!file.ok()) return end(file.status());
  file_ = std::move(file).value();
  if (file_->size() < kSnapshotHeaderSize) {
    return end(Status(Code::kCorrupt, path_ + " is damaged at offset 0: it is too short"));
  }
  head_.resize(kSnapshotHeaderSize);
  read({reinterpret_cast<std::uint8_t*>(head_.data()), head_.size()}, 0,
       &SnapshotReader::header_read);
}

void SnapshotReader::read(std::span<std::uint8_t> into, std::uint64_t offset, Then then) {
  request_.buffer = into;
  request_.offset = offset;
  then_ = then;
  file_->read_at(request_);
}

void SnapshotReader::read_done(const Status& status) {
  if (status.ok() && request_.transferred != request_.buffer.size()) {
    return (this->*then_)(
        {Code::kCorrupt, fmt::format("{} is damaged at offset {}: it ends too early", path_,
                                     request_.offset + request_.transferred)});
  }
  (this->*then_)(status);
}

void SnapshotReader::header_read(const Status& status) {
  if (!status.ok()) return end(status);
  const auto header = scan_snapshot_header(head_, path_);
  if (!header.ok()) return end(header.status());
  header_ = header.value();
  // The sizes are not yet known to be right: no more is asked for than there is.
  const std::uint64_t chunks = (header_.payload_size + kChunkBytes - 1) / kChunkBytes;
  if (header_.payload_size > file_->size() || header_.configuration_size > file_->size() ||
      kSnapshotHeaderSize + header_.configuration_size + header_.payload_size +
              chunks * kChunkHeaderSize !=
          file_->size()) {
    return end(
        Status(Code::kCorrupt,
               path_ + " is damaged at offset 0: its header has another size than the file"));
  }
  offset_ = kSnapshotHeaderSize + header_.configuration_size;
  head_.resize(offset_);
  read({reinterpret_cast<std::uint8_t*>(head_.data()) + kSnapshotHeaderSize,
        header_.configuration_size},
       kSnapshotHeaderSize, &SnapshotReader::configuration_read);
}

void SnapshotReader::configuration_read(const Status& status) {
  if (!status.ok()) return end(status);
  if (const Status sum = check_snapshot_header(head_, path_); !sum.ok()) return end(sum);
  result_.index = header_.index;
  result_.term = header_.term;
  result_.configuration_index = header_.configuration_index;
  result_.installed = header_.installed;
  result_.configuration = head_.substr(kSnapshotHeaderSize);
  result_.payload = make_raft_buffer(header_.payload_size);
  result_.payload_size = header_.payload_size;
  read_chunk();
}

void SnapshotReader::read_chunk() {
  if (begun_ == result_.payload_size) return end(std::move(result_));
  chunk_head_read_ = false;
  chunk_head_.resize(kChunkHeaderSize);
  read({reinterpret_cast<std::uint8_t*>(chunk_head_.data()), chunk_head_.size()}, offset_,
       &SnapshotReader::chunk_read);
}

void SnapshotReader::chunk_read(const Status& status) {
  if (!status.ok()) return end(status);
  const std::size_t size = std::min<std::size_t>(kChunkBytes, result_.payload_size - begun_);
  const std::span<std::uint8_t> chunk{result_.payload.get() + begun_, size};
  if (!chunk_head_read_) {
    chunk_head_read_ = true;
    return read(chunk, offset_ + kChunkHeaderSize, &SnapshotReader::chunk_read);
  }
  const Status sum =
      check_chunk(chunk_head_, header_.salt, chunk_++, runtime::as_text(chunk), offset_, path_);
  if (!sum.ok()) return end(sum);
  begun_ += size;
  offset_ += kChunkHeaderSize + size;
  read_chunk();
}

void SnapshotReader::end(runtime::Result<StoredSnapshot> result) {
  file_.reset();
  const Done done = std::move(done_);
  done(std::move(result));
}

}  // namespace ringtail::cluster::raft
