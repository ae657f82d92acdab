// The examples of docs/FORMATS.md, "Queues on disk", are what is written: the numbers there are
// read from the document.
#include <doctest/doctest.h>

#include <cctype>
#include <fstream>
#include <string>

#include "queue/store/index_format.h"
#include "queue/store/journal_format.h"
#include "queue/store/segment_format.h"
#include "tests/unit/queue/store_fixture.h"

namespace store_examples_test {

using namespace ringtail;
using namespace ringtail::queue;
using namespace ringtail::queue::store;
using namespace ringtail::queue::store::test;

namespace {

constexpr std::uint64_t kSalt = 7;
constexpr runtime::Qid kOrders{42};
constexpr runtime::Qid kAudit{43};

// The octets that a line begins with: pairs of digits with one space between them.
std::string octets_of(const std::string& line) {
  std::string octets;
  std::size_t at = line.find_first_not_of(' ');
  while (at != std::string::npos && at + 2 <= line.size() &&
         std::isxdigit(static_cast<unsigned char>(line[at])) != 0 &&
         std::isxdigit(static_cast<unsigned char>(line[at + 1])) != 0) {
    octets += line.substr(at, 2);
    if (at + 2 >= line.size() || line[at + 2] != ' ') break;
    at += 3;
  }
  return octets;
}

// The block that follows a line which begins so.
std::string example(const std::string& title) {
  std::ifstream document(RINGTAIL_SOURCE_DIR "/docs/FORMATS.md");
  REQUIRE(document.good());
  std::string octets;
  bool found = false;
  bool inside = false;
  for (std::string line; std::getline(document, line);) {
    if (!found) {
      found = line.rfind(title, 0) == 0;
    } else if (line == "```") {
      if (inside) return octets;
      inside = true;
    } else if (inside) {
      octets += octets_of(line);
    }
  }
  FAIL("no block behind the line \"" << title << "\"");
  return octets;
}

// Routed by the default exchange, delivery-mode 2.
MessageRef hi(const std::string& key) {
  Parts parts;
  parts.key = key;
  parts.properties = std::string("\x10\x00\x02", 3);
  parts.body = "hi";
  parts.traits.persistent = true;
  return make(parts);
}

}  // namespace

TEST_CASE("the journal in docs/FORMATS.md") {
  ByteBuffer out;
  put_journal_header(out, {0, 1, kSalt});
  BatchWriter batch;
  batch.begin(kSalt, 1, out.size());
  const MessageRef message = hi("orders");
  const MessageRef other = message;
  batch.begin_publish(kOrders);
  batch.add(position_at(0, 1), *message, kNoExpiration, false);
  batch.end_publish();
  batch.begin_publish(kAudit);
  batch.add(position_at(1, 300), *message, 1'700'000'000'000, false);
  batch.end_publish();
  out.append(batch.finish());
  batch.begin(kSalt, 2, out.size());
  batch.delivered(kOrders, position_at(0, 1));
  batch.remove(kAudit, std::vector<PositionRange>{{position_at(1, 298), position_at(1, 300)}});
  batch.deleted(kAudit);
  out.append(batch.finish());
  CHECK(hex(out.span()) == example("Example: journal"));
}

TEST_CASE("the segment in docs/FORMATS.md") {
  ByteBuffer out;
  put_segment_header(out, {kOrders, 0, 1, kSalt});
  put_segment_record(out, kSalt, position_at(0, 1), *hi("orders"), kNoExpiration, true);
  CHECK(hex(out.span()) == example("Example: segment"));
}

TEST_CASE("the index in docs/FORMATS.md") {
  SegmentState segment;
  segment.number = 1;
  segment.first = 1;
  segment.last = 9;
  segment.bytes = 300;
  segment.live = 5;
  segment.live_bytes = 10;
  segment.removed.add(2, 3);
  segment.removed.add(5, 5);
  segment.removed.add(9, 9);
  IndexState state;
  state.covered = 9;
  state.next = 13;
  state.next_segment = 2;
  state.delivered[0] = 4;
  const SegmentState* changed[] = {&segment};
  ByteBuffer out;
  put_index_header(out, {kOrders, kSalt});
  put_index_commit(out, kSalt, changed, {}, state);
  state.covered = 12;
  const std::uint64_t gone[] = {1};
  put_index_commit(out, kSalt, {}, gone, state);
  CHECK(hex(out.span()) == example("Example: index"));
}

TEST_CASE("the identity in docs/FORMATS.md") {
  ByteBuffer out;
  put_identity(out, {kOrders, "/", "orders"});
  CHECK(hex(out.span()) == example("Example: identity"));
}

}  // namespace store_examples_test
