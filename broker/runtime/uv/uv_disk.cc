#include "broker/runtime/uv/uv_disk.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "broker/runtime/uv/uv_error.h"
#include "broker/runtime/uv/uv_file.h"

namespace ringtail::runtime {

namespace {

class UvFileLock final : public FileLock {
 public:
  explicit UvFileLock(int fd) : fd_(fd) {}
  UvFileLock(const UvFileLock&) = delete;
  UvFileLock& operator=(const UvFileLock&) = delete;
  ~UvFileLock() override { ::close(fd_); }

 private:
  const int fd_;
};

// An errno; 0: all of it is written.
int write_whole(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    if (written == 0) return EIO;
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace

Result<std::unique_ptr<File>> UvDisk::open(const std::string& path, OpenMode mode) {
  int flags = O_CLOEXEC;
  switch (mode) {
    case OpenMode::kRead:
      flags |= O_RDONLY;
      break;
    case OpenMode::kReadWrite:
      flags |= O_RDWR;
      break;
    case OpenMode::kCreateNew:
      flags |= O_RDWR | O_CREAT | O_EXCL;
      break;
  }
  const int fd = ::open(path.c_str(), flags, 0640);
  if (fd < 0) return errno_status(errno, "cannot open " + path);
  struct stat facts {};
  if (::fstat(fd, &facts) != 0) {
    const int error = errno;
    ::close(fd);
    return errno_status(error, "cannot open " + path);
  }
  return std::unique_ptr<File>(
      std::make_unique<UvFile>(loop_, fd, static_cast<std::uint64_t>(facts.st_size), path));
}

Status UvDisk::make_directory(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return errno_status(error.value(), "cannot create directory " + path);
  return {};
}

Result<std::vector<std::string>> UvDisk::list(const std::string& path) {
  std::error_code error;
  std::vector<std::string> names;
  std::filesystem::directory_iterator entry(path, error);
  while (!error && entry != std::filesystem::directory_iterator()) {
    names.push_back(entry->path().filename().string());
    entry.increment(error);
  }
  if (error) return errno_status(error.value(), "cannot list " + path);
  std::sort(names.begin(), names.end());
  return names;
}

Status UvDisk::rename(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) == 0) return {};
  return errno_status(errno, "cannot rename " + from + " to " + to);
}

Status UvDisk::remove(const std::string& path) {
  if (std::remove(path.c_str()) == 0) return {};
  return errno_status(errno, "cannot remove " + path);
}

Status UvDisk::remove_tree(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (error) return errno_status(error.value(), "cannot remove " + path);
  return {};
}

Status UvDisk::sync_directory(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return errno_status(errno, "cannot sync directory " + path);
  const int error = ::fsync(fd) == 0 ? 0 : errno;
  ::close(fd);
  if (error != 0) return errno_status(error, "cannot sync directory " + path);
  return {};
}

// Under a name of its own first: a name means the old file or the whole new one, at every moment.
Result<std::string> UvDisk::content(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno_status(errno, "cannot open " + path);
  std::string content(kSmallFileMax + 1, '\0');
  std::size_t size = 0;
  int error = 0;
  while (error == 0 && size < content.size()) {
    const ssize_t count = ::read(fd, content.data() + size, content.size() - size);
    if (count == 0) break;
    if (count > 0) size += static_cast<std::size_t>(count);
    if (count < 0 && errno != EINTR) error = errno;
  }
  ::close(fd);
  if (error != 0) return errno_status(error, "cannot read " + path);
  if (size > kSmallFileMax) {
    return Status(Code::kInvalid, path + ": is larger than " + std::to_string(kSmallFileMax));
  }
  content.resize(size);
  return content;
}

Result<bool> UvDisk::readable_by_others(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return errno_status(errno, "cannot look at " + path);
  return (found.st_mode & (S_IRGRP | S_IROTH)) != 0;
}

Status UvDisk::replace(const std::string& path, std::string_view content) {
  const std::string fresh = path + ".new";
  const int fd = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return errno_status(errno, "cannot open " + fresh);
  int error = write_whole(fd, content);
  if (error == 0 && ::fdatasync(fd) != 0) error = errno;
  ::close(fd);
  if (error == 0 && std::rename(fresh.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) {
    ::unlink(fresh.c_str());
    return errno_status(error, "cannot replace " + path);
  }
  const std::string directory = std::filesystem::path(path).parent_path().string();
  return sync_directory(directory.empty() ? "." : directory);
}

Result<std::unique_ptr<FileLock>> UvDisk::lock(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0640);
  if (fd < 0) return errno_status(errno, "cannot open " + path);
  // Of the open file, not of the process: closing another descriptor of the file keeps it.
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    ::close(fd);
    if (error == EWOULDBLOCK) return Status(Code::kBusy, path + " is locked by another process");
    return errno_status(error, "cannot lock " + path);
  }
  return std::unique_ptr<FileLock>(std::make_unique<UvFileLock>(fd));
}

Result<std::uint64_t> UvDisk::free_bytes(const std::string& path) {
  struct statvfs facts {};
  if (::statvfs(path.c_str(), &facts) != 0) {
    return errno_status(errno, "cannot ask for the free space of " + path);
  }
  return static_cast<std::uint64_t>(facts.f_bavail) * facts.f_frsize;
}

}  // namespace ringtail::runtime
