// Segments: a walk over any bytes ends, stays inside them, and goes on in parts as it does in one.
#include <cstdint>
#include <span>

#include "broker/runtime/check.h"
#include "broker/runtime/memory_gauge.h"
#include "queue/store/segment_format.h"
#include "tests/fuzz/queue_sums.h"

namespace {

using namespace ringtail::queue::store;
namespace fuzz = ringtail::fuzz;
using Next = SegmentWalk::Next;

// Walks to the end or to what cannot be skipped; how many messages there were.
std::size_t walk_over(const SegmentHeader& header, std::span<const std::uint8_t> part,
                      std::uint64_t offset) {
  std::size_t messages = 0;
  SegmentWalk walk(header, part, offset, "fuzz");
  std::uint64_t behind = offset;
  for (Next next = walk.next(); next != Next::kPartial; next = walk.next()) {
    RT_CHECK(walk.offset() >= behind, "the walk goes back");
    if (next == Next::kDamaged) {
      RT_CHECK(!walk.status().ok() && !walk.message().ok(), "damage that is none");
      if (!walk.skip()) return messages;
      continue;
    }
    behind = walk.offset() + walk.record_size();
    RT_CHECK(behind <= offset + part.size(), "a record behind the end");
    RT_CHECK(lane_of(walk.position()) == header.lane, "a message of another lane");
    const auto message = walk.message();
    if (!message.ok()) continue;
    RT_CHECK(message.value().position == walk.position(), "another message");
    RT_CHECK(message.value().message->body_size() < walk.record_size(), "more than there is");
    ++messages;
  }
  RT_CHECK(walk.offset() + walk.needs() > offset + part.size(), "what it needs is there");
  return messages;
}

fuzz::File fixed(std::span<const std::uint8_t> input) {
  if (input.empty()) return {};
  const std::uint8_t mode = input[0];
  fuzz::File file(input.begin() + 1, input.end());
  fuzz::fix_header(file, kSegmentHeaderSize, mode);
  std::size_t at = kSegmentHeaderSize;
  const std::uint32_t salt = file.size() < at ? 0 : fuzz::sum(0, file, 32, 8);
  while (at <= file.size() && file.size() - at >= kSegmentRecordHeaderSize) {
    const std::size_t begin = at + kSegmentRecordHeaderSize;
    const std::size_t size = fuzz::size_at(file, at, file.size() - begin, mode);
    if ((mode & fuzz::kFixRecords) != 0) {
      fuzz::put_word(file, at + 4, fuzz::sum(fuzz::sum(salt, file, at, 4), file, begin, size));
    }
    at = begin + size;
  }
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t input_size) {
  const fuzz::File bytes = fixed({data, input_size});
  const std::span<const std::uint8_t> file(bytes);
  const std::int64_t before = ringtail::runtime::MemoryGauge::total();
  const auto header = read_segment_header(file, "fuzz");
  if (header.ok()) {
    walk_over(header.value(), file.subspan(kSegmentHeaderSize), kSegmentHeaderSize);
  }
  walk_over({{1}, 3, 1, 7}, file, 1000);
  ByteReader in(file);
  const ringtail::queue::MessageRef message = get_content(in);
  if (message) {
    ByteBuffer out;
    put_content(out, *message);
    ByteReader again(out.span());
    RT_CHECK(get_content(again) && again.at_end(), "a content that does not come back");
  }
  const std::int64_t made = ringtail::runtime::MemoryGauge::total() - before;
  RT_CHECK(made <= static_cast<std::int64_t>(2 * bytes.size()) + 1024, "more than it is worth");
  return 0;
}
