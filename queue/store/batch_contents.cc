#include "queue/store/batch_contents.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace ringtail::queue::store {

void BatchContents::begin_batch() {
  good_.clear();
  in_place_.clear();
  found_.clear();
}

void BatchContents::add_good(std::uint64_t begin, std::uint64_t end) {
  good_.push_back({begin, end});
}

void BatchContents::add(std::uint64_t offset, const MessageRef& message) {
  // A record that is read twice adds nothing.
  if (in_place_.empty() || in_place_.back().offset < offset) in_place_.push_back({offset, message});
}

MessageRef BatchContents::find(std::uint64_t offset, std::uint64_t limit,
                               std::span<const std::uint8_t> file) {
  const auto at = std::lower_bound(
      in_place_.begin(), in_place_.end(), offset,
      [](const Content& content, std::uint64_t sought) { return content.offset < sought; });
  if (at != in_place_.end() && at->offset == offset) return at->message;
  const auto known = found_.find(offset);
  if (known != found_.end()) return known->second.message;
  return read(offset, limit, file);
}

MessageRef BatchContents::read(std::uint64_t offset, std::uint64_t limit,
                               std::span<const std::uint8_t> file) {
  const auto behind = std::upper_bound(
      good_.begin(), good_.end(), offset,
      [](std::uint64_t sought, const Range& range) { return sought < range.begin; });
  if (behind == good_.begin()) return {};
  const std::uint64_t end = std::min(std::prev(behind)->end, limit);
  if (offset >= end || end > file.size()) return {};
  const auto next = found_.upper_bound(offset);
  if (next != found_.begin() && std::prev(next)->second.end > offset) return {};
  const std::uint64_t most = next == found_.end() ? end : std::min(end, next->first);
  ByteReader in(
      file.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(most - offset)));
  MessageRef message = get_content(in);
  if (message) found_.emplace_hint(next, offset, Found{offset + in.offset(), message});
  return message;
}

}  // namespace ringtail::queue::store
