#include "broker/routing/erlang_text.h"

#include <algorithm>

namespace ringtail::broker {

namespace {

// What Erlang takes for text when it knows of Latin-1 only; bytes of UTF-8 mostly pass.
bool printable(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte >= 0x20 && byte <= 0x7E) || byte >= 0xA0;
}

}  // namespace

std::string erlang_binary(std::string_view text) {
  if (text.empty()) return "<<>>";
  std::string out;
  if (std::all_of(text.begin(), text.end(), printable)) {
    for (const char c : text) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    return "<<\"" + out + "\">>";
  }
  for (const char c : text) {
    if (!out.empty()) out += ',';
    out += std::to_string(static_cast<unsigned char>(c));
  }
  return "<<" + out + ">>";
}

}  // namespace ringtail::broker
