// What list commands print: rows under named columns, as tab-separated text, JSON, CSV or a drawn
// table, each as RabbitMQ's tools print it.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "tools/ctl/api.h"
#include "tools/ctl/command_line.h"

namespace ringtail::ctl {

struct Table {
  std::vector<std::string> columns;
  std::vector<std::vector<Json>> rows;  // as many cells as there are columns

  void add(std::vector<Json> row) { rows.push_back(std::move(row)); }
};

struct TableStyle {
  Formatter formatter = Formatter::kTable;
  bool headers = true;
};

// A table without rows is nothing in text, [] in JSON.
void print_table(const Table& table, const TableStyle& style, std::ostream& out);

// As a cell of a text: text as it is, control characters escaped; null is nothing; a list
// [a, b]; an object as Erlang's list of pairs, [{"k",1}].
std::string cell_text(const Json& value);
// Compact JSON.
std::string json_line(const Json& value);

}  // namespace ringtail::ctl
