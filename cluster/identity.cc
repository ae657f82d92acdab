#include "cluster/identity.h"

#include <array>
#include <map>
#include <string_view>

#include "broker/runtime/bytes.h"
#include "broker/runtime/checksum.h"
#include "broker/runtime/parse_number.h"

namespace ringtail::cluster {

using runtime::Code;
using runtime::parse_number;
using runtime::Result;
using runtime::Status;

namespace {

constexpr std::string_view kFirstLine = "ringtail node 1";  // the last word is the version
constexpr std::size_t kCookieBytes = 32;

std::string to_hex(std::span<const std::uint8_t> bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

bool parse_cluster(std::string_view text, ClusterId& cluster) {
  if (text.size() != 2 * cluster.size()) return false;
  for (std::size_t i = 0; i < cluster.size(); ++i) {
    if (!parse_number(text.substr(2 * i, 2), cluster[i], 16)) return false;
  }
  return true;
}

std::string checksum_of(std::string_view text) {
  const std::uint32_t sum = runtime::checksum(0, runtime::as_bytes(text));
  const std::array<std::uint8_t, 4> bytes = {
      static_cast<std::uint8_t>(sum >> 24), static_cast<std::uint8_t>(sum >> 16),
      static_cast<std::uint8_t>(sum >> 8), static_cast<std::uint8_t>(sum)};
  return to_hex(bytes);
}

bool parse_identity(std::string_view text, Identity& identity) {
  const std::size_t last = text.rfind("checksum ");
  if (last == std::string_view::npos ||
      text.substr(last) != "checksum " + checksum_of(text.substr(0, last)) + "\n") {
    return false;
  }
  std::map<std::string_view, std::string_view> values;
  std::size_t at = 0;
  std::string_view first;
  while (at < last) {
    const std::size_t end = text.find('\n', at);
    const std::string_view line = text.substr(at, end - at);
    if (at == 0) {
      first = line;
    } else if (const std::size_t space = line.find(' '); space != std::string_view::npos) {
      values[line.substr(0, space)] = line.substr(space + 1);
    }
    at = end + 1;
  }
  return first == kFirstLine && parse_number(values["number"], identity.node.value) &&
         identity.node.value != 0 && parse_cluster(values["cluster"], identity.cluster) &&
         parse_number(values["generation"], identity.force_generation);
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

}  // namespace

std::string to_text(const ClusterId& cluster) { return to_hex(cluster); }

std::string identity_path(const std::string& data_dir) { return data_dir + "/node"; }

Result<Identity> load_identity(runtime::Disk& disk, const std::string& data_dir,
                               runtime::Rng& rng) {
  RT_TRY(disk.make_directory(data_dir));
  Result<Identity> known = read_identity(disk, data_dir);
  if (known.ok() || known.status().code() != Code::kNotFound) return known;
  Identity identity;
  while (identity.node.value == 0) identity.node.value = static_cast<std::uint32_t>(rng.next());
  RT_TRY(save_identity(disk, data_dir, identity));
  return identity;
}

Result<Identity> read_identity(runtime::Disk& disk, const std::string& data_dir) {
  const std::string path = identity_path(data_dir);
  Result<std::string> content = disk.content(path);
  if (!content.ok()) return content.status();
  Identity identity;
  if (parse_identity(content.value(), identity)) return identity;
  return Status(Code::kCorrupt, path + ": does not say who this node is");
}

std::string encode(const Identity& identity) {
  std::string text(kFirstLine);
  text += "\nnumber " + std::to_string(identity.node.value);
  text += "\ncluster " + to_text(identity.cluster);
  text += "\ngeneration " + std::to_string(identity.force_generation) + "\n";
  text += "checksum " + checksum_of(text) + "\n";
  return text;
}

Status save_identity(runtime::Disk& disk, const std::string& data_dir, const Identity& identity) {
  return disk.replace(identity_path(data_dir), encode(identity));
}

Result<std::string> load_cookie(runtime::Disk& disk, const std::string& path, runtime::Rng& rng) {
  Result<std::string> content = disk.content(path);
  if (!content.ok() && content.status().code() == Code::kNotFound) {
    std::array<std::uint8_t, kCookieBytes> bytes;
    rng.fill_secure(bytes);
    std::string cookie = to_hex(bytes);
    RT_TRY(disk.replace(path, cookie + "\n"));
    return cookie;
  }
  if (!content.ok()) return content.status();
  const Result<bool> open = disk.readable_by_others(path);
  if (!open.ok()) return open.status();
  if (open.value()) {
    return Status(Code::kInvalid,
                  path + ": the cookie file must be for its owner alone (chmod 600 " + path + ")");
  }
  std::string cookie(trimmed(content.value()));
  if (cookie.empty()) return Status(Code::kInvalid, path + ": the cookie file is empty");
  return cookie;
}

}  // namespace ringtail::cluster
