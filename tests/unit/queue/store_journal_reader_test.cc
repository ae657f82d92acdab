// What the journals of a data directory say, whatever became of them.
#include <doctest/doctest.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "queue/store/journal_reader.h"
#include "tests/unit/queue/store_journal_fixture.h"

namespace store_journal_reader_test {

using namespace ringtail;
using namespace ringtail::queue;
using namespace ringtail::queue::store;
using namespace ringtail::queue::store::test;
using runtime::OpenMode;

namespace {

using Bytes = std::vector<std::uint8_t>;

// One batch for each text: a publish of queue 1, with the next number.
struct FileBuilder {
  explicit FileBuilder(std::uint64_t number, std::uint16_t shard = 0) {
    put_journal_header(out, {shard, number, 1000 + number});
    salt = 1000 + number;
  }
  BatchWriter& begin() {
    writer.begin(salt, ++index, out.size());
    return writer;
  }
  FileBuilder& end() {
    starts.push_back(out.size());
    out.append(writer.finish());
    return *this;
  }
  FileBuilder& publish(std::uint64_t number, const std::string& body, std::uint64_t qid = 1) {
    begin().begin_publish(Qid{qid});
    writer.add(position_at(0, number), *make_message(body), kNoExpiration, false);
    writer.end_publish();
    return end();
  }
  FileBuilder& remove(std::uint64_t first, std::uint64_t last, std::uint64_t qid = 1) {
    const PositionRange range{position_at(0, first), position_at(0, last)};
    begin().remove(Qid{qid}, {&range, 1});
    return end();
  }
  Bytes bytes() const {
    Bytes all(out.span().begin(), out.span().end());
    all.resize(all.size() + 300);  // zeros: it is preallocated
    return all;
  }

  ByteBuffer out;
  BatchWriter writer;
  std::uint64_t salt = 0;
  std::uint64_t index = 0;
  std::vector<std::size_t> starts;  // of the batches
};

struct ReaderTest {
  ReaderTest() : world(1), host(world), env(host) {}

  void put(std::uint64_t number, const Bytes& bytes, std::uint16_t shard = 0) {
    REQUIRE(env.disk().make_directory("/journal").ok());
    auto file = env.disk().open(journal_path("/journal", shard, number), OpenMode::kCreateNew);
    REQUIRE(file.ok());
    runtime::DiskRequest request;
    bool done = false;
    request.content = bytes;
    request.done = [&](const runtime::Status& status) { done = status.ok(); };
    file.value()->append(request);
    REQUIRE(world.run_until([&] { return done; }));
  }
  runtime::Result<JournalsRead> try_read(std::vector<std::uint16_t> shards = {0}) {
    JournalReader reader(env, "/journal", std::move(shards));
    std::optional<runtime::Result<JournalsRead>> result;
    reader.start([&](runtime::Result<JournalsRead> found) { result.emplace(std::move(found)); });
    REQUIRE(world.run_until([&] { return result.has_value(); }));
    return std::move(*result);
  }
  JournalsRead read(std::vector<std::uint16_t> shards = {0}) {
    auto result = try_read(std::move(shards));
    REQUIRE_MESSAGE(result.ok(), result.status().text());
    return std::move(result).value();
  }

  runtime::SimWorld world;
  runtime::SimHost host;
  runtime::SimEnv env;
};

std::string bodies(JournalsRead& read, std::uint64_t qid = 1) {
  std::string all;
  for (const StoredMessage& message : read.queues[Qid{qid}].published) {
    all += std::to_string(number_of(message.position)) + "=" + body_of(message.message) + " ";
  }
  return all;
}

}  // namespace

TEST_CASE("journal reader: no directory, no files, other files") {
  ReaderTest test;
  CHECK(test.read().files.empty());
  CHECK(journal_shards(test.env.disk(), "/journal").value().empty());
  REQUIRE(test.env.disk().make_directory("/journal/00000-0000000009x").ok());
  test.put(3, FileBuilder(3).publish(1, "a").bytes());
  test.put(12'345'678'901, FileBuilder(12'345'678'901, 7).publish(2, "b").bytes(), 7);
  CHECK(journal_shards(test.env.disk(), "/journal").value() == std::vector<std::uint16_t>{0, 7});
  CHECK(journal_path("/d", 7, 3) == "/d/00007-0000000003");
  JournalsRead read = test.read();
  CHECK(read.files == std::vector<std::string>{"/journal/00000-0000000003"});
  CHECK(read.last_file == 3);
  CHECK(bodies(read) == "1=a ");
  read = test.read({7, 0});
  CHECK(read.files.size() == 2);
  CHECK(read.last_file == 12'345'678'901);
  CHECK(bodies(read) == "1=a 2=b ");
  test.host.drive().fail_call(runtime::SimDiskCall::kRead, 1, runtime::Code::kIo);
  CHECK(test.try_read().status().code() == runtime::Code::kIo);
}

TEST_CASE("journal reader: messages in the order of their numbers, each once, those removed gone") {
  ReaderTest test;
  test.put(1, FileBuilder(1).publish(1, "a").publish(2, "b").publish(3, "c").bytes());
  FileBuilder again(2);
  again.begin().begin_publish(Qid{1});
  again.writer.add(position_at(0, 1), *make_message("a"), kNoExpiration, true);
  again.writer.add(position_at(0, 3), *make_message("c"), kNoExpiration, false);
  again.writer.end_publish();
  again.end().publish(4, "d").remove(2, 2).remove(4, 9);
  test.put(2, again.bytes());
  JournalsRead read = test.read();
  CHECK(bodies(read) == "1=a 3=c ");
  CHECK(read.queues[Qid{1}].published[0].delivered);
  CHECK_FALSE(read.queues[Qid{1}].published[1].delivered);
  CHECK(read.report.empty());
}

TEST_CASE("journal reader: what two journals say of a queue is one") {
  JournaledQueue one;
  JournaledQueue two;
  const auto message = [](std::uint64_t number) {
    return StoredMessage{position_at(0, number), kNoExpiration, false, make_message("x")};
  };
  one.published = {message(1), message(4), message(5)};
  two.published = {message(2), message(3), message(5)};
  one.removed[0].add(3, 3);
  two.removed[0].add(4, 4);
  one.delivered[0] = 2;
  two.delivered = {{0, 1}, {3, 7}};
  two.damage = "why";
  one.merge(std::move(two));
  std::vector<Position> numbers;
  for (const StoredMessage& each : one.published) numbers.push_back(each.position);
  CHECK(numbers == std::vector<Position>{1, 2, 5});
  CHECK(one.removed[0].ranges() == std::map<std::uint64_t, std::uint64_t>{{3, 4}});
  CHECK(one.delivered == std::map<std::uint8_t, std::uint64_t>{{0, 2}, {3, 7}});
  CHECK(one.damage == "why");
  JournaledQueue gone;
  gone.deleted = true;
  one.merge(std::move(gone));
  CHECK(one.deleted);
  CHECK(one.published.empty());
}

TEST_CASE(
    "journal reader: a torn tail is reported, and damage only where more was written behind") {
  FileBuilder torn(4);
  torn.publish(1, "a").publish(2, "b");
  Bytes bytes = torn.bytes();
  bytes[torn.starts[1] + kBatchHeaderSize + kRecordHeaderSize + 3] ^= 1;
  ReaderTest test;
  test.put(4, bytes);
  SUBCASE("the newest") {}
  SUBCASE("the one behind it holds nothing") { test.put(5, FileBuilder(5).bytes()); }
  SUBCASE("the one behind it was not ready") { test.put(5, Bytes(100)); }
  SUBCASE("what was written behind it was by another life") {
    test.put(6, FileBuilder(6).publish(7, "later", 2).bytes());
  }
  SUBCASE("it is another shard's") { test.put(5, FileBuilder(5, 1).publish(7, "x", 2).bytes(), 1); }
  SUBCASE("damage") {
    test.put(5, FileBuilder(5).publish(7, "later", 2).bytes());
    JournalsRead read = test.read();
    CHECK(read.unknown_damage);
    REQUIRE(read.report.size() == 2);
    CHECK(read.report[1].find("/journal/00000-0000000004: its end is damaged") == 0);
    CHECK(bodies(read) == "1=a ");
    CHECK(bodies(read, 2) == "7=later ");
    return;
  }
  JournalsRead read = test.read({0, 1});
  CHECK_FALSE(read.unknown_damage);
  CHECK(bodies(read) == "1=a ");
  REQUIRE(!read.report.empty());
  CHECK(read.report[0].find("/journal/00000-0000000004: the last write was cut off: " +
                            std::to_string(torn.out.size() - torn.starts[1]) + " bytes at " +
                            std::to_string(torn.starts[1])) == 0);
}

TEST_CASE("journal reader: a damaged record is its queue's, and names the place") {
  FileBuilder file(4);
  file.publish(1, "aaaa").publish(2, "bbbb", 2).publish(3, "c").publish(4, "d", 3);
  Bytes bytes = file.bytes();
  bytes[file.starts[1] + kBatchHeaderSize + kRecordHeaderSize + 3] ^= 1;
  ReaderTest test;
  test.put(4, bytes);
  JournalsRead read = test.read();
  CHECK_FALSE(read.unknown_damage);
  CHECK(read.queues[Qid{1}].damage.empty());
  CHECK(read.queues[Qid{3}].damage.empty());
  const std::string& damage = read.queues[Qid{2}].damage;
  CHECK(damage.find("/journal/00000-0000000004") != std::string::npos);
  CHECK(damage.find(std::to_string(file.starts[1] + kBatchHeaderSize)) != std::string::npos);
  CHECK(read.report == std::vector<std::string>{damage});
  CHECK(bodies(read) == "1=aaaa 3=c ");
}

TEST_CASE("journal reader: damage of nobody known concerns all") {
  FileBuilder file(4);
  file.publish(1, "a").publish(2, "b").publish(3, "c");
  Bytes bytes = file.bytes();
  bytes[file.starts[1] + 1] ^= 1;  // the header of a batch
  ReaderTest test;
  test.put(4, bytes);
  JournalsRead read = test.read();
  CHECK(read.unknown_damage);
  CHECK(read.report.size() == 1);
  CHECK(bodies(read) == "1=a 3=c ");
}

TEST_CASE("journal reader: a file without its header was not ready, or is damaged") {
  ReaderTest test;
  test.put(1, FileBuilder(1).publish(1, "a").bytes());
  bool damaged = false;
  SUBCASE("empty") { test.put(2, {}); }
  SUBCASE("zeros") { test.put(2, Bytes(5000)); }
  SUBCASE("used before under another name") {
    test.put(2, FileBuilder(7).publish(9, "old").bytes());
  }
  SUBCASE("in the middle") {
    test.put(2, Bytes(5000));
    test.put(3, FileBuilder(3).publish(2, "b", 2).bytes());
    damaged = true;
  }
  SUBCASE("in the middle, with a name of old") {
    test.put(2, FileBuilder(7).publish(9, "old").bytes());
    test.put(3, FileBuilder(3).publish(2, "b", 2).bytes());
    damaged = true;
  }
  SUBCASE("of another version") {
    Bytes bytes = FileBuilder(2).publish(2, "b").bytes();
    bytes[11] = 2;  // and the checksum to it
    std::uint32_t crc = 0xffffffffU;
    for (std::size_t i = 0; i < kJournalHeaderSize - 4; ++i) {
      crc ^= bytes[i];
      for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xedb88320U : 0);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      bytes[kJournalHeaderSize - 4 + i] = static_cast<std::uint8_t>(~crc >> (24 - 8 * i));
    }
    test.put(2, bytes);
    damaged = true;
  }
  JournalsRead read = test.read();
  CHECK(read.unknown_damage == damaged);
  CHECK(read.report.size() == 1);
  CHECK(read.report[0].find("/journal/00000-0000000002") != std::string::npos);
  CHECK((read.report[0].find("not ready") != std::string::npos) != damaged);
  CHECK(bodies(read) == "1=a ");
  CHECK(read.last_file == (read.files.size() == 2 ? 2 : 3));
}

}  // namespace store_journal_reader_test
