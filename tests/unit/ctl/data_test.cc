// check_data and export_messages over data directories that are written here.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "broker/amqp/content_header.h"
#include "cluster/identity.h"
#include "cluster/metadata/commands_codec.h"
#include "cluster/raft/log_loader.h"
#include "queue/store/directory_name.h"
#include "queue/store/index_format.h"
#include "queue/store/journal_format.h"
#include "queue/store/journal_reader.h"
#include "queue/store/segment_format.h"
#include "tests/unit/ctl/fake_api.h"
#include "tests/unit/queue/store_fixture.h"

namespace ringtail::ctl::data_test {

namespace {

namespace metadata = cluster::metadata;
using queue::kNoExpiration;
using queue::store::ByteBuffer;
using queue::store::IndexState;
using queue::store::position_at;
using queue::store::SegmentState;
using queue::store::test::make;
using queue::store::test::Parts;
using runtime::Qid;

constexpr std::uint64_t kSalt = 7;

Parts parts(const std::string& body) {
  Parts made;
  made.key = "orders";
  made.properties = {0x10, 0, 2};  // delivery mode 2
  made.body = body;
  made.traits.persistent = true;
  return made;
}

// One with queue 42, `orders` of vhost `/`, that has nothing yet.
class Directory {
 public:
  Directory() {
    char pattern[] = "/tmp/ringtail-data-XXXXXX";
    path_ = mkdtemp(pattern);
    queue_ = path_ + "/queues/" + queue::store::directory_name("/", "orders").value();
    std::filesystem::create_directories(path_ + "/raft");
    std::filesystem::create_directories(path_ + "/journal");
    std::filesystem::create_directories(queue_);
    save(path_ + "/lock", "");
    save(path_ + "/node", cluster::encode(cluster::Identity{.node = {7}, .cluster = {1}}));
    save(path_ + "/raft/" + cluster::raft::kBallotFile, cluster::raft::encode_ballot({1, {7}}));
    metadata::DeclareQueue declare;
    declare.record.vhost = "/";
    declare.record.name = "orders";
    declare.record.durable = true;
    declare.record.home = {7};
    // Queues are numbered from 1: 41 others came and went.
    std::vector<metadata::Command> commands = {
        metadata::NodeUp{{.id = {7}, .name = "n@h", .shards = 1, .boot = 1}}};
    for (std::uint64_t qid = 1; qid < 42; ++qid) {
      commands.emplace_back(declare);
      commands.emplace_back(metadata::DeleteQueue{"/", "orders", Qid{qid}});
    }
    commands.emplace_back(declare);
    const std::string proposal = encode(metadata::Proposal{{7}, 0, 0, 0, std::move(commands)});
    const std::string configuration = cluster::raft::encode_configuration({{{7}, "7 n@h h 1"}});
    std::string operations;
    using cluster::raft::EntryKind;
    cluster::raft::append_entry(operations, 1, {1, EntryKind::kChange, configuration});
    cluster::raft::append_entry(operations, 2, {1, EntryKind::kCommand, proposal});
    const cluster::raft::LogHeader header{.number = 1, .salt = kSalt};
    std::string log = encode_header(header);
    append_record(log, header, 1, operations);
    save(cluster::raft::log_path(path_ + "/raft", 1), log);
    ByteBuffer identity;
    put_identity(identity, {Qid{42}, "/", "orders"});
    save(queue_ + "/queue", identity);
  }
  ~Directory() { std::filesystem::remove_all(path_); }

  const std::string& path() const { return path_; }
  std::string segment() const { return queue_ + "/0000000001.seg"; }
  std::string index() const { return queue_ + "/index"; }
  std::string journal() const { return queue::store::journal_path(path_ + "/journal", 0, 1); }

  static void save(const std::string& path, std::string_view content) {
    std::ofstream file(path, std::ios::binary);
    file.write(content.data(), static_cast<std::streamsize>(content.size()));
    REQUIRE(file.good());
  }
  static void save(const std::string& path, const ByteBuffer& content) {
    save(path, runtime::as_text(content.span()));
  }
  static void flip(const std::string& path, std::size_t offset) {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekg(static_cast<std::streamoff>(offset));
    const int octet = file.get();
    file.seekp(static_cast<std::streamoff>(offset));
    file.put(static_cast<char>(octet ^ 1));
    REQUIRE(file.good());
  }

  // Numbers 1 to 4 in a segment: 2 is removed, 3 transient. 1 was delivered. Then 5 in the journal,
  // which also has 4 removed and tells of 2 once more.
  void fill() {
    ByteBuffer bytes;
    put_segment_header(bytes, {Qid{42}, 0, 1, kSalt});
    for (std::uint64_t number = 1; number <= 4; ++number) {
      at_.push_back(bytes.size());
      Parts one = parts("body " + std::to_string(number));
      one.traits.persistent = number != 3;
      put_segment_record(bytes, kSalt, position_at(0, number), *make(one),
                         number == 1 ? 1'700'000'000'000 : kNoExpiration, false);
    }
    save(segment(), bytes);
    state_ = {.number = 1,
              .first = 1,
              .last = 4,
              .bytes = bytes.size(),
              .live = 2,
              .live_bytes = 12,
              .expiring = 1};
    state_.removed.add(2, 2);
    save_index();
    ByteBuffer journal_bytes;
    put_journal_header(journal_bytes, {0, 1, kSalt});
    queue::store::BatchWriter batch;
    batch.begin(kSalt, 1, journal_bytes.size());
    batch.begin_publish(Qid{42});
    batch.add(position_at(0, 2), *make(parts("body 2")), kNoExpiration, false);
    batch.add(position_at(0, 5), *make(parts("body \xff")), kNoExpiration, false);
    batch.end_publish();
    const queue::store::PositionRange removed{position_at(0, 4), position_at(0, 4)};
    batch.remove(Qid{42}, std::span(&removed, 1));
    batch.delivered(Qid{42}, position_at(0, 1));
    journal_bytes.append(batch.finish());
    save(journal(), journal_bytes);
  }
  void save_index() {
    IndexState state;
    state.covered = 4;
    state.next = 5;
    state.next_segment = 2;
    ByteBuffer bytes;
    put_index_header(bytes, {Qid{42}, kSalt});
    const SegmentState* const changed = &state_;
    put_index_commit(bytes, kSalt, std::span(&changed, 1), {}, state);
    save(index(), bytes);
  }
  SegmentState& state() { return state_; }
  std::size_t record(std::size_t number) const { return at_[number - 1]; }

 private:
  std::string path_;
  std::string queue_;
  SegmentState state_;
  std::vector<std::size_t> at_;  // where the segment's records begin
};

Ran check(const Directory& directory) {
  FakeApi api;
  return run(api, {"-q", "check_data", directory.path().c_str()});
}

Ran messages(const Directory& directory) {
  FakeApi api;
  return run(api, {"export_messages", directory.path().c_str(), "orders"});
}

bool has(const std::string& text, const std::string& part) {
  CAPTURE(text);
  CAPTURE(part);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("check_data: a directory without damage") {
  Directory directory;
  CHECK(check(directory).out ==
        directory.path() + ": 0 journals, 1 queues, 0 segments, 0 messages: no damage\n");
  directory.fill();
  const Ran ran = check(directory);
  CHECK(ran.code == 0);
  CHECK(ran.out ==
        directory.path() + ": 1 journals, 1 queues, 1 segments, 2 messages: no damage\n");
}

TEST_CASE("check_data: damage is told with file and offset") {
  Directory directory;
  directory.fill();
  SUBCASE("of a record of a segment, the others are looked at") {
    Directory::flip(directory.segment(), directory.record(2) + 12);
    Directory::flip(directory.segment(), directory.record(4) + 12);
    const Ran ran = check(directory);
    CHECK(ran.code == 1);
    for (const std::size_t number : {2U, 4U}) {
      CHECK(has(ran.out, "damage: " + directory.segment()));
      CHECK(has(ran.out, "offset " + std::to_string(directory.record(number))));
    }
    CHECK(has(ran.out, ": 2 damages\n"));
  }
  SUBCASE("of a segment that ends early") {
    std::filesystem::resize_file(directory.segment(), directory.record(4));
    const Ran ran = check(directory);
    CHECK(ran.code == 1);
    CHECK(has(ran.out, fmt::format("damage: {}: ends at offset {}", directory.segment(),
                                   directory.record(4))));
  }
  SUBCASE("of a segment that is not there") {
    std::filesystem::remove(directory.segment());
    const Ran ran = check(directory);
    CHECK(ran.code == 1);
    CHECK(has(ran.out, "damage: cannot open " + directory.segment()));
  }
  SUBCASE("of an index with other counts") {
    directory.state().live = 3;
    directory.save_index();
    const Ran ran = check(directory);
    CHECK(ran.code == 1);
    CHECK(has(ran.out, fmt::format("damage: {}: 2 messages are alive with 12 octets, 1 of them "
                                   "expire; {} says 3, 12 and 1\n",
                                   directory.segment(), directory.index())));
  }
  SUBCASE("of an index with numbers above those covered") {
    directory.state().last = 9;
    directory.save_index();
    CHECK(
        has(check(directory).out, "segment 1 has numbers up to 9, and those up to 4 are covered"));
  }
  SUBCASE("of an index") {
    Directory::flip(directory.index(), 12);
    const Ran ran = check(directory);
    CHECK(ran.code == 1);
    CHECK(has(ran.out, "damage: " + directory.index()));
  }
  SUBCASE("of the metadata, the queues are looked at by what they say of themselves") {
    const std::string log = cluster::raft::log_path(directory.path() + "/raft", 1);
    Directory::flip(log, 3);
    Directory::flip(directory.segment(), directory.record(1) + 12);
    const Ran ran = check(directory);
    CHECK(ran.code == 1);
    CHECK(has(ran.out, log));
    CHECK(has(ran.out, directory.segment()));
  }
  SUBCASE("of a journal: here of its header, which makes it one that was never used") {
    Directory::flip(directory.journal(), 3);
    const Ran ran = check(directory);
    CHECK(ran.code == 0);
    CHECK(has(ran.out, "note: " + directory.journal()));
  }
}

TEST_CASE("check_data: what is left over is no damage") {
  Directory directory;
  directory.fill();
  Directory::save(directory.segment() + ".other", "x");
  std::filesystem::create_directories(directory.path() + "/queues/ABC.gone-1-0-1");
  std::filesystem::create_directories(directory.path() + "/queues/ABC");
  const Ran ran = check(directory);
  CHECK(ran.code == 0);
  CHECK(has(ran.out, "note: " + directory.segment() + ".other: the index does not name it"));
  CHECK(has(ran.out, "ABC.gone-1-0-1: of a queue that was deleted"));
  CHECK(has(ran.out, "queues/ABC: there is no durable queue of this name"));
}

TEST_CASE("a node's directory is left alone while it runs") {
  Directory directory;
  const int lock = ::open((directory.path() + "/lock").c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(::flock(lock, LOCK_EX | LOCK_NB) == 0);
  for (const Ran& ran : {check(directory), messages(directory)}) {
    CHECK(ran.code == 2);
    CHECK(ran.out.empty());
    CHECK(has(ran.err, "a node runs on the data directory " + directory.path()));
  }
  ::close(lock);
  CHECK(check(directory).code == 0);
  std::filesystem::remove(directory.path() + "/lock");
  CHECK(has(check(directory).err, directory.path() + " is no data directory"));
}

TEST_CASE("export_messages: what a restart would find, in order") {
  Directory directory;
  directory.fill();
  const Ran ran = messages(directory);
  CHECK(ran.code == 0);
  CHECK(ran.err.empty());
  CHECK(ran.out ==
        R"({"number":1,"redelivered":true,"exchange":"","routing_key":"orders",)"
        R"("properties":{"delivery_mode":2},"expires_at":1700000000000,"payload_bytes":6,)"
        R"("payload":"body 1","payload_encoding":"string"})"
        "\n"
        R"({"number":5,"redelivered":false,"exchange":"","routing_key":"orders",)"
        R"("properties":{"delivery_mode":2},"payload_bytes":6,)"
        R"("payload":"Ym9keSD/","payload_encoding":"base64"})"
        "\n");
  FakeApi api;
  const std::string name = queue::store::directory_name("/", "orders").value();
  CHECK(run(api, {"export_messages", directory.path().c_str(), "--directory", name.c_str()}).out ==
        ran.out);
  CHECK(run(api, {"export_messages", directory.path().c_str(), "other"}).code == 2);
  CHECK(run(api, {"export_messages", directory.path().c_str()}).code == kExitUsage);
}

TEST_CASE("export_messages: properties are written out") {
  Directory directory;
  amqp::BasicProperties all;
  all.content_type = "text/plain";
  all.headers = amqp::FieldTable();
  all.headers->set("n", std::int32_t{5}).set("t", amqp::FieldTable().set("s", "x"));
  all.delivery_mode = 2;
  all.priority = 9;
  all.timestamp = 1700000000;
  Parts one = parts("");
  one.properties = all.encode();
  Parts other = parts("x");
  other.properties = "\xff";
  ByteBuffer bytes;
  put_journal_header(bytes, {0, 1, kSalt});
  queue::store::BatchWriter batch;
  batch.begin(kSalt, 1, bytes.size());
  batch.begin_publish(Qid{42});
  batch.add(position_at(1, 1), *make(one), kNoExpiration, true);
  batch.add(position_at(0, 2), *make(other), kNoExpiration, false);
  batch.end_publish();
  bytes.append(batch.finish());
  Directory::save(directory.journal(), bytes);
  const Ran ran = messages(directory);
  CHECK(ran.code == 0);
  CHECK(has(ran.out, R"({"number":2,"redelivered":false,"exchange":"","routing_key":"orders",)"
                     R"("properties":{"raw":"/w=="},)"));
  CHECK(has(ran.out, R"("properties":{"content_type":"text/plain","headers":{"n":5,"t":{"s":"x"}},)"
                     R"("delivery_mode":2,"priority":9,"timestamp":1700000000},"payload_bytes":0,)"
                     R"("payload":"","payload_encoding":"string"})"));
  CHECK(ran.out.find("\"number\":2") < ran.out.find("\"number\":1"));
}

TEST_CASE("export_messages: of a damaged queue what can be read") {
  Directory directory;
  directory.fill();
  Directory::flip(directory.segment(), directory.record(1) + 12);
  const Ran ran = messages(directory);
  CHECK(ran.code == 1);
  CHECK(has(ran.err, "damage: " + directory.segment()));
  CHECK(has(ran.out, "\"number\":5"));
  CHECK(!has(ran.out, "\"number\":1"));
}

}  // namespace ringtail::ctl::data_test
