#include "tools/ctl/table.h"

#include <doctest/doctest.h>

#include <sstream>
#include <string>

namespace ringtail::ctl::table_test {

namespace {

std::string printed(const Table& table, Formatter formatter, bool headers = true) {
  std::ostringstream out;
  print_table(table, {formatter, headers}, out);
  return out.str();
}

const Table kTwo{{"name", "n"}, {{"a", 1}, {"ü\"b", nullptr}}};

}  // namespace

TEST_CASE("text: columns between tabs, no header if not wanted") {
  CHECK(printed(kTwo, Formatter::kTable) == "name\tn\na\t1\nü\"b\t\n");
  CHECK(printed(kTwo, Formatter::kTable, false) == "a\t1\nü\"b\t\n");
  CHECK(printed({{"name"}, {}}, Formatter::kTable) == "");
}

TEST_CASE("JSON: an array of one object a line") {
  CHECK(printed(kTwo, Formatter::kJson) ==
        "[\n{\"name\":\"a\",\"n\":1}\n,{\"name\":\"ü\\\"b\",\"n\":null}\n]\n");
  CHECK(printed({{"name"}, {}}, Formatter::kJson) == "[\n]\n");
}

TEST_CASE("CSV: every cell between quotes") {
  CHECK(printed(kTwo, Formatter::kCsv) == "\"name\",\"n\"\n\"a\",\"1\"\n\"ü\"\"b\",\"\"\n");
  CHECK(printed(kTwo, Formatter::kCsv, false) == "\"a\",\"1\"\n\"ü\"\"b\",\"\"\n");
}

TEST_CASE("a drawn table has columns as wide as their characters") {
  CHECK(printed(kTwo, Formatter::kPrettyTable) ==
        "┌──────┬───┐\n"
        "│ name │ n │\n"
        "├──────┼───┤\n"
        "│ a    │ 1 │\n"
        "├──────┼───┤\n"
        "│ ü\"b  │   │\n"
        "└──────┴───┘\n");
}

TEST_CASE("cells as RabbitMQ's tools print them") {
  const auto cell = [](const char* json) { return cell_text(Json::parse(json)); };
  CHECK(cell("\"text\"") == "text");
  CHECK(cell(R"("a\tb\nc\u0001")") == "a\\tb\\nc\\001");
  CHECK(cell("null") == "");
  CHECK(cell("true") == "true");
  CHECK(cell("1.5") == "1.5");
  CHECK(cell("{}") == "[]");
  CHECK(cell("[]") == "[]");
  CHECK(cell(R"(["a","b"])") == "[a, b]");
  CHECK(cell(R"({"x-max-length":10,"l":["a",1,{"k":true}],"t":{"a":"b"}})") ==
        R"([{"x-max-length",10},{"l",["a",1,[{"k",true}]]},{"t",[{"a","b"}]}])");
}

}  // namespace ringtail::ctl::table_test
