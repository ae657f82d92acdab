#include "tools/perf/arguments.h"

#include <charconv>
#include <cstdint>

namespace ringtail::perf {

namespace {

amqp::FieldArray parse_list(std::string_view items) {
  amqp::FieldArray array;
  while (!items.empty()) {
    const std::size_t comma = items.find(',');
    array.items().push_back(amqp::FieldValue(items.substr(0, comma)));
    items = comma == std::string_view::npos ? std::string_view() : items.substr(comma + 1);
  }
  return array;
}

}  // namespace

amqp::FieldValue parse_argument(std::string_view value) {
  if (value == "true") return amqp::FieldValue(true);
  if (value == "false") return amqp::FieldValue(false);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error == std::errc() && end == value.data() + value.size()) return amqp::FieldValue(number);
  if (value.size() >= 2 && value.front() == '[' && value.back() == ']') {
    return amqp::FieldValue(parse_list(value.substr(1, value.size() - 2)));
  }
  return amqp::FieldValue(value);
}

runtime::Status check_arguments(const ArgumentList& arguments) {
  for (const auto& [name, value] : arguments) {
    if (name.size() > 255) {
      return runtime::Status(runtime::Code::kInvalid,
                             "argument names are at most 255 bytes: " + name);
    }
  }
  return {};
}

std::string encode_arguments(const ArgumentList& arguments) {
  amqp::FieldTable table;
  for (const auto& [name, value] : arguments) table.set(name, parse_argument(value));
  return table.encode();
}

}  // namespace ringtail::perf
