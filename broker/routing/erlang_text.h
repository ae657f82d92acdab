// Values as RabbitMQ's error texts print them (Erlang's ~p), for the faults that exchange types
// find.
#pragma once

#include <string>
#include <string_view>

namespace ringtail::broker {

// A binary: <<"text">>, or its bytes where one of them cannot be printed.
std::string erlang_binary(std::string_view text);

}  // namespace ringtail::broker
