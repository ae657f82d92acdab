#include "tools/ctl/data_disk.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "broker/runtime/check.h"

namespace ringtail::ctl {

using runtime::Code;
using runtime::DiskRequest;
using runtime::Result;
using runtime::Status;

namespace {

Status failure(const std::string& what, const std::string& path) {
  return {errno == ENOENT ? Code::kNotFound : Code::kIo,
          fmt::format("{} {}: {}", what, path, std::strerror(errno))};
}

Status refused(const std::string& path) {
  return {Code::kInvalid, path + ": a data directory is only read here"};
}

class DataLock final : public runtime::FileLock {
 public:
  explicit DataLock(int descriptor) : descriptor_(descriptor) {}
  ~DataLock() override { ::close(descriptor_); }

 private:
  const int descriptor_;
};

}  // namespace

class DataDisk::DataFile final : public runtime::File {
 public:
  DataFile(DataDisk& disk, std::string path, int descriptor, std::uint64_t size)
      : disk_(disk), path_(std::move(path)), descriptor_(descriptor), size_(size) {}
  ~DataFile() override { ::close(descriptor_); }

  void read_at(DiskRequest& request) override {
    request.transferred = 0;
    while (request.transferred < request.buffer.size()) {
      const auto rest = request.buffer.subspan(static_cast<std::size_t>(request.transferred));
      const ssize_t size = ::pread(descriptor_, rest.data(), rest.size(),
                                   static_cast<off_t>(request.offset + request.transferred));
      if (size < 0 && errno == EINTR) continue;
      if (size < 0) return complete(request, failure("cannot read", path_));
      if (size == 0) break;
      request.transferred += static_cast<std::uint64_t>(size);
    }
    complete(request, {});
  }
  // Nothing was written that could be lost.
  void sync(DiskRequest& request) override { complete(request, {}); }
  std::uint64_t size() const override { return size_; }

  void write_at(DiskRequest& request) override { complete(request, refused(path_)); }
  void append(DiskRequest& request) override { complete(request, refused(path_)); }
  void write_at_and_sync(DiskRequest& request) override { complete(request, refused(path_)); }
  void preallocate(DiskRequest& request) override { complete(request, refused(path_)); }

 private:
  void complete(DiskRequest& request, Status status) {
    disk_.completions_.push_back({&request, std::move(status)});
  }

  DataDisk& disk_;
  const std::string path_;
  const int descriptor_;
  const std::uint64_t size_;
};

void DataDisk::run() {
  while (!completions_.empty()) {
    const Completion next = std::move(completions_.front());
    completions_.pop_front();
    next.request->done(next.status);
  }
}

Result<std::unique_ptr<runtime::File>> DataDisk::open(const std::string& path,
                                                      runtime::OpenMode mode) {
  if (mode != runtime::OpenMode::kRead) return refused(path);
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return failure("cannot open", path);
  struct stat facts {};
  if (::fstat(descriptor, &facts) != 0) {
    const Status status = failure("cannot look at", path);
    ::close(descriptor);
    return status;
  }
  return std::unique_ptr<runtime::File>(std::make_unique<DataFile>(
      *this, path, descriptor, static_cast<std::uint64_t>(facts.st_size)));
}

Result<std::vector<std::string>> DataDisk::list(const std::string& path) {
  DIR* const directory = ::opendir(path.c_str());
  if (directory == nullptr) return failure("cannot list", path);
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(directory)) {
    std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(std::move(name));
  }
  ::closedir(directory);
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::unique_ptr<runtime::FileLock>> DataDisk::lock(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return failure("cannot open", path);
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    const Status status = errno == EWOULDBLOCK
                              ? Status(Code::kBusy, path + " is locked by another process")
                              : failure("cannot lock", path);
    ::close(descriptor);
    return status;
  }
  return std::unique_ptr<runtime::FileLock>(std::make_unique<DataLock>(descriptor));
}

Result<std::vector<std::uint8_t>> DataDisk::read(const std::string& path) {
  auto file = open(path, runtime::OpenMode::kRead);
  if (!file.ok()) return file.status();
  std::vector<std::uint8_t> content(static_cast<std::size_t>(file.value()->size()));
  DiskRequest request;
  Status result;
  request.buffer = content;
  request.done = [&](const Status& status) { result = status; };
  file.value()->read_at(request);
  run();
  if (!result.ok()) return result;
  content.resize(static_cast<std::size_t>(request.transferred));
  return content;
}

Status DataDisk::make_directory(const std::string& path) { return refused(path); }
Status DataDisk::rename(const std::string& from, const std::string&) { return refused(from); }
Status DataDisk::remove(const std::string& path) { return refused(path); }
Status DataDisk::remove_tree(const std::string& path) { return refused(path); }
Status DataDisk::sync_directory(const std::string& path) { return refused(path); }
Result<std::string> DataDisk::content(const std::string& path) {
  auto bytes = read(path);
  if (!bytes.ok()) return bytes.status();
  return std::string(bytes.value().begin(), bytes.value().end());
}
Result<bool> DataDisk::readable_by_others(const std::string& path) { return refused(path); }
Status DataDisk::replace(const std::string& path, std::string_view) { return refused(path); }
Result<std::uint64_t> DataDisk::free_bytes(const std::string& path) { return refused(path); }

// NOLINTBEGIN: check_failed() does not come back.
runtime::Clock& DataEnv::clock() {
  runtime::check_failed(__FILE__, __LINE__, "clock()", "files have no time");
}
runtime::Timers& DataEnv::timers() {
  runtime::check_failed(__FILE__, __LINE__, "timers()", "files have no time");
}
runtime::Rng& DataEnv::rng() {
  runtime::check_failed(__FILE__, __LINE__, "rng()", "files have no chance");
}
runtime::Net& DataEnv::net() {
  runtime::check_failed(__FILE__, __LINE__, "net()", "files have no network");
}
// NOLINTEND

}  // namespace ringtail::ctl
