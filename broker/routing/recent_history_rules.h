// What an exchange of type x-recent-history remembers.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace ringtail::broker {

// How many messages, by the exchange's arguments.
std::uint64_t history_length(std::string_view arguments);

// False: the message's headers say x-recent-history-no-store.
bool may_be_remembered(std::span<const std::uint8_t> properties);

}  // namespace ringtail::broker
