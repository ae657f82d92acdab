#include "tools/ctl/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace ringtail::ctl {

using runtime::Code;
using runtime::Result;
using runtime::Status;

namespace {

Status failure(Code code, const std::string& path) {
  return {code, fmt::format("file {}: {}", path, std::strerror(errno))};
}

}  // namespace

Result<std::string> read_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    if (errno != ENOENT) return failure(Code::kIo, path);
    return Status{Code::kNotFound, fmt::format("File {} does not exist", path)};
  }
  std::string text;
  std::array<char, 65536> part{};
  ssize_t size = 0;
  while ((size = ::read(file, part.data(), part.size())) > 0) {
    text.append(part.data(), static_cast<std::size_t>(size));
  }
  const Status status = size < 0 ? failure(Code::kIo, path) : Status();
  ::close(file);
  if (!status.ok()) return status;
  return text;
}

Status write_file(const std::string& path, std::string_view text) {
  const int file =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (file < 0) return failure(Code::kIo, path);
  while (!text.empty()) {
    const ssize_t size = ::write(file, text.data(), text.size());
    if (size < 0) {
      const Status status = failure(Code::kIo, path);
      ::close(file);
      return status;
    }
    text.remove_prefix(static_cast<std::size_t>(size));
  }
  return ::close(file) == 0 ? Status() : failure(Code::kIo, path);
}

}  // namespace ringtail::ctl
