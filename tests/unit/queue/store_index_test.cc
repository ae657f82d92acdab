// Indexes and identities as bytes: what was committed is read back, the last commit may be torn,
// anything else that is wrong is named.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <string>

#include "queue/store/index_format.h"
#include "tests/unit/queue/store_damage.h"
#include "tests/unit/queue/store_fixture.h"

namespace store_index_test {

using namespace ringtail;
using namespace ringtail::queue;
using namespace ringtail::queue::store;
using namespace ringtail::queue::store::test;

namespace {

constexpr IndexHeader kHeader{{42}, 0x1122334455667788ULL};
constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

SegmentState random_segment(Random& random, std::uint64_t number) {
  SegmentState segment;
  segment.number = number;
  segment.lane = static_cast<std::uint8_t>(random.number());
  segment.first = 1 + (random.any_size() & (kNumberMask >> 2));
  segment.last = segment.first + random.below(1000);
  segment.bytes = random.any_size();
  segment.live = random.any_size();
  segment.live_bytes = random.any_size();
  segment.expiring = random.any_size();
  for (std::uint64_t count = random.below(10); count > 0; --count) {
    const std::uint64_t first = segment.first + random.below(segment.last - segment.first + 1);
    segment.removed.add(first, first + random.below(segment.last - first + 1));
  }
  return segment;
}

// An index with what was so after each commit, and where each ends.
struct Written {
  std::vector<std::uint8_t> bytes;
  std::vector<IndexState> states;  // after no commit, after one, ...
  std::vector<std::size_t> ends;
};

Written write(Random& random, std::size_t commits) {
  ByteBuffer out;
  put_index_header(out, kHeader);
  Written written;
  IndexState state;
  written.states.push_back(state);
  written.ends.push_back(out.size());
  for (std::size_t i = 0; i < commits; ++i) {
    std::vector<std::uint64_t> changed;
    std::vector<std::uint64_t> gone;
    for (std::uint64_t count = random.below(3); count > 0; --count) {
      const std::uint64_t number = 1 + random.below(6);
      if (std::find(changed.begin(), changed.end(), number) != changed.end()) continue;
      changed.push_back(number);
      state.segments[number] = random_segment(random, number);
    }
    if (random.chance(2)) gone.push_back(10 - random.below(6));
    for (const std::uint64_t number : gone) state.segments.erase(number);
    std::vector<const SegmentState*> segments;
    for (const std::uint64_t number : changed) {
      if (state.segments.count(number) == 1) segments.push_back(&state.segments[number]);
    }
    state.covered = random.any_size();
    state.next = random.any_size();
    state.next_segment = random.any_size();
    state.delivered.clear();
    for (std::uint64_t count = random.below(3); count > 0; --count) {
      state.delivered[static_cast<std::uint8_t>(random.below(256))] = random.any_size();
    }
    put_index_commit(out, kHeader.salt, segments, gone, state);
    written.states.push_back(state);
    written.ends.push_back(out.size());
  }
  written.bytes = bytes_of(out);
  return written;
}

}  // namespace

TEST_CASE("an index gives back the state of its last commit") {
  Random random(6);
  for (int run = 0; run < 200; ++run) {
    const Written written = write(random, random.below(10));
    const auto scan = scan_index(written.bytes, "q/index");
    REQUIRE(scan.ok());
    CHECK(scan.value().header.qid == kHeader.qid);
    CHECK(scan.value().header.salt == kHeader.salt);
    CHECK(scan.value().end == written.bytes.size());
    CHECK(scan.value().torn == 0);
    CHECK((scan.value().state == written.states.back()));
  }
}

TEST_CASE("an index with nothing but a header is that of a new queue") {
  ByteBuffer out;
  put_index_header(out, kHeader);
  REQUIRE(out.size() == kIndexHeaderSize);
  const auto scan = scan_index(out.span(), "q/index");
  REQUIRE(scan.ok());
  CHECK((scan.value().state == IndexState{}));
}

TEST_CASE("an index cut off at any byte has the state of its last whole commit") {
  Random random(7);
  const Written written = write(random, 5);
  for (std::size_t cut = 0; cut <= written.bytes.size(); ++cut) {
    CAPTURE(cut);
    for (const int filler : {-1, 0, 0x7f}) {
      std::vector<std::uint8_t> torn(written.bytes.begin(),
                                     written.bytes.begin() + static_cast<std::ptrdiff_t>(cut));
      if (filler >= 0) torn.resize(written.bytes.size(), static_cast<std::uint8_t>(filler));
      const std::size_t came = common(torn, written.bytes);  // the filler may be what is missing
      const auto scan = scan_index(torn, "q/index");
      REQUIRE(scan.ok() == (came >= kIndexHeaderSize));
      if (!scan.ok()) continue;
      std::size_t whole = 0;
      while (whole + 1 < written.ends.size() && written.ends[whole + 1] <= came) ++whole;
      CHECK(scan.value().end == written.ends[whole]);
      CHECK(scan.value().torn == torn.size() - written.ends[whole]);
      CHECK((scan.value().state == written.states[whole]));
    }
  }
}

TEST_CASE("whatever is wrong in an index is torn in its last commit and damage before") {
  Random random(8);
  const Written written = write(random, 3);
  flip_everything(written.bytes, [&](const std::vector<std::uint8_t>& bad, std::size_t at) {
    const auto scan = scan_index(bad, "q/index");
    if (at >= written.ends[2]) {
      REQUIRE(scan.ok());
      CHECK(scan.value().end == written.ends[2]);
      CHECK(scan.value().torn == bad.size() - written.ends[2]);
      CHECK((scan.value().state == written.states[2]));
      return;
    }
    REQUIRE_FALSE(scan.ok());
    CHECK(scan.status().code() == runtime::Code::kCorrupt);
    const std::size_t where = at < written.ends[0]   ? 0
                              : at < written.ends[1] ? written.ends[0]
                                                     : written.ends[1];
    CHECK(scan.status().text().find("q/index is damaged at offset " + std::to_string(where) +
                                    ":") == 0);
  });
}

TEST_CASE("of what is removed an index keeps what lies in the segment") {
  SegmentState segment;
  segment.number = 1;
  segment.first = 100;
  segment.last = 199;
  segment.removed.add(0, 50);
  segment.removed.add(90, 104);
  segment.removed.add(150, 150);
  segment.removed.add(190, kMost);
  const SegmentState* changed[] = {&segment};
  ByteBuffer out;
  put_index_header(out, kHeader);
  put_index_commit(out, kHeader.salt, changed, {}, {});
  const auto scan = scan_index(out.span(), "q/index");
  REQUIRE(scan.ok());
  CHECK(scan.value().state.segments.at(1).removed.ranges() ==
        std::map<std::uint64_t, std::uint64_t>{{100, 104}, {150, 150}, {190, 199}});
}

TEST_CASE("a queue's identity comes back, and anything wrong with it is seen") {
  for (const QueueIdentity& identity :
       {QueueIdentity{{42}, "/", "orders"}, QueueIdentity{{kMost >> 1}, std::string(255, 'v'), ""},
        QueueIdentity{{1}, "vh\xc3\xb6st", std::string("a\0b/", 4)}}) {
    ByteBuffer out;
    put_identity(out, identity);
    const std::vector<std::uint8_t> bytes = bytes_of(out);
    const auto again = read_identity(bytes, "q/queue");
    REQUIRE(again.ok());
    CHECK(again.value().qid == identity.qid);
    CHECK(again.value().vhost == identity.vhost);
    CHECK(again.value().name == identity.name);
    for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
      CHECK_FALSE(read_identity(std::span(bytes).first(cut), "q/queue").ok());
    }
    std::vector<std::uint8_t> longer = bytes;
    longer.push_back(0);
    CHECK_FALSE(read_identity(longer, "q/queue").ok());
    flip_everything(bytes, [](const std::vector<std::uint8_t>& bad, std::size_t) {
      const auto found = read_identity(bad, "q/queue");
      REQUIRE_FALSE(found.ok());
      CHECK(found.status().code() == runtime::Code::kCorrupt);
      CHECK(found.status().text().find("q/queue") == 0);
    });
  }
}

}  // namespace store_index_test
