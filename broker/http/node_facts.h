// What routes say of the node that no shard knows: set once, before the server starts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "broker/runtime/config.h"

namespace ringtail::broker::http {

// A socket that the node listens on.
struct ListenerFact {
  std::string protocol;  // "amqp", "amqp/ssl", "clustering", "http"
  std::string address;   // numeric
  std::uint16_t port = 0;
};

class AppControl;

struct NodeFacts {
  const runtime::Config* config = nullptr;  // outlives the server
  std::vector<ListenerFact> listeners;
  std::uint64_t started_ms = 0;  // since 1970
  AppControl* app = nullptr;     // outlives the server
};

}  // namespace ringtail::broker::http
