// What a file of queue/store holds, as lines (docs/FORMATS.md, "Queues on disk").
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

namespace ringtail::dump {

// One thing that a file says: an object of numbers, texts and lists. Octets that are no printable
// ASCII, and %, stand in texts as %XX.
using Line = nlohmann::ordered_json;
using Sink = std::function<void(const Line&)>;

// Tells `out` all that the file says, its header first and how it ends last. False: it is damaged,
// or none of ours; lines with "damage" say where and how.
bool dump_file(std::span<const std::uint8_t> content, const std::string& name, const Sink& out);

// A line for people.
std::string text_of(const Line& line);

}  // namespace ringtail::dump
