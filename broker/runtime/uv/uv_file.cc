#include "broker/runtime/uv/uv_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "broker/runtime/check.h"
#include "broker/runtime/uv/uv_error.h"

namespace ringtail::runtime {

namespace {

constexpr std::size_t kZerosSize = 256 * 1024;
constexpr std::uint8_t kZeros[kZerosSize] = {};

// Writes all of it, or as much as goes; an errno, 0: done.
int write_all(int fd, std::span<const std::uint8_t> bytes, std::uint64_t offset,
              std::uint64_t& written) {
  while (written < bytes.size()) {
    const ssize_t result = ::pwrite(fd, bytes.data() + written, bytes.size() - written,
                                    static_cast<off_t>(offset + written));
    if (result < 0 && errno == EINTR) continue;
    if (result < 0) return errno;
    if (result == 0) return EIO;
    written += static_cast<std::uint64_t>(result);
  }
  return 0;
}

// Room first, so that a full disk is known before anything is written, and in one piece. Then zeros
// over it: a block that was only allocated is marked so, and the first write to it changes the
// file's metadata, which makes a file system with a journal commit that with nearly every sync.
int write_zeros(int fd, std::uint64_t from, std::uint64_t to) {
  int error = EINTR;
  while (error == EINTR) {
    error = ::posix_fallocate(fd, static_cast<off_t>(from), static_cast<off_t>(to - from));
  }
  while (error == 0 && from < to) {
    const std::size_t size = std::min<std::uint64_t>(kZerosSize, to - from);
    std::uint64_t written = 0;
    error = write_all(fd, {kZeros, size}, from, written);
    from += size;
  }
  return error;
}

}  // namespace

UvFile::UvFile(UvLoop& loop, int fd, std::uint64_t size, std::string path)
    : loop_(loop), fd_(fd), size_(size), path_(std::move(path)) {}

UvFile::~UvFile() {
  RT_CHECK(waiting_.empty() && reads_running_ == 0 && !write_running_ && !sync_running_,
           "a file closed with requests under way");
  ::close(fd_);
}

void UvFile::read_at(DiskRequest& request) { enqueue(Kind::kRead, request); }
void UvFile::write_at(DiskRequest& request) { enqueue(Kind::kWrite, request); }
void UvFile::append(DiskRequest& request) { enqueue(Kind::kAppend, request); }
void UvFile::write_at_and_sync(DiskRequest& request) { enqueue(Kind::kWriteAndSync, request); }
void UvFile::sync(DiskRequest& request) { enqueue(Kind::kSync, request); }
void UvFile::preallocate(DiskRequest& request) { enqueue(Kind::kPreallocate, request); }

void UvFile::enqueue(Kind kind, DiskRequest& request) {
  request.transferred = 0;
  auto operation = std::make_unique<Operation>();
  operation->file = this;
  operation->request = &request;
  operation->kind = kind;
  operation->offset = request.offset;
  operation->call.data = operation.get();
  operation->work.data = operation.get();
  waiting_.push_back(operation.release());
  start_waiting();
}

bool UvFile::may_start(Kind kind) const {
  switch (kind) {
    case Kind::kRead:
      return !write_running_;
    case Kind::kWrite:
    case Kind::kAppend:
    case Kind::kWriteAndSync:
    case Kind::kPreallocate:
      return !write_running_ && !sync_running_ && reads_running_ == 0;
    case Kind::kSync:
      return !write_running_ && !sync_running_;
  }
  return false;
}

void UvFile::start_waiting() {
  while (!waiting_.empty() && may_start(waiting_.front()->kind)) {
    Operation* operation = waiting_.front();
    waiting_.pop_front();
    start(operation);
  }
}

void UvFile::start(Operation* operation) {
  switch (operation->kind) {
    case Kind::kRead:
      ++reads_running_;
      break;
    case Kind::kAppend:
      operation->offset = size_;
      [[fallthrough]];
    case Kind::kWrite:
    case Kind::kWriteAndSync:
    case Kind::kPreallocate:
      write_running_ = true;
      break;
    case Kind::kSync:
      sync_running_ = true;
      break;
  }
  if (operation->kind != Kind::kRead && !poison_.ok()) {
    operation->status = poison_;
  } else if (const int error = submit(operation); error != 0) {
    operation->status = uv_status(error, describe(operation->kind));
  } else {
    return;
  }
  loop_.defer([operation] { operation->file->finish(operation, std::move(operation->status)); });
}

// The part of the request that is still to do.
int UvFile::submit(Operation* operation) {
  DiskRequest& request = *operation->request;
  const std::uint64_t done = request.transferred;
  const auto offset = static_cast<std::int64_t>(operation->offset + done);
  uv_fs_t* const call = &operation->call;
  uv_buf_t buffer{};
  switch (operation->kind) {
    case Kind::kRead:
      buffer.base = reinterpret_cast<char*>(request.buffer.data() + done);
      buffer.len = request.buffer.size() - done;
      return uv_fs_read(loop_.handle(), call, fd_, &buffer, 1, offset, on_call_done);
    case Kind::kWrite:
    case Kind::kAppend:
      buffer.base = const_cast<char*>(reinterpret_cast<const char*>(request.content.data() + done));
      buffer.len = request.content.size() - done;
      return uv_fs_write(loop_.handle(), call, fd_, &buffer, 1, offset, on_call_done);
    case Kind::kSync:
      return uv_fs_fdatasync(loop_.handle(), call, fd_, on_call_done);
    case Kind::kWriteAndSync:
    case Kind::kPreallocate:
      return submit_work(operation);
  }
  return UV_EINVAL;
}

void UvFile::on_call_done(uv_fs_t* call) noexcept {
  auto* operation = static_cast<Operation*>(call->data);
  UvFile* file = operation->file;
  DiskRequest& request = *operation->request;
  const auto result = call->result;
  uv_fs_req_cleanup(call);
  if (result < 0) {
    Status failed = uv_status(static_cast<int>(result), file->describe(operation->kind));
    if (operation->kind == Kind::kSync) file->poison_ = failed;
    file->finish(operation, std::move(failed));
    return;
  }
  bool more = false;
  if (operation->kind != Kind::kSync) {
    request.transferred += static_cast<std::uint64_t>(result);
    const std::size_t wanted =
        operation->kind == Kind::kRead ? request.buffer.size() : request.content.size();
    // A read that brings nothing is at the end of the file.
    more = request.transferred < wanted && result > 0;
    if (operation->kind != Kind::kRead && result == 0 && wanted > 0) {
      file->finish(operation, {Code::kIo, file->describe(operation->kind) + ": nothing written"});
      return;
    }
  }
  if (!more) {
    file->finish(operation, {});
  } else if (const int error = file->submit(operation); error != 0) {
    file->finish(operation, uv_status(error, file->describe(operation->kind)));
  }
}

int UvFile::submit_work(Operation* operation) {
  return uv_queue_work(
      loop_.handle(), &operation->work,
      [](uv_work_t* work) {
        auto& asked = *static_cast<Operation*>(work->data);
        if (asked.kind == Kind::kWriteAndSync) {
          write_and_sync(asked);
        } else {
          allocate(asked);
        }
      },
      [](uv_work_t* work, int) { on_work_done(static_cast<Operation*>(work->data)); });
}

void UvFile::write_and_sync(Operation& operation) noexcept {
  DiskRequest& request = *operation.request;
  const int fd = operation.file->fd_;
  operation.error = write_all(fd, request.content, operation.offset, request.transferred);
  if (operation.error != 0) return;
  int result = 0;
  do {
    result = ::fdatasync(fd);
  } while (result != 0 && errno == EINTR);
  if (result == 0) return;
  operation.error = errno;
  operation.sync_failed = true;
}

void UvFile::allocate(Operation& operation) noexcept {
  const UvFile& file = *operation.file;
  // size_ stands still: no other write of this file is under way.
  if (operation.offset <= file.size_) return;
  operation.error = write_zeros(file.fd_, file.size_, operation.offset);
  // Gives back what a full disk had left; the failure to report is the first one.
  if (operation.error != 0 && ::ftruncate(file.fd_, static_cast<off_t>(file.size_)) != 0) return;
}

void UvFile::on_work_done(Operation* operation) noexcept {
  UvFile* file = operation->file;
  if (operation->error == 0) return file->finish(operation, {});
  const Kind failed = operation->sync_failed ? Kind::kSync : operation->kind;
  Status status = errno_status(operation->error, file->describe(failed));
  if (operation->sync_failed) file->poison_ = status;
  file->finish(operation, std::move(status));
}

// From the loop. `done` comes last: it may destroy the file.
void UvFile::finish(Operation* operation, Status status) {
  const std::unique_ptr<Operation> own(operation);
  switch (operation->kind) {
    case Kind::kRead:
      --reads_running_;
      break;
    case Kind::kWrite:
    case Kind::kAppend:
    case Kind::kWriteAndSync:
    case Kind::kPreallocate:
      write_running_ = false;
      if (status.ok()) {
        size_ = std::max(size_, operation->offset + operation->request->transferred);
      }
      break;
    case Kind::kSync:
      sync_running_ = false;
      break;
  }
  start_waiting();
  operation->request->done(status);
}

std::string UvFile::describe(Kind kind) const {
  switch (kind) {
    case Kind::kRead:
      return "cannot read " + path_;
    case Kind::kWrite:
    case Kind::kAppend:
    case Kind::kWriteAndSync:
      return "cannot write " + path_;
    case Kind::kSync:
      return "cannot sync " + path_;
    case Kind::kPreallocate:
      return "cannot make room for " + path_;
  }
  return path_;
}

}  // namespace ringtail::runtime
