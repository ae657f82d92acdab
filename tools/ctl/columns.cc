#include "tools/ctl/columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <ostream>

namespace ringtail::ctl {

namespace {

std::vector<std::string> words_of(const std::vector<std::string>& arguments) {
  std::vector<std::string> words;
  for (const std::string& argument : arguments) {
    std::string_view left = argument;
    while (!left.empty()) {
      const std::size_t comma = std::min(left.find(','), left.size());
      if (comma > 0) words.emplace_back(left.substr(0, comma));
      left.remove_prefix(std::min(comma + 1, left.size()));
    }
  }
  return words;
}

Json member_of(const Json& object, std::string_view path) {
  const Json* place = &object;
  while (!path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    if (!place->is_object()) return {};
    const auto found = place->find(std::string(path.substr(0, dot)));
    if (found == place->end()) return {};
    place = &*found;
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return *place;
}

}  // namespace

bool choose_columns(Context& context, std::span<const Column> known,
                    const std::vector<std::string_view>& defaults, Columns& columns, int& code) {
  std::vector<std::string> wanted = words_of(context.line.arguments);
  if (wanted.empty()) wanted.assign(defaults.begin(), defaults.end());
  std::vector<std::string> unknown;
  for (const std::string& name : wanted) {
    const auto found = std::find_if(known.begin(), known.end(),
                                    [&](const Column& column) { return column.name == name; });
    if (found == known.end()) {
      unknown.push_back(name);
    } else {
      columns.push_back(*found);
    }
  }
  if (unknown.empty()) return true;
  context.err << fmt::format(
      "Error (argument validation): Info key(s) {} are not supported\n"
      "Arguments given:\n\t{}\n\n{}",
      fmt::join(unknown, ","), context.line.given,
      usage_of(context.line.program, *find_command(context.line.command)));
  code = kExitUsage;
  return false;
}

Table table_of(const Columns& columns, const Json& objects) {
  Table table;
  for (const Column& column : columns) table.columns.emplace_back(column.name);
  for (const Json& object : objects) {
    std::vector<Json> row;
    for (const Column& column : columns) {
      row.push_back(column.make != nullptr ? column.make(object)
                                           : member_of(object, column.member));
    }
    table.add(std::move(row));
  }
  return table;
}

std::string pid_of(const std::string& node, const std::string& name) {
  std::uint64_t hash = 0xCBF29CE484222325;  // FNV-1a
  for (const char c : name) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  }
  constexpr std::uint64_t kPart = (1U << 21) - 1;
  return fmt::format("<{}.{}.{}.{}>", node, hash >> 42 & kPart, hash >> 21 & kPart, hash & kPart);
}

}  // namespace ringtail::ctl
