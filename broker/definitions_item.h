// Reading one object of a definitions file: each field is asked for with its type, the first fault
// is kept.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "broker/json_table.h"

namespace ringtail::broker {

// Lives while its section is read; the object must outlive it.
class DefinitionItem {
 public:
  explicit DefinitionItem(const Json& object) : object_(object) {}

  // The first thing that was wrong; empty: nothing was.
  const std::string& fault() const { return fault_; }
  void fail(std::string fault);

  // Null when there is no such field, or it is null.
  const Json* find(std::string_view key) const;

  // A fault when it is missing or no text, or is longer than a name may be.
  std::string name(std::string_view key);
  std::string text(std::string_view key);
  // `fallback` when it is missing.
  std::string text_or(std::string_view key, std::string_view fallback);
  // true, false or their names; a fault when it is missing and there is no fallback.
  bool flag(std::string_view key, std::optional<bool> fallback);
  // A number, or its decimal digits as text.
  std::int64_t number_or(std::string_view key, std::int64_t fallback);
  // An array of text, or text with commas.
  std::vector<std::string> words(std::string_view key);
  // A field table's bytes; none when it is missing.
  std::string arguments();

 private:
  const Json& object_;
  std::string fault_;
};

// A whole number, or its decimal digits as text.
std::optional<std::int64_t> whole_number(const Json& json);
// "a, b" -> a, b; empty words are left out.
std::vector<std::string> words_of(std::string_view text);

}  // namespace ringtail::broker
