#include <doctest/doctest.h>

#include "broker/http/listing.h"

namespace http_listing_test {

namespace http = ringtail::broker::http;
using http::Listing;
using http::Request;
using http::Response;
using ringtail::broker::Json;

namespace {

// Rows r000, r001 ... with a number that falls, and a detail that every third row lacks.
struct Rows {
  explicit Rows(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      names.push_back("r" + std::string(3 - std::to_string(i).size(), '0') + std::to_string(i));
    }
  }
  Listing listing(bool pages = true) const {
    Listing made;
    made.count = names.size();
    made.pages = pages;
    made.row = [this](std::size_t row) {
      ++rows_made;
      Json json = {{"name", names[row]}, {"number", names.size() - row}, {"stats", Json::object()}};
      if (row % 3 != 0) json["stats"]["rate"] = row % 2 == 0 ? 1.5 : 2.5;
      return json;
    };
    made.name = [this](std::size_t row) { return std::string_view(names[row]); };
    return made;
  }
  std::vector<std::string> names;
  mutable std::size_t rows_made = 0;
};

Response listed(const Rows& rows, const std::string& query, bool pages = true) {
  Request request;
  REQUIRE(http::read_target("/?" + query, request));
  return http::list_response(request, rows.listing(pages));
}

Json answer(const Rows& rows, const std::string& query, bool pages = true) {
  const Response response = listed(rows, query, pages);
  CHECK(response.status == 200);
  return Json::parse(response.body);
}

std::vector<std::string> names_of(const Json& rows) {
  std::vector<std::string> names;
  for (const Json& row : rows) names.push_back(row["name"]);
  return names;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("without parameters a list is what it is") {
  const Rows rows(3);
  CHECK(names_of(answer(rows, "")) == Names{"r000", "r001", "r002"});
  CHECK(answer(Rows(0), "") == Json::array());
  CHECK(names_of(answer(rows, "sort_reverse=true")) == Names{"r002", "r001", "r000"});
  // Without a page nobody is filtered out.
  CHECK(answer(rows, "name=r001").size() == 3);
}

TEST_CASE("sorted by a dotted path, missing values first") {
  const Rows rows(6);
  CHECK(names_of(answer(rows, "sort=number")) ==
        Names{"r005", "r004", "r003", "r002", "r001", "r000"});
  CHECK(names_of(answer(rows, "sort=number&sort_reverse=true")).front() == "r000");
  CHECK(names_of(answer(rows, "sort=stats.rate")) ==
        Names{"r000", "r003", "r002", "r004", "r001", "r005"});
  CHECK(names_of(answer(rows, "sort=no.such.thing")) == rows.names);
}

TEST_CASE("columns are dotted paths, of rows and of single objects") {
  const Rows rows(2);
  CHECK(answer(rows, "columns=name") == Json::parse(R"([{"name":"r000"},{"name":"r001"}])"));
  CHECK(answer(rows, "columns=stats.rate,number,nothing") ==
        Json::parse(R"([{"number":2,"stats":{}},{"number":1,"stats":{"rate":2.5}}])"));
  Request request;
  REQUIRE(http::read_target("/?columns=a.b,c", request));
  CHECK(http::chosen_columns(request, Json::parse(R"({"a":{"b":1,"x":2},"c":3,"d":4})")) ==
        Json::parse(R"({"a":{"b":1},"c":3})"));
}

TEST_CASE("pages") {
  const Rows rows(250);
  const Json first = answer(rows, "page=1");
  CHECK(first["page"] == 1);
  CHECK(first["page_size"] == 100);
  CHECK(first["page_count"] == 3);
  CHECK(first["total_count"] == 250);
  CHECK(first["filtered_count"] == 250);
  CHECK(first["item_count"] == 100);
  CHECK(first["items"].size() == 100);
  CHECK(rows.rows_made == 100);  // the others are not made at all
  const Json last = answer(rows, "page=3&pagination=false");
  CHECK(last["item_count"] == 50);
  CHECK(names_of(last["items"]).front() == "r200");
  const Json filtered = answer(rows, "page=1&page_size=4&name=R00&sort=name&sort_reverse=true");
  CHECK(filtered["filtered_count"] == 10);
  CHECK(filtered["page_count"] == 3);
  CHECK(names_of(filtered["items"]) == Names{"r009", "r008", "r007", "r006"});
  const Json expression = answer(rows, "page=1&use_regex=true&name=^R00[12]$&columns=name");
  CHECK(expression["items"] == Json::parse(R"([{"name":"r001"},{"name":"r002"}])"));
  const Json none = answer(rows, "page=1&name=zzz");
  CHECK(none["page_count"] == 0);
  CHECK(none["items"] == Json::array());
  CHECK(answer(Rows(0), "page=1")["total_count"] == 0);
  // A list that has no pages ignores the parameter.
  CHECK(answer(rows, "page=2", false).size() == 250);
}

TEST_CASE("pages that are not there") {
  const Rows rows(250);
  const auto fault = [&](const std::string& query) {
    const Response response = listed(rows, query);
    CHECK(response.status == 400);
    return response.body;
  };
  CHECK(fault("page=4") ==
        R"({"error":"page_out_of_range","reason":"Page out of range, page: 4 page size: 100, )"
        R"(len: 250"})");
  CHECK(fault("page=0") ==
        R"({"error":"invalid_pagination_parameters","reason":"Invalid pagination parameters: )"
        R"(page number 0, page size undefined"})");
  CHECK(fault("page=1&page_size=501") ==
        R"({"error":"invalid_pagination_parameters","reason":"Invalid pagination parameters: )"
        R"(page number 1, page size 501"})");
  for (const char* query : {"page=a", "page=1&page_size=x", "page=1x", "page=1.5"}) {
    CAPTURE(query);
    CHECK(fault(query) ==
          R"({"error":"bad_request","reason":"Pagination parameters are invalid"})");
  }
  CHECK(fault("page=1&page_size=-1").find("page size -1") != std::string::npos);
  CHECK(fault("page=9223372036854775807").find("page_out_of_range") != std::string::npos);
  CHECK(fault("page=1&use_regex=true&name=(").find("bad_request") != std::string::npos);
}

}  // namespace http_listing_test
