// What the node says of itself and its cluster, in the shapes that RabbitMQ's tools print.
#pragma once

#include <string>

#include "tools/ctl/command.h"

namespace ringtail::ctl {

struct NodeFacts {
  std::string name;
  Json overview;
  Json node;   // the object of /nodes of that name; null when it is not listed
  Json nodes;  // all
  std::size_t vhosts = 0;
};

// False: the error is printed.
bool read_node_facts(Context& context, NodeFacts& facts, int& code);

// A title of a report for people, and what stands below it, an item a line.
void section(Context& context, std::string_view title);
void list_or_none(Context& context, const Json& items, std::string_view mark);

// [{interface, node, port, protocol, purpose}] of the node.
Json listeners_of(const Json& overview, const std::string& node);
std::string listener_text(const Json& listener);
// ["memory", "disk"], as far as they ring.
Json alarms_of(const Json& node);
Json cluster_json(const NodeFacts& facts);
// Of a number or its digits as text; null otherwise.
Json number_in(const Json& value);

}  // namespace ringtail::ctl
