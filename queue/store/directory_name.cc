#include "queue/store/directory_name.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>

#include "broker/runtime/bytes.h"
#include "broker/runtime/check.h"
#include "broker/runtime/limits.h"
#include "queue/store/byte_buffer.h"

namespace ringtail::queue::store {

namespace {

// Of the Erlang external term format.
constexpr std::uint8_t kTermVersion = 131;
constexpr std::uint8_t kSmallTuple = 104;
constexpr std::uint8_t kAtom = 100;
constexpr std::uint8_t kBinary = 109;

using Digest = std::array<std::uint8_t, 16>;

void put_atom(ByteBuffer& out, std::string_view name) {
  out.put(kAtom);
  out.put(static_cast<std::uint16_t>(name.size()));
  out.append(name);
}

void put_binary(ByteBuffer& out, std::string_view text) {
  out.put(kBinary);
  out.put(static_cast<std::uint32_t>(text.size()));
  out.append(text);
}

Digest md5(std::span<const std::uint8_t> bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned size = 0;
  const int done = EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_md5(), nullptr);
  Digest result;
  RT_CHECK(done == 1 && size == result.size(), "MD5 failed");
  std::copy_n(digest.begin(), result.size(), result.begin());
  return result;
}

// As one number, upper case, without padding.
std::string base_36(Digest number) {
  constexpr std::string_view kDigits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::string text;
  bool zero = false;
  while (!zero) {
    unsigned rest = 0;
    zero = true;
    for (std::uint8_t& octet : number) {
      const unsigned part = rest << 8 | octet;
      octet = static_cast<std::uint8_t>(part / kDigits.size());
      rest = static_cast<unsigned>(part % kDigits.size());
      if (octet != 0) zero = false;
    }
    text += kDigits[rest];
  }
  std::reverse(text.begin(), text.end());
  return text;
}

}  // namespace

runtime::Result<std::string> directory_name(std::string_view vhost, std::string_view queue) {
  if (vhost.empty()) {
    return runtime::Status(runtime::Code::kInvalid,
                           fmt::format("queue \"{}\" is in a vhost without a name", queue));
  }
  for (const std::string_view name : {vhost, queue}) {
    if (name.size() <= runtime::kShortStringMax) continue;
    return runtime::Status(runtime::Code::kInvalid,
                           fmt::format("the name \"{}\" has {} bytes; a vhost's or queue's has at "
                                       "most {}",
                                       name, name.size(), runtime::kShortStringMax));
  }
  ByteBuffer term;
  term.put(kTermVersion);
  term.put(kSmallTuple);
  term.put(std::uint8_t{4});
  put_atom(term, "resource");
  put_binary(term, vhost);
  put_atom(term, "queue");
  put_binary(term, queue);
  return base_36(md5(term.span()));
}

}  // namespace ringtail::queue::store
