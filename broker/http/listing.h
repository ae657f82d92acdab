// Lists as clients ask for them: filtered by name, sorted, cut into pages, reduced to columns.
//
// A list may be long (100,000 queues), so its rows are made one at a time, only those that are
// shown or sorted by their content.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "broker/http/message.h"
#include "broker/json_table.h"

namespace ringtail::broker::http {

// The rows in the order in which they are shown unless the client wants another.
struct Listing {
  std::size_t count = 0;
  std::function<Json(std::size_t row)> row;
  // Whether it may be cut into pages, and what the name filter of a page looks at.
  bool pages = false;
  std::function<std::string_view(std::size_t row)> name;
};

// The parameters columns, sort, sort_reverse and, where the list has them, name, use_regex, page
// and page_size. 400 with RabbitMQ's texts.
Response list_response(const Request& request, const Listing& listing);
Response list_response(const Request& request, const std::vector<Json>& rows);

// The parameter columns on one object: those dotted paths, or all when the request names none.
Json chosen_columns(const Request& request, Json object);
Response object_response(const Request& request, Json object);

}  // namespace ringtail::broker::http
