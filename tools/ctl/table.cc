#include "tools/ctl/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

namespace ringtail::ctl {

namespace {

std::string term(const Json& value);

// Erlang's list of pairs; text between quotes.
std::string pairs(const Json& object) {
  std::string out = "[";
  for (const auto& member : object.items()) {
    if (out.size() > 1) out += ',';
    out += fmt::format("{{{},{}}}", json_line(Json(member.key())), term(member.value()));
  }
  return out + "]";
}

// A value inside an argument table.
std::string term(const Json& value) {
  if (value.is_object()) return pairs(value);
  if (!value.is_array()) return value.is_null() ? "undefined" : json_line(value);
  std::string out = "[";
  for (const Json& item : value) {
    if (out.size() > 1) out += ',';
    out += term(item);
  }
  return out + "]";
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (byte < 0x20 || byte == 0x7F) {
      out += fmt::format("\\{:03o}", byte);
    } else {
      out += c;
    }
  }
  return out;
}

std::string csv_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    out += c;
    if (c == '"') out += c;
  }
  return out + "\"";
}

// Everything between quotes; null is an empty cell.
std::string csv_cell(const Json& value) {
  return csv_quoted(value.is_string() ? value.get<std::string>() : cell_text(value));
}

void print_text(const Table& table, bool headers, std::ostream& out) {
  const auto line = [&](const auto& cells, const auto& text_of) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) out << '\t';
      out << text_of(cells[i]);
    }
    out << '\n';
  };
  if (headers) line(table.columns, [](const std::string& name) { return name; });
  for (const auto& row : table.rows) line(row, cell_text);
}

void print_json(const Table& table, std::ostream& out) {
  out << "[\n";
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    Json object = Json::object();
    for (std::size_t column = 0; column < table.columns.size(); ++column) {
      object[table.columns[column]] = table.rows[i][column];
    }
    out << (i == 0 ? "" : ",") << json_line(object) << '\n';
  }
  out << "]\n";
}

void print_csv(const Table& table, bool headers, std::ostream& out) {
  const auto line = [&](const auto& cells, const auto& text_of) {
    for (std::size_t i = 0; i < cells.size(); ++i) out << (i > 0 ? "," : "") << text_of(cells[i]);
    out << '\n';
  };
  if (headers) line(table.columns, csv_quoted);
  for (const auto& row : table.rows) line(row, csv_cell);
}

// Characters, not bytes.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

void print_drawn(const Table& table, bool headers, std::ostream& out) {
  std::vector<std::vector<std::string>> lines;
  if (headers) lines.push_back(table.columns);
  for (const auto& row : table.rows) {
    auto& line = lines.emplace_back();
    std::transform(row.begin(), row.end(), std::back_inserter(line), cell_text);
  }
  std::vector<std::size_t> widths(table.columns.size());
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      widths[i] = std::max(widths[i], width_of(line[i]));
    }
  }
  const auto rule = [&](const char* left, const char* middle, const char* right) {
    out << left;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (i > 0) out << middle;
      for (std::size_t n = 0; n < widths[i] + 2; ++n) out << "─";
    }
    out << right << '\n';
  };
  rule("┌", "┬", "┐");
  for (std::size_t number = 0; number < lines.size(); ++number) {
    if (number > 0) rule("├", "┼", "┤");
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const std::string& cell = lines[number][i];
      out << "│ " << cell << std::string(widths[i] - width_of(cell) + 1, ' ');
    }
    out << "│\n";
  }
  rule("└", "┴", "┘");
}

}  // namespace

std::string json_line(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string cell_text(const Json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return escaped(value.get<std::string>());
  if (value.is_object()) return pairs(value);
  if (!value.is_array()) return json_line(value);
  std::string out = "[";
  for (const Json& item : value) {
    if (out.size() > 1) out += ", ";
    out += cell_text(item);
  }
  return out + "]";
}

void print_table(const Table& table, const TableStyle& style, std::ostream& out) {
  if (style.formatter == Formatter::kJson) {
    print_json(table, out);
    return;
  }
  if (table.rows.empty()) return;
  switch (style.formatter) {
    case Formatter::kTable:
      print_text(table, style.headers, out);
      break;
    case Formatter::kCsv:
      print_csv(table, style.headers, out);
      break;
    case Formatter::kPrettyTable:
      print_drawn(table, style.headers, out);
      break;
    case Formatter::kJson:
      break;
  }
}

}  // namespace ringtail::ctl
