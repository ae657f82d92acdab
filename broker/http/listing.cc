#include "broker/http/listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "broker/runtime/parse_number.h"
#include "broker/runtime/pattern.h"

namespace ringtail::broker::http {

namespace {

constexpr std::size_t kDefaultPageSize = 100;
constexpr std::size_t kLargestPage = 500;

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

const Json* at_path(const Json& object, const std::vector<std::string>& path) {
  const Json* at = &object;
  for (const std::string& part : path) {
    if (!at->is_object()) return nullptr;
    const auto found = at->find(part);
    if (found == at->end()) return nullptr;
    at = &*found;
  }
  return at;
}

using Columns = std::vector<std::vector<std::string>>;

Columns columns_of(const Request& request) {
  Columns columns;
  for (const std::string& column : split(request.parameter("columns"), ',')) {
    columns.push_back(split(column, '.'));
  }
  return columns;
}

Json reduced(Json object, const Columns& columns) {
  if (columns.empty() || !object.is_object()) return object;
  Json kept = Json::object();
  for (const auto& path : columns) {
    const Json* value = at_path(object, path);
    // An object that lacks the last part stays, empty, as in RabbitMQ.
    if (value == nullptr && (path.size() < 2 || !object.contains(path[0]))) continue;
    Json* into = &kept;
    for (std::size_t i = 0; i + 1 < path.size(); ++i) {
      Json& next = (*into)[path[i]];
      if (!next.is_object()) next = Json::object();
      into = &next;
    }
    if (value != nullptr) (*into)[path.back()] = *value;
  }
  return kept;
}

// Missing values come first, then numbers before text.
int rank_of(const Json* value) {
  if (value == nullptr || value->is_null()) return 0;
  if (value->is_number()) return 1;
  if (value->is_boolean()) return 2;
  return 3;
}

// Rows with what they are sorted by.
void sort_rows(const Listing& listing, const std::vector<std::string>& path, bool reverse,
               std::vector<std::size_t>& rows) {
  struct Keyed {
    std::size_t row;
    Json key;
  };
  std::vector<Keyed> keyed;
  keyed.reserve(rows.size());
  for (const std::size_t row : rows) {
    const Json object = listing.row(row);
    const Json* value = at_path(object, path);
    keyed.push_back({row, value == nullptr ? Json() : *value});
  }
  std::stable_sort(keyed.begin(), keyed.end(), [reverse](const Keyed& a, const Keyed& b) {
    const Json& first = reverse ? b.key : a.key;
    const Json& second = reverse ? a.key : b.key;
    const int first_rank = rank_of(&first);
    const int second_rank = rank_of(&second);
    return first_rank != second_rank ? first_rank < second_rank : first < second;
  });
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = keyed[i].row;
}

// --- names ---

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool contains_ignoring_case(std::string_view text, std::string_view part) {
  return std::search(text.begin(), text.end(), part.begin(), part.end(),
                     [](char a, char b) { return lower(a) == lower(b); }) != text.end();
}

std::optional<Response> filter_by_name(const Request& request, const Listing& listing,
                                       std::vector<std::size_t>& rows) {
  const std::string_view wanted = request.parameter("name");
  if (wanted.empty() || !listing.name) return std::nullopt;
  if (!request.flag("use_regex")) {
    std::erase_if(
        rows, [&](std::size_t row) { return !contains_ignoring_case(listing.name(row), wanted); });
    return std::nullopt;
  }
  const auto pattern = runtime::Pattern::compile("(?i)" + std::string(wanted));
  if (!pattern.ok()) return bad_request(pattern.status().text());
  std::erase_if(rows, [&](std::size_t row) { return !pattern.value().matches(listing.name(row)); });
  return std::nullopt;
}

// --- pages ---

struct Page {
  bool wanted = false;
  std::size_t number = 1;
  std::size_t size = kDefaultPageSize;
};

std::optional<Response> read_page(const Request& request, Page& page) {
  const std::string_view number_text = request.parameter("page");
  const std::string_view size_text = request.parameter("page_size");
  page.wanted = !number_text.empty();
  if (!page.wanted) return std::nullopt;
  std::int64_t number = 0;
  std::int64_t size = kDefaultPageSize;
  if (!runtime::parse_number(number_text, number) ||
      (!size_text.empty() && !runtime::parse_number(size_text, size))) {
    return bad_request("Pagination parameters are invalid");
  }
  if (number < 1 || size < 1 || size > std::int64_t{kLargestPage}) {
    return failure(400, "invalid_pagination_parameters",
                   fmt::format("Invalid pagination parameters: page number {}, page size {}",
                               number, size_text.empty() ? "undefined" : std::to_string(size)));
  }
  page.number = static_cast<std::size_t>(number);
  page.size = static_cast<std::size_t>(size);
  return std::nullopt;
}

std::string rows_text(const Listing& listing, const Columns& columns,
                      const std::vector<std::size_t>& rows, std::size_t from, std::size_t to) {
  std::string text = "[";
  for (std::size_t i = from; i < to; ++i) {
    if (i > from) text += ',';
    text += json_text(reduced(listing.row(rows[i]), columns));
  }
  return text + ']';
}

Response page_response(const Listing& listing, const Columns& columns, const Page& page,
                       const std::vector<std::size_t>& rows) {
  const std::size_t pages = (rows.size() + page.size - 1) / page.size;
  if (page.number > std::max<std::size_t>(pages, 1)) {
    return failure(400, "page_out_of_range",
                   fmt::format("Page out of range, page: {} page size: {}, len: {}", page.number,
                               page.size, rows.size()));
  }
  const std::size_t from = (page.number - 1) * page.size;
  const std::size_t to = std::min(from + page.size, rows.size());
  Response response;
  response.body =
      fmt::format(R"({{"filtered_count":{},"item_count":{},"items":{},"page":{},"page_count":{},)"
                  R"("page_size":{},"total_count":{}}})",
                  rows.size(), to - from, rows_text(listing, columns, rows, from, to), page.number,
                  pages, page.size, listing.count);
  return response;
}

}  // namespace

Response list_response(const Request& request, const Listing& listing) {
  std::vector<std::size_t> rows(listing.count);
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  Page page;
  if (listing.pages) {
    if (auto fault = read_page(request, page)) return *fault;
  }
  // RabbitMQ filters pages only; clients that ask for a list without one expect all of it.
  if (page.wanted) {
    if (auto fault = filter_by_name(request, listing, rows)) return *fault;
  }
  if (const auto path = split(request.parameter("sort"), '.'); !path.empty()) {
    sort_rows(listing, path, request.flag("sort_reverse"), rows);
  } else if (request.flag("sort_reverse")) {
    std::reverse(rows.begin(), rows.end());
  }
  const Columns columns = columns_of(request);
  if (page.wanted) return page_response(listing, columns, page, rows);
  Response response;
  response.body = rows_text(listing, columns, rows, 0, rows.size());
  return response;
}

Response list_response(const Request& request, const std::vector<Json>& rows) {
  Listing listing;
  listing.count = rows.size();
  listing.row = [&rows](std::size_t row) { return rows[row]; };
  return list_response(request, listing);
}

Json chosen_columns(const Request& request, Json object) {
  return reduced(std::move(object), columns_of(request));
}

Response object_response(const Request& request, Json object) {
  return json_response(chosen_columns(request, std::move(object)));
}

}  // namespace ringtail::broker::http
