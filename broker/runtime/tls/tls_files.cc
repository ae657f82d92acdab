// The one place of this folder that reads files.
#include <cerrno>
#include <cstring>
#include <fstream>

#include "broker/runtime/config.h"
#include "broker/runtime/tls/tls_context.h"

namespace ringtail::runtime {

namespace {

// All authorities of the world take a quarter of it.
constexpr std::size_t kFileSizeMax = 1024 * 1024;

Status read_file(const std::string& path, const std::string& what, std::string& text) {
  if (path.empty()) return {};
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  text.assign(kFileSizeMax + 1, '\0');
  if (in) in.read(text.data(), static_cast<std::streamsize>(text.size()));
  const std::string name = what + " '" + path + "': ";
  if (!in.is_open() || in.bad() || (in.fail() && !in.eof())) {
    return Status(Code::kNotFound,
                  name + (errno == 0 ? "it cannot be read" : std::strerror(errno)));
  }
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > kFileSizeMax) return Status(Code::kInvalid, name + "it is larger than 1 MiB");
  text.shrink_to_fit();
  return {};
}

}  // namespace

Result<TlsFiles> read_tls_files(const TlsConfig& config) {
  TlsFiles files;
  RT_TRY(read_file(config.cert_file, "certificate file", files.certificate));
  RT_TRY(read_file(config.key_file, "key file", files.key));
  RT_TRY(read_file(config.ca_file, "certificate authorities file", files.authorities));
  return files;
}

}  // namespace ringtail::runtime
