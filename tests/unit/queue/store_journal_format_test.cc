// Journals as bytes: what was written is read back, a torn tail ends it, damage is told to whom it
// concerns and to nobody else.
#include <doctest/doctest.h>
#include <zlib.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "broker/runtime/memory_gauge.h"
#include "queue/store/journal_format.h"
#include "tests/unit/queue/store_damage.h"
#include "tests/unit/queue/store_fixture.h"

namespace store_journal_format_test {

using namespace ringtail;
using namespace ringtail::queue;
using namespace ringtail::queue::store;
using namespace ringtail::queue::store::test;

namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr JournalHeader kHeader{2, 7, 0x1122334455667788ULL};

// What one record said, as a line.
struct Seen {
  std::uint64_t offset;
  std::uint64_t qid;
  std::string text;
  bool operator==(const Seen&) const = default;
};

std::string text_of(const StoredMessage& message) {
  return std::to_string(message.position) + (message.delivered ? "d" : "") +
         (message.expires_at_ms == kNoExpiration ? "" : "e") + body_of(*message.message) + ";";
}

std::span<const std::uint8_t> behind(const Bytes& bytes, std::size_t at) {
  return std::span<const std::uint8_t>(bytes).subspan(at);
}

struct Read {
  runtime::Result<JournalScan> scan;
  std::vector<Seen> seen;
  std::vector<MessageRef> messages;
};

runtime::Status read_record(const JournalRecord& record, std::span<const std::uint8_t> file,
                            std::string& text, std::vector<MessageRef>& kept) {
  switch (record.type) {
    case RecordType::kPublish: {
      std::vector<StoredMessage> messages;
      RT_TRY(read_publish(record, file, messages));
      for (const StoredMessage& message : messages) {
        text += text_of(message);
        kept.push_back(message.message);
      }
      return {};
    }
    case RecordType::kRemove: {
      std::vector<PositionRange> ranges;
      RT_TRY(read_remove(record, ranges));
      for (const PositionRange& range : ranges) {
        text += std::to_string(range.first) + "-" + std::to_string(range.last) + ";";
      }
      return {};
    }
    case RecordType::kDelivered: {
      const auto position = read_delivered(record);
      if (!position.ok()) return position.status();
      text = "up to " + std::to_string(position.value());
      return {};
    }
    case RecordType::kDeleted:
      text = "deleted";
      return {};
  }
  return {};
}

Read read(std::span<const std::uint8_t> file) {
  std::vector<Seen> seen;
  std::vector<MessageRef> messages;
  auto scan = scan_journal(file, "j/7", [&](const JournalRecord& record) {
    std::string text;
    const runtime::Status status = read_record(record, file, text, messages);
    if (status.ok()) seen.push_back({record.offset, record.qid.value, text});
    return status;
  });
  return {std::move(scan), std::move(seen), std::move(messages)};
}

// A file with what its batches and records are.
struct File {
  struct Batch {
    std::size_t begin;
    std::vector<std::size_t> records;  // where each begins, and where the next would
  };
  Bytes bytes;
  std::vector<Batch> batches;
  std::vector<Seen> seen;  // all of it

  explicit File(const JournalHeader& with = kHeader) : header(with) {
    ByteBuffer out;
    put_journal_header(out, header);
    bytes = bytes_of(out);
  }
  void batch(const std::function<void(BatchWriter&)>& fill) {
    writer.begin(header.salt, batches.size() + 1, bytes.size());
    fill(writer);
    const auto added = writer.finish();
    Batch batch{bytes.size(), {}};
    bytes.insert(bytes.end(), added.begin(), added.end());
    for (std::size_t at = batch.begin + kBatchHeaderSize; at < bytes.size();) {
      batch.records.push_back(at);
      ByteReader size(behind(bytes, at));
      at += kRecordHeaderSize + size.get<std::uint32_t>();
    }
    batch.records.push_back(bytes.size());
    batches.push_back(batch);
  }

  JournalHeader header;
  BatchWriter writer;
};

File small() {
  File file;
  file.batch([](BatchWriter& batch) {
    batch.begin_publish({1});
    batch.add(position_at(0, 1), *make("one"), kNoExpiration, false);
    batch.add(position_at(4, 2), *make("two"), 1'700'000'000'000, true);
    batch.end_publish();
    const PositionRange ranges[] = {{position_at(2, 5), position_at(2, 9)}, {11, 11}};
    batch.remove({2}, ranges);
  });
  file.batch([](BatchWriter& batch) {
    const MessageRef shared = make("shared");
    const MessageRef other = shared;
    batch.begin_publish({3});
    batch.add(1, *make("before"), kNoExpiration, false);
    batch.add(2, *shared, kNoExpiration, false);
    batch.end_publish();
    batch.begin_publish({4});
    batch.add(8, *shared, kNoExpiration, false);
    batch.end_publish();
    batch.delivered({1}, position_at(4, 2));
  });
  file.batch([](BatchWriter& batch) {
    batch.deleted({5});
    batch.remove({1}, std::vector<PositionRange>{{1, 1}});
  });
  Read all = read(file.bytes);
  REQUIRE(all.scan.ok());
  file.seen = std::move(all.seen);
  return file;
}

// Those of `all` that begin in none of these ranges.
std::vector<Seen> without(const std::vector<Seen>& all,
                          const std::vector<std::pair<std::size_t, std::size_t>>& lost) {
  std::vector<Seen> left;
  for (const Seen& seen : all) {
    const bool gone = std::any_of(lost.begin(), lost.end(), [&](const auto& range) {
      return seen.offset >= range.first && seen.offset < range.second;
    });
    if (!gone) left.push_back(seen);
  }
  return left;
}

// After a change inside a record: makes its checksums right again.
void reseal(Bytes& bytes, std::size_t at, std::uint64_t salt) {
  ByteBuffer facts;
  facts.put(salt);
  facts.append(std::span(bytes).subspan(at, 13));
  const auto head = static_cast<std::uint32_t>(crc32_z(0, facts.data(), facts.size()));
  ByteReader in(behind(bytes, at));
  const auto size = in.get<std::uint32_t>();
  ByteBuffer sums;
  sums.put(head);
  sums.put(size == 0 ? head
                     : static_cast<std::uint32_t>(
                           crc32_z(head, bytes.data() + at + kRecordHeaderSize, size)));
  std::copy_n(sums.data(), sums.size(), bytes.begin() + static_cast<std::ptrdiff_t>(at) + 13);
}

}  // namespace

TEST_CASE("a journal gives back its records in their order") {
  const File file = small();
  const Read all = read(file.bytes);
  REQUIRE(all.scan.ok());
  const JournalScan& scan = all.scan.value();
  CHECK(scan.header.shard == 2);
  CHECK(scan.header.number == 7);
  CHECK(scan.header.salt == kHeader.salt);
  CHECK(scan.batches == 3);
  CHECK(scan.end == file.bytes.size());
  CHECK(scan.torn == 0);
  CHECK(scan.damages.empty());
  REQUIRE(all.seen.size() == 7);
  const Position two = position_at(4, 2);
  CHECK(all.seen[0].text == "1one;" + std::to_string(two) + "detwo;");
  CHECK(all.seen[1].text ==
        std::to_string(position_at(2, 5)) + "-" + std::to_string(position_at(2, 9)) + ";11-11;");
  CHECK(all.seen[2].text == "1before;2shared;");
  CHECK(all.seen[3].text == "8shared;");
  CHECK(all.seen[4].text == "up to " + std::to_string(two));
  CHECK(all.seen[5].text == "deleted");
  CHECK(all.seen[6].text == "1-1;");
  const std::vector<std::uint64_t> qids = {1, 2, 3, 4, 1, 5, 1};
  for (std::size_t i = 0; i < qids.size(); ++i) CHECK(all.seen[i].qid == qids[i]);
}

TEST_CASE("a message of many queues stands in a batch once, and is one again") {
  const std::int64_t before = runtime::MemoryGauge::total();
  {
    File file;
    const MessageRef shared = make(std::string(50'000, 's'));
    const MessageRef other = shared;
    for (int round = 0; round < 2; ++round) {
      file.batch([&](BatchWriter& batch) {
        for (std::uint64_t qid = 1; qid <= 100; ++qid) {
          batch.begin_publish({qid});
          batch.add(qid, *shared, kNoExpiration, false);
          batch.end_publish();
        }
      });
    }
    CHECK(file.bytes.size() < 2 * 60'000);
    CHECK(file.writer.size() > 50'000);
    const Read all = read(file.bytes);
    REQUIRE(all.scan.ok());
    CHECK(all.scan.value().damages.empty());
    REQUIRE(all.messages.size() == 200);
    std::set<const Message*> distinct;
    for (const MessageRef& message : all.messages) {
      CHECK(same(*message, *shared));
      distinct.insert(message.get());
    }
    CHECK(distinct.size() == 2);  // one for each batch
  }
  CHECK(runtime::MemoryGauge::total() == before);
}

TEST_CASE("a batch lets go of shared messages when it is finished") {
  MessageRef shared = make("shared");
  MessageRef other = shared;
  BatchWriter batch;
  batch.begin(1, 1, kJournalHeaderSize);
  batch.begin_publish({1});
  batch.add(1, *shared, kNoExpiration, false);
  batch.end_publish();
  other = MessageRef();
  CHECK(shared->shared());  // its address must not become another message's
  batch.finish();
  CHECK_FALSE(shared->shared());
}

TEST_CASE("random records come back as they were") {
  Random random(5);
  for (int run = 0; run < 30; ++run) {
    File file;
    std::vector<StoredMessage> written;
    for (std::uint64_t batches = 1 + random.below(4); batches > 0; --batches) {
      file.batch([&](BatchWriter& batch) {
        const MessageRef shared = random.message();
        const MessageRef other = shared;
        for (std::uint64_t records = 1 + random.below(5); records > 0; --records) {
          batch.begin_publish({1 + random.below(10)});
          std::uint64_t number = random.any_size() & (kNumberMask >> 1);
          for (std::uint64_t count = 1 + random.below(6); count > 0; --count) {
            number = random.chance(6) ? 1 + random.below(100) : number + 1 + random.below(50);
            const auto lane = static_cast<std::uint8_t>(random.chance(2) ? random.number() : 0);
            const std::uint64_t expires = random.chance(3) ? random.any_size() : kNoExpiration;
            written.push_back({position_at(lane, number), expires, random.chance(2),
                               random.chance(3) ? shared : random.message()});
            const StoredMessage& last = written.back();
            batch.add(last.position, *last.message, last.expires_at_ms, last.delivered);
          }
          batch.end_publish();
        }
      });
    }
    std::vector<StoredMessage> found;
    const auto scan = scan_journal(file.bytes, "j", [&](const JournalRecord& record) {
      return read_publish(record, file.bytes, found);
    });
    REQUIRE(scan.ok());
    CHECK(scan.value().damages.empty());
    REQUIRE(found.size() == written.size());
    for (std::size_t i = 0; i < found.size(); ++i) REQUIRE(same(found[i], written[i]));
  }
}

TEST_CASE("a journal cut off at any byte ends with its last whole batch") {
  const File file = small();
  File old({2, 1, 99});  // what stood in the file before
  for (int i = 0; i < 30; ++i) old.batch([](BatchWriter& batch) { batch.deleted({6}); });
  for (std::size_t cut = 0; cut <= file.bytes.size(); ++cut) {
    CAPTURE(cut);
    for (const int filler : {-1, 0, 1, 2}) {
      CAPTURE(filler);
      if (filler == 1 && cut < kJournalHeaderSize) continue;  // it may be the old one still
      Bytes torn(file.bytes.begin(), file.bytes.begin() + static_cast<std::ptrdiff_t>(cut));
      if (filler == 0) torn.resize(file.bytes.size() + 100);
      if (filler == 1)
        torn.insert(torn.end(), old.bytes.begin() + static_cast<std::ptrdiff_t>(cut),
                    old.bytes.end());
      if (filler == 2) torn.resize(file.bytes.size(), 0x7f);
      const Read found = read(torn);
      const std::size_t came = common(torn, file.bytes);  // the filler may be what is missing
      REQUIRE(found.scan.ok() == (came >= kJournalHeaderSize));
      if (!found.scan.ok()) continue;
      std::size_t whole = 0;
      while (whole < 3 && file.batches[whole].records.back() <= came) ++whole;
      const std::size_t end = whole < 3 ? file.batches[whole].begin : file.bytes.size();
      const JournalScan& scan = found.scan.value();
      CHECK(scan.batches == whole);
      CHECK(scan.end == end);
      CHECK(scan.damages.empty());
      CHECK(found.seen == without(file.seen, {{end, file.bytes.size()}}));
      const bool header_whole = whole < 3 && came >= end + kBatchHeaderSize;
      const std::size_t batch_end = whole < 3 ? file.batches[whole].records.back() : end;
      CHECK(scan.torn == (header_whole ? std::min(batch_end, torn.size()) - end : 0));
    }
  }
}

TEST_CASE("whatever is wrong in a journal is torn at its end and damage before, of whom it hit") {
  const File file = small();
  constexpr std::size_t kHeadSize = kRecordHeaderSize - 4;
  flip_everything(file.bytes, [&](const Bytes& bad, std::size_t at) {
    const Read found = read(bad);
    REQUIRE(found.scan.ok() == (at >= kJournalHeaderSize));
    if (!found.scan.ok()) {
      CHECK(found.scan.status().code() == runtime::Code::kCorrupt);
      CHECK(found.scan.status().text().find("j/7") != std::string::npos);
      return;
    }
    const JournalScan& scan = found.scan.value();
    std::size_t hit = 0;
    while (file.batches[hit].records.back() <= at) ++hit;
    const File::Batch& batch = file.batches[hit];
    const std::size_t end = batch.records.back();
    if (hit == 2) {
      CHECK(scan.damages.empty());
      CHECK(scan.end == batch.begin);
      CHECK(scan.torn == end - batch.begin);  // seen by its records if not by its header
      CHECK(found.seen == without(file.seen, {{batch.begin, end}}));
      return;
    }
    CHECK(scan.torn == 0);
    CHECK(scan.end == file.bytes.size());
    REQUIRE_FALSE(scan.damages.empty());
    if (at < batch.begin + kBatchHeaderSize) {
      REQUIRE(scan.damages.size() == 1);
      CHECK(scan.damages[0].qid.value == 0);
      CHECK(scan.damages[0].offset == batch.begin);
      CHECK(found.seen == without(file.seen, {{batch.begin, end}}));
      return;
    }
    std::size_t record = 0;
    while (batch.records[record + 1] <= at) ++record;
    const std::size_t begin = batch.records[record];
    CHECK(scan.damages[0].offset == begin);
    CHECK(scan.damages[0].what.find("j/7 is damaged at offset " + std::to_string(begin)) == 0);
    if (at < begin + kHeadSize) {
      REQUIRE(scan.damages.size() == 1);
      CHECK(scan.damages[0].qid.value == 0);
      CHECK(found.seen == without(file.seen, {{begin, end}}));
      return;
    }
    const auto whose = std::find_if(file.seen.begin(), file.seen.end(),
                                    [&](const Seen& seen) { return seen.offset == begin; });
    CHECK(scan.damages[0].qid.value == whose->qid);
    std::vector<std::pair<std::size_t, std::size_t>> lost = {{begin, batch.records[record + 1]}};
    if (whose->qid == 3) {  // the content of queue 4's message stands there
      REQUIRE(scan.damages.size() == 2);
      CHECK(scan.damages[1].qid.value == 4);
      lost.emplace_back(batch.records[record + 1], batch.records[record + 2]);
    } else {
      CHECK(scan.damages.size() == 1);
    }
    CHECK(found.seen == without(file.seen, lost));
  });
}

TEST_CASE("the header of a later batch is proof that the one before was whole") {
  const File file = small();
  Bytes bad = file.bytes;
  bad[file.batches[1].records[0] + kRecordHeaderSize] ^= 1;
  bad.resize(file.batches[2].begin + kBatchHeaderSize);  // nothing else of the last came
  const Read found = read(bad);
  REQUIRE(found.scan.ok());
  CHECK(found.scan.value().damages.size() == 2);
  CHECK(found.scan.value().batches == 2);
  CHECK(found.scan.value().torn == kBatchHeaderSize);
  bad.resize(file.batches[2].begin + kBatchHeaderSize - 1);
  const Read torn = read(bad);
  REQUIRE(torn.scan.ok());
  CHECK(torn.scan.value().damages.empty());
  CHECK(torn.scan.value().end == file.batches[1].begin);
}

TEST_CASE("two batches that are bad in a row are damage while a good one follows") {
  const File file = small();
  Bytes bad = file.bytes;
  for (const std::size_t batch : {0U, 1U}) bad[file.batches[batch].begin + 3] ^= 1;
  const Read found = read(bad);
  REQUIRE(found.scan.ok());
  REQUIRE(found.scan.value().damages.size() == 1);
  CHECK(found.scan.value().damages[0].qid.value == 0);
  CHECK(found.scan.value().damages[0].offset == kJournalHeaderSize);
  CHECK(found.scan.value().batches == 1);
  CHECK(found.scan.value().end == file.bytes.size());
  CHECK(found.seen == without(file.seen, {{0, file.batches[2].begin}}));
}

TEST_CASE("what a file held before under another salt is not looked at") {
  File old({2, 1, 99});
  for (int i = 0; i < 50; ++i) old.batch([](BatchWriter& batch) { batch.deleted({6}); });
  const File file = small();
  Bytes reused = old.bytes;
  REQUIRE(reused.size() > file.bytes.size());
  std::copy(file.bytes.begin(), file.bytes.end(), reused.begin());
  const Read found = read(reused);
  REQUIRE(found.scan.ok());
  CHECK(found.seen == file.seen);
  CHECK(found.scan.value().torn == 0);
  CHECK(found.scan.value().damages.empty());
  CHECK(found.scan.value().end == file.bytes.size());
}

TEST_CASE("records that are whole and say nothing are damage wherever they stand") {
  const File file = small();
  const File::Batch& last = file.batches[2];
  struct Change {
    std::size_t record, at;
    std::uint8_t octet;
    std::uint64_t qid;
  };
  const Change changes[] = {
      {last.records[0], 4, 9, 5},                                   // a type that is unknown
      {last.records[0], 4, 3, 5},                                   // a mark without a lane
      {last.records[1], kRecordHeaderSize + 1, 255, 1},             // a number that does not end
      {file.batches[1].records[1], kRecordHeaderSize, 64, 4},       // a head with an unknown bit
      {file.batches[1].records[1], kRecordHeaderSize + 2, 1, 4},    // a content that stands nowhere
      {file.batches[0].records[0], kRecordHeaderSize + 2, 128, 1},  // flags that are unknown
  };
  for (const Change& change : changes) {
    CAPTURE(change.record);
    CAPTURE(change.at);
    Bytes bad = file.bytes;
    bad[change.record + change.at] = change.octet;
    reseal(bad, change.record, kHeader.salt);
    const Read found = read(bad);
    REQUIRE(found.scan.ok());
    CHECK(found.scan.value().batches == 3);
    REQUIRE(found.scan.value().damages.size() == 1);
    CHECK(found.scan.value().damages[0].qid.value == change.qid);
    CHECK(found.scan.value().damages[0].offset == change.record);
    CHECK(found.seen == without(file.seen, {{change.record, change.record + 1}}));
  }
}

TEST_CASE("contents that overlap are not made twice") {
  // Each byte of the body might be taken for the beginning of a content.
  File file;
  const MessageRef body = make(std::string(2000, '\0') + std::string(3000, 'b'));
  const MessageRef other = body;
  file.batch([&](BatchWriter& batch) {
    batch.begin_publish({1});
    batch.add(1, *body, kNoExpiration, false);
    batch.end_publish();
    for (int i = 0; i < 200; ++i) {
      batch.begin_publish({2});
      batch.add(1, *body, kNoExpiration, false);
      batch.end_publish();
    }
  });
  // Every reference to another place inside the body.
  Bytes bad = file.bytes;
  for (std::size_t i = 1; i <= 200; ++i) {
    const std::size_t at = file.batches[0].records[i];
    ByteReader in(behind(bad, at + kRecordHeaderSize + 2));
    REQUIRE(in.get_varint() < 128);
    bad[at + kRecordHeaderSize + 2] = static_cast<std::uint8_t>(100 + i % 28);
    reseal(bad, at, kHeader.salt);
  }
  const Read found = read(bad);
  REQUIRE(found.scan.ok());
  std::set<const Message*> distinct;
  for (const MessageRef& message : found.messages) distinct.insert(message.get());
  CHECK(distinct.size() <= 7);
  CHECK_FALSE(found.scan.value().damages.empty());
}

TEST_CASE("numbers that do not ascend make a record of their own") {
  File file;
  file.batch([](BatchWriter& batch) {
    batch.begin_publish({1});
    batch.add(position_at(0, 9), *make("nine"), kNoExpiration, false);
    batch.add(position_at(1, 3), *make("three"), kNoExpiration, false);
    batch.add(position_at(1, 4), *make("four"), kNoExpiration, false);
    batch.end_publish();
    batch.remove({1}, {});
  });
  const Read found = read(file.bytes);
  REQUIRE(found.scan.ok());
  REQUIRE(found.seen.size() == 2);
  CHECK(found.seen[0].text == "9nine;");
  CHECK(found.seen[1].text ==
        std::to_string(position_at(1, 3)) + "three;" + std::to_string(position_at(1, 4)) + "four;");
}

TEST_CASE("a writer gives back the memory of a large batch and goes on") {
  BatchWriter batch;
  const MessageRef large = make(std::string(5'000'000, 'l'));
  for (int round = 0; round < 2; ++round) {
    batch.begin(1, 1, kJournalHeaderSize);
    CHECK(batch.empty());
    batch.begin_publish({1});
    batch.add(1, *large, kNoExpiration, false);
    batch.end_publish();
    batch.trim();  // not now
    CHECK(batch.finish().size() > 5'000'000);
    batch.trim();
    CHECK(batch.size() == 0);
  }
  batch.begin(1, 1, kJournalHeaderSize);
  batch.deleted({1});
  CHECK(batch.finish().size() == kBatchHeaderSize + kRecordHeaderSize);
}

}  // namespace store_journal_format_test
