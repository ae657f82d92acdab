// What tools are told of versions over HTTP.
#pragma once

namespace ringtail::broker::http {

// The RabbitMQ whose behaviour this node has; tools switch on it.
inline constexpr const char* kRabbitVersion = "3.10.8";

}  // namespace ringtail::broker::http
