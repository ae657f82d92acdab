// The log as bytes: what is written is read back, a torn tail ends it, damage is named.
#include <doctest/doctest.h>
#include <zlib.h>

#include "cluster/metadata/log_file.h"
#include "tests/unit/cluster/saved_fixture.h"

using namespace ringtail;
using namespace ringtail::cluster::metadata;

namespace {

constexpr LogHeader kHeader{LogFileKind::kLog, 3, 0, 1, 0x1122334455667788ULL};

struct Read {
  runtime::Result<LogScan> scan;
  std::vector<std::string> payloads;
};

Read read(std::string_view content, std::optional<std::uint64_t> end = std::nullopt) {
  std::vector<std::string> payloads;
  auto scan = scan_log(content, LogFileKind::kLog, end, "x/log", [&](std::string_view payload) {
    payloads.emplace_back(payload);
    return runtime::Status();
  });
  return {std::move(scan), std::move(payloads)};
}

std::string three_records() {
  std::string content = encode_header(kHeader);
  append_record(content, kHeader, 1, LogRecordType::kChanges, "first");
  append_record(content, kHeader, 2, LogRecordType::kChanges, "");
  append_record(content, kHeader, 3, LogRecordType::kChanges, "the third");
  return content;
}

}  // namespace

TEST_CASE("records are read back in their order") {
  const std::string content = three_records();
  const Read all = read(content);
  REQUIRE(all.scan.ok());
  CHECK(all.payloads == std::vector<std::string>{"first", "", "the third"});
  CHECK(all.scan.value().end == content.size());
  CHECK(all.scan.value().torn == 0);
  CHECK(all.scan.value().header.number == 3);
  CHECK(all.scan.value().header.boot == 1);
}

// docs/FORMATS.md shows these bytes.
TEST_CASE("the bytes of a log") {
  PutVhost command{{.name = "v", .description = "d"}};
  ChangeEncoder encoder;
  encoder.changed(ChangeKind::kPut, &command.record);
  const LogHeader header{LogFileKind::kLog, 1, 0, 0, 7};
  std::string content = encode_header(header);
  append_record(content, header, 1, LogRecordType::kChanges, encoder.take());
  std::string hex;
  for (const char byte : content) {
    constexpr char kDigits[] = "0123456789abcdef";
    hex += kDigits[static_cast<unsigned char>(byte) >> 4];
    hex += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  CHECK(hex ==
        "52544d45544c4f47"
        "00000001"
        "0000000000000001"
        "0000000000000000"
        "0000000000000000"
        "0000000000000007"
        "7e871c3d"
        "0000000a"
        "3a528f63"
        "0000000000000001"
        "01"
        "0a0812060a0176120164");
}

TEST_CASE("a log cut off at any byte ends with its last whole record") {
  const std::string content = three_records();
  std::vector<std::size_t> ends = {kLogHeaderSize};
  for (const std::size_t size : {5U, 0U, 9U}) {
    ends.push_back(ends.back() + kLogRecordHeaderSize + size);
  }
  for (std::size_t cut = 0; cut <= content.size(); ++cut) {
    CAPTURE(cut);
    // What was not written may be missing, zeros or rubbish.
    for (const char filler : {'\0', '\x7f'}) {
      for (const std::size_t size : {cut, content.size()}) {
        std::string torn = content.substr(0, cut);
        torn.resize(size, filler);
        if (torn == content) continue;
        const Read found = read(torn);
        // A log has its name when it has its header.
        REQUIRE(found.scan.ok() == (cut >= kLogHeaderSize));
        if (cut < kLogHeaderSize) continue;
        const auto whole = std::upper_bound(ends.begin(), ends.end(), cut) - ends.begin() - 1;
        CHECK(found.payloads.size() == static_cast<std::size_t>(whole));
        CHECK(found.scan.value().end == ends[static_cast<std::size_t>(whole)]);
        CHECK(found.scan.value().torn == torn.size() - found.scan.value().end);
      }
    }
  }
}

TEST_CASE("damage before the last record is never taken for its end") {
  const std::string content = three_records();
  const std::size_t last = content.size() - kLogRecordHeaderSize - 9;
  for (std::size_t at = 0; at < last; ++at) {
    CAPTURE(at);
    std::string bad = content;
    bad[at] = static_cast<char>(bad[at] ^ 0x20);
    const Read found = read(bad);
    REQUIRE_FALSE(found.scan.ok());
    CHECK(found.scan.status().code() == runtime::Code::kCorrupt);
    CHECK(found.scan.status().text().find("x/log") != std::string::npos);
    CHECK(found.scan.status().text().find("offset") != std::string::npos);
  }
  // Where the next log says how far this one counts, nothing may be missing or wrong.
  for (std::size_t at = 0; at < content.size(); ++at) {
    std::string bad = content;
    bad[at] = static_cast<char>(bad[at] ^ 1);
    CHECK_FALSE(read(bad, content.size()).scan.ok());
    CHECK_FALSE(read(content.substr(0, at), content.size()).scan.ok());
  }
  CHECK(read(content + "rubbish", content.size()).payloads.size() == 3);
}

TEST_CASE("a file of a version to come is refused, not guessed at") {
  std::string content = encode_header(kHeader);
  content[11] = 9;
  const auto sum = static_cast<std::uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(content.data()), kLogHeaderSize - 4));
  for (int i = 0; i < 4; ++i) {
    content[kLogHeaderSize - 4 + static_cast<std::size_t>(i)] =
        static_cast<char>(sum >> (24 - 8 * i));
  }
  const Read found = read(content);
  REQUIRE_FALSE(found.scan.ok());
  CHECK(found.scan.status().text() == "x/log has format version 9; this node reads 1");
}

TEST_CASE("changes put together again give the records that the store has") {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    Store store(2);
    // As a node does it: an empty database, then commands.
    store.restore({});
    ChangeEncoder encoder;
    store.set_sink(&encoder);
    store.apply(PutVhost{{.name = "/"}});
    for (int i = 0; i < 800; ++i) store.apply(random_command(random, store));
    SavedStateBuilder builder;
    REQUIRE(builder.apply(encoder.bytes()).ok());
    Store other(3);
    SavedState saved = builder.finish();
    saved.first_qid = 1000;
    other.restore(saved);
    CHECK(saved_lines(other) == saved_lines(store));
    other.for_each_queue([&](const auto& record) {
      const auto before = store.queue(record->vhost, record->name);
      REQUIRE(before != nullptr);
      CHECK(before->options == record->options);
      CHECK((before->policy == nullptr) == (record->policy == nullptr));
      if (record->policy) CHECK(before->policy->definition == record->policy->definition);
    });
    DeclareQueue command;
    command.record.vhost = "/";
    command.record.name = "new";
    CHECK(other.apply(command).queue->qid.value == 1000);
  }
}

TEST_CASE("bytes that are no changes are refused") {
  SavedStateBuilder builder;
  CHECK(builder.apply("\x0a\xff").code() == runtime::Code::kCorrupt);
  CHECK(builder.apply(std::string("\x0a\x00", 2)).code() == runtime::Code::kCorrupt);
}
