// A text that is a number as a whole: no spaces, no sign that its type does not have, nothing
// behind it.
#pragma once

#include <charconv>
#include <string_view>
#include <system_error>

namespace ringtail::runtime {

// False, and `number` is as it was: the text is none, or one that does not fit.
template <typename Number>
bool parse_number(std::string_view text, Number& number, int base = 10) {
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number, base);
  return error == std::errc{} && at == end;
}

}  // namespace ringtail::runtime
