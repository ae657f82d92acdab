// Segments as bytes: messages come back, a part ends anywhere, damage is seen and skipped.
#include <doctest/doctest.h>
#include <zlib.h>

#include <string>

#include "queue/store/segment_format.h"
#include "tests/unit/queue/store_damage.h"
#include "tests/unit/queue/store_fixture.h"

namespace store_segment_test {

using namespace ringtail;
using namespace ringtail::queue;
using namespace ringtail::queue::store;
using namespace ringtail::queue::store::test;

namespace {

using Next = SegmentWalk::Next;

constexpr SegmentHeader kHeader{{42}, 3, 9, 0x1122334455667788ULL};

struct Written {
  std::vector<std::uint8_t> bytes;
  std::vector<StoredMessage> messages;
  std::vector<std::size_t> begins;  // of the records, and where the next would
};

Written write(std::vector<StoredMessage> messages) {
  ByteBuffer out;
  put_segment_header(out, kHeader);
  Written written;
  for (const StoredMessage& message : messages) {
    written.begins.push_back(out.size());
    put_segment_record(out, kHeader.salt, message.position, *message.message, message.expires_at_ms,
                       message.delivered);
  }
  written.begins.push_back(out.size());
  written.bytes = bytes_of(out);
  written.messages = std::move(messages);
  return written;
}

Written small() {
  std::vector<StoredMessage> messages(3);
  messages[0] = {position_at(3, 1), kNoExpiration, false, make("first")};
  messages[1] = {position_at(3, 2), 1'700'000'000'000, true, make("")};
  messages[2] = {position_at(3, 500), kNoExpiration, false, make("the third")};
  return write(std::move(messages));
}

SegmentWalk walk_over(const std::vector<std::uint8_t>& bytes) {
  return {kHeader, std::span(bytes).subspan(kSegmentHeaderSize), kSegmentHeaderSize, "q/9.seg"};
}

}  // namespace

TEST_CASE("a segment gives back its messages") {
  Random random(4);
  for (int run = 0; run < 50; ++run) {
    std::vector<StoredMessage> messages;
    std::uint64_t number = 0;
    for (std::uint64_t count = random.below(20); count > 0; --count) {
      number += 1 + random.below(1000);
      const std::uint64_t expires = random.chance(3) ? random.any_size() : kNoExpiration;
      messages.push_back({position_at(3, number), expires, random.chance(2), random.message()});
    }
    const Written written = write(std::move(messages));
    const auto header = read_segment_header(written.bytes, "q/9.seg");
    REQUIRE(header.ok());
    CHECK(header.value().qid == kHeader.qid);
    CHECK(header.value().lane == kHeader.lane);
    CHECK(header.value().number == kHeader.number);
    CHECK(header.value().salt == kHeader.salt);
    SegmentWalk walk = walk_over(written.bytes);
    for (std::size_t i = 0; i < written.messages.size(); ++i) {
      REQUIRE(walk.next() == Next::kRecord);
      CHECK(walk.offset() == written.begins[i]);
      CHECK(walk.record_size() == written.begins[i + 1] - written.begins[i]);
      CHECK(walk.position() == written.messages[i].position);
      const auto message = walk.message();
      REQUIRE(message.ok());
      CHECK(same(message.value(), written.messages[i]));
    }
    CHECK(walk.next() == Next::kPartial);
    CHECK(walk.offset() == written.bytes.size());
    CHECK(walk.needs() == kSegmentRecordHeaderSize);
    CHECK_FALSE(walk.message().ok());
  }
}

TEST_CASE("a part of a segment may end anywhere, and the rest be asked for") {
  const Written written = small();
  for (std::size_t cut = kSegmentHeaderSize; cut <= written.bytes.size(); ++cut) {
    CAPTURE(cut);
    const std::vector<std::uint8_t> part(written.bytes.begin(),
                                         written.bytes.begin() + static_cast<std::ptrdiff_t>(cut));
    SegmentWalk walk = walk_over(part);
    std::size_t records = 0;
    while (walk.next() == Next::kRecord) {
      CHECK(walk.message().ok());
      ++records;
    }
    REQUIRE(walk.next() == Next::kPartial);
    CHECK(walk.offset() == written.begins[records]);
    const std::uint64_t has = cut - walk.offset();
    CHECK(walk.needs() > has);
    if (has >= kSegmentRecordHeaderSize) {
      CHECK(walk.needs() == written.begins[records + 1] - written.begins[records]);
    } else {
      CHECK(walk.needs() == kSegmentRecordHeaderSize);
    }
  }
}

TEST_CASE("whatever is wrong in a segment is seen") {
  const Written written = small();
  flip_everything(written.bytes, [&](const std::vector<std::uint8_t>& bad, std::size_t at) {
    if (at < kSegmentHeaderSize) {
      const auto header = read_segment_header(bad, "q/9.seg");
      REQUIRE_FALSE(header.ok());
      CHECK(header.status().code() == runtime::Code::kCorrupt);
      CHECK(header.status().text().find("q/9.seg") != std::string::npos);
      return;
    }
    std::size_t hit = 0;
    while (written.begins[hit + 1] <= at) ++hit;
    SegmentWalk walk = walk_over(bad);
    for (std::size_t i = 0; i < hit; ++i) {
      REQUIRE(walk.next() == Next::kRecord);
      CHECK(walk.message().ok());
    }
    const Next next = walk.next();
    CHECK(walk.offset() == written.begins[hit]);
    const bool in_size = at < written.begins[hit] + 4;
    if (next == Next::kPartial) {
      // The size says that there is more than there is: who knows where the file ends sees it.
      CHECK(in_size);
      CHECK(walk.offset() + walk.needs() > written.bytes.size());
      return;
    }
    REQUIRE(next == Next::kDamaged);
    CHECK_FALSE(walk.message().ok());
    CHECK(walk.status().code() == runtime::Code::kCorrupt);
    CHECK(walk.status().text().find(std::to_string(written.begins[hit])) != std::string::npos);
    CHECK(walk.next() == Next::kDamaged);
    REQUIRE(walk.skip() == !in_size);
    if (in_size) return;
    for (std::size_t i = hit + 1; i < written.messages.size(); ++i) {
      REQUIRE(walk.next() == Next::kRecord);
      CHECK(walk.position() == written.messages[i].position);
    }
    CHECK(walk.next() == Next::kPartial);
  });
}

TEST_CASE("a record of another segment is none of this one's") {
  ByteBuffer out;
  put_segment_header(out, kHeader);
  put_segment_record(out, kHeader.salt + 1, position_at(3, 1), *make("other"), kNoExpiration,
                     false);
  const std::vector<std::uint8_t> bytes = bytes_of(out);
  SegmentWalk walk = walk_over(bytes);
  CHECK(walk.next() == Next::kDamaged);
}

TEST_CASE("a segment of a version to come is refused by name") {
  std::vector<std::uint8_t> bytes = small().bytes;
  ByteBuffer out;
  out.append(std::span(bytes).first(kSegmentHeaderSize));
  out.patch(8, kSegmentVersion + 1);
  out.patch(kSegmentHeaderSize - 4,
            static_cast<std::uint32_t>(crc32_z(0, out.data(), kSegmentHeaderSize - 4)));
  const auto header = read_segment_header(out.span(), "q/9.seg");
  REQUIRE_FALSE(header.ok());
  CHECK(header.status().text() == "q/9.seg has format version 2; this node reads 1");
}

}  // namespace store_segment_test
