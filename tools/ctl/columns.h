// The columns that a list command can show, and where each comes from.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/ctl/command.h"

namespace ringtail::ctl {

struct Column {
  std::string_view name;
  // Member of the broker's object; dots lead into objects ("queue.name"). Absent is null.
  std::string_view member;
  // In the place of it, for what is no member: given the whole object.
  Json (*make)(const Json& object) = nullptr;
};

using Columns = std::vector<Column>;

// Those that the arguments name, or the defaults. False: one is not known, and the error is
// printed. Arguments may be separated by commas too.
bool choose_columns(Context& context, std::span<const Column> known,
                    const std::vector<std::string_view>& defaults, Columns& columns, int& code);

Table table_of(const Columns& columns, const Json& objects);

// The name under which RabbitMQ's tools know a process: <node.1.2.3>. Ours has no processes; the
// numbers come of the object's name, so that they hold while it lives, and find it.
std::string pid_of(const std::string& node, const std::string& name);

}  // namespace ringtail::ctl
