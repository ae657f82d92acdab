// What the stored formats are made of: numbers, sets of ranges, messages, directory names.
#include <doctest/doctest.h>

#include <limits>
#include <set>

#include "broker/runtime/limits.h"
#include "broker/runtime/memory_gauge.h"
#include "queue/store/directory_name.h"
#include "queue/store/range_set.h"
#include "tests/unit/queue/store_fixture.h"

namespace store_parts_test {

using namespace ringtail;
using namespace ringtail::queue;
using namespace ringtail::queue::store;
using namespace ringtail::queue::store::test;

TEST_CASE("numbers come back from a buffer, and a reader that is at its end says so") {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  ByteBuffer out;
  const std::vector<std::uint64_t> numbers = {0, 1, 127, 128, 300, 1U << 21, kMost - 1, kMost};
  for (const std::uint64_t number : numbers) out.put_varint(number);
  out.put(std::uint8_t{7});
  out.put(std::uint16_t{0x1234});
  out.put(std::uint32_t{0xDEADBEEF});
  out.put(kMost - 2);
  ByteReader in(out.span());
  for (const std::uint64_t number : numbers) CHECK(in.get_varint() == number);
  CHECK(in.get_octet() == 7);
  CHECK(in.get<std::uint16_t>() == 0x1234);
  CHECK(in.get<std::uint32_t>() == 0xDEADBEEF);
  CHECK(in.get<std::uint64_t>() == kMost - 2);
  CHECK(in.ok());
  CHECK(in.at_end());
  CHECK(in.get_octet() == 0);
  CHECK_FALSE(in.ok());
}

TEST_CASE("a varint of more than 64 bits is none") {
  const std::string nine(9, '\xff');
  const std::string texts[] = {nine + "\x01", nine + "\x02", nine + "\x81"};
  ByteReader first(as_bytes(texts[0]));
  CHECK(first.get_varint() == std::numeric_limits<std::uint64_t>::max());
  CHECK(first.ok());
  for (const std::string& text : {texts[1], texts[2], nine}) {
    ByteReader in(as_bytes(text));
    CHECK(in.get_varint() == 0);
    CHECK_FALSE(in.ok());
  }
}

TEST_CASE("a buffer that was moved from is empty and takes more") {
  ByteBuffer one;
  one.append("first");
  ByteBuffer other = std::move(one);
  CHECK(one.empty());  // NOLINT: that is what is asked
  one.append("second");
  CHECK(as_text(one.span()) == "second");
  CHECK(as_text(other.span()) == "first");
  other = std::move(one);
  one.put(std::uint8_t{1});
  CHECK(as_text(other.span()) == "second");
  CHECK(one.size() == 1);
}

TEST_CASE("a set of ranges holds what a set of numbers holds") {
  Random random(1);
  for (int run = 0; run < 200; ++run) {
    RangeSet ranges;
    std::set<std::uint64_t> numbers;
    for (int step = 0; step < 40; ++step) {
      const std::uint64_t first = random.below(100);
      const std::uint64_t last = first + random.below(random.chance(5) ? 40 : 4);
      const std::size_t before = numbers.size();
      for (std::uint64_t number = first; number <= last; ++number) numbers.insert(number);
      REQUIRE(ranges.add(first, last) == numbers.size() - before);
    }
    std::uint64_t behind = 0;  // where the next range may begin at the earliest
    std::uint64_t count = 0;
    for (const auto& [first, last] : ranges.ranges()) {
      REQUIRE(first >= behind);
      behind = last + 2;
      count += last - first + 1;
    }
    REQUIRE(count == numbers.size());
    for (std::uint64_t number = 0; number < 150; ++number) {
      REQUIRE(ranges.contains(number) == (numbers.count(number) == 1));
    }
  }
}

TEST_CASE("a set of ranges reaches to the highest number") {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  RangeSet ranges;
  CHECK(ranges.add(kMost, kMost) == 1);
  CHECK(ranges.add(kMost - 2, kMost - 1) == 2);
  CHECK(ranges.add(kMost - 1, kMost) == 0);
  CHECK(ranges.add(0, 0) == 1);
  CHECK(ranges.ranges() == std::map<std::uint64_t, std::uint64_t>{{0, 0}, {kMost - 2, kMost}});
  CHECK(ranges.contains(kMost));
  CHECK_FALSE(ranges.contains(kMost - 3));
}

TEST_CASE("positions are a lane above a number") {
  const Position position = position_at(255, kNumberMask);
  CHECK(lane_of(position) == 255);
  CHECK(number_of(position) == kNumberMask);
  CHECK((position >> 63) == 0);  // an entry of the queue has 63 bits for it
  CHECK(position_at(0, 5) == 5);
  CHECK(position_at(1, 1) > position_at(0, kNumberMask));
}

TEST_CASE("a message comes back from its bytes as it was") {
  const std::int64_t before = runtime::MemoryGauge::total();
  Random random(2);
  for (int run = 0; run < 500; ++run) {
    ByteBuffer out;
    const MessageRef first = random.message();
    const MessageRef second = random.message();
    put_content(out, *first);
    CHECK(out.size() <= content_size_max(*first));
    put_content(out, *second);
    ByteReader in(out.span());
    const MessageRef first_again = get_content(in);
    const MessageRef second_again = get_content(in);
    REQUIRE(first_again);
    REQUIRE(second_again);
    CHECK(same(*first, *first_again));
    CHECK(same(*second, *second_again));
    CHECK(in.at_end());
  }
  CHECK(runtime::MemoryGauge::total() == before);
}

TEST_CASE("a large body comes back in blocks, one without a route with two empty names") {
  for (const std::size_t size :
       {runtime::kInlineBodyMax, runtime::kInlineBodyMax + 1, std::size_t{1'000'000}}) {
    const MessageRef message = make(std::string(size, 'b'));
    ByteBuffer out;
    put_content(out, *message);
    ByteReader in(out.span());
    const MessageRef again = get_content(in);
    REQUIRE(again);
    CHECK(again->body_complete());
    CHECK(again->body_is_inline() == (size == runtime::kInlineBodyMax));
    CHECK(same(*message, *again));
  }
  const MessageRef bare(Message::create({}, {}, 0, {}));
  ByteBuffer out;
  put_content(out, *bare);
  CHECK(hex(out.span()) == "0000000000");
  ByteReader in(out.span());
  const MessageRef again = get_content(in);
  REQUIRE(again);
  CHECK(again->exchange().empty());
  CHECK(again->routing_key().empty());
}

TEST_CASE("bytes that are no message make none, and take no memory") {
  Random random(3);
  const std::int64_t before = runtime::MemoryGauge::total();
  for (int run = 0; run < 100; ++run) {
    const MessageRef message = random.message();
    ByteBuffer out;
    put_content(out, *message);
    const std::size_t step = 1 + out.size() / 300;
    for (std::size_t cut = 0; cut < out.size(); cut += step) {
      ByteReader in(out.span().first(cut));
      CHECK_FALSE(get_content(in));
    }
  }
  std::string flags = std::string("\x10", 1) + std::string(4, '\0');
  ByteReader unknown(as_bytes(flags));
  CHECK_FALSE(get_content(unknown));
  for (int run = 0; run < 20'000; ++run) {
    const std::string rubbish = random.text(random.below(60));
    ByteReader in(as_bytes(rubbish));
    const MessageRef message = get_content(in);
    if (message) CHECK(message->body_size() <= rubbish.size());
  }
  CHECK(runtime::MemoryGauge::total() == before);
}

// Computed by a program of its own in another language, but for the first: that is RabbitMQ's.
TEST_CASE("a queue's directory is called as RabbitMQ called it") {
  const std::string long_vhost(255, 'v');
  const std::string long_queue(255, 'q');
  struct Vector {
    std::string_view vhost, queue, name;
  };
  const Vector vectors[] = {
      {"myvhost_rhu", "archive", "EUVCFMQ3KCK9L8KMFN5Q0WBQR"},
      {"/", "", "5XUILDY9A2DQ318X1R8VGIYCL"},
      {"/", "orders", "F50GEIWOFLD2SWI9DLKWHOKMQ"},
      {"/", "a/b", "62W44GZOB4EPEUPCFP89KJYY9"},
      {"a/b", "c", "BFP008WO4U8G4A03W02B6BDPU"},
      {"a", "b/c", "25R0RXB2E52P9QPQ89AY1FNHN"},
      {"/",
       "Gr\xc3\xbc\xc3\x9f"
       "e/\xe6\x97\xa5\xe6\x9c\xac",
       "EPZ9ZFF9IG9311BNREJ07IAA6"},
      {"vh\xc3\xb6st", "q", "9GB8XPJPWM8CQK6ZT0DDDT419"},
      {long_vhost, long_queue, "OQIA1DC668PWKQ0PHYP4YXDK"},
      {"/", "q23710", "14019NQXOV83UPMK7WEB12"},  // a digest that begins with zeros
  };
  for (const Vector& vector : vectors) {
    CAPTURE(vector.name);
    const auto name = directory_name(vector.vhost, vector.queue);
    REQUIRE(name.ok());
    CHECK(name.value() == vector.name);
  }
}

TEST_CASE("names that no queue has get no directory") {
  for (const auto& [vhost, queue] : std::vector<std::pair<std::string, std::string>>{
           {"", "q"}, {std::string(256, 'v'), "q"}, {"v", std::string(256, 'q')}}) {
    const auto name = directory_name(vhost, queue);
    REQUIRE_FALSE(name.ok());
    CHECK(name.status().code() == runtime::Code::kInvalid);
    CHECK(name.status().text().find('q') != std::string::npos);
  }
}

}  // namespace store_parts_test
