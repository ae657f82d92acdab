// Journals: no bytes crash the scan or its payloads' readers, what is found lies in the file, and
// the memory of what is made stays in proportion to it.
#include <cstdint>
#include <span>
#include <vector>

#include "broker/runtime/check.h"
#include "broker/runtime/memory_gauge.h"
#include "queue/store/journal_format.h"
#include "tests/fuzz/queue_sums.h"

namespace {

using namespace ringtail::queue::store;
namespace fuzz = ringtail::fuzz;
using ringtail::runtime::MemoryGauge;
using ringtail::runtime::Status;

Status read(const JournalRecord& record, std::span<const std::uint8_t> file,
            std::vector<StoredMessage>& messages) {
  std::vector<PositionRange> ranges;
  switch (record.type) {
    case RecordType::kPublish:
      return read_publish(record, file, messages);
    case RecordType::kRemove:
      RT_TRY(read_remove(record, ranges));
      for (const PositionRange& range : ranges) {
        RT_CHECK(range.first <= range.last, "a range that ends before it begins");
        RT_CHECK(lane_of(range.first) == lane_of(range.last), "a range of two lanes");
      }
      return {};
    case RecordType::kDelivered:
      return read_delivered(record).status();
    case RecordType::kDeleted:
      return {};
  }
  RT_CHECK(false, "a type that is unknown");
}

void fix_records(fuzz::File& file, std::size_t at, std::size_t end, std::uint32_t salt,
                 std::uint8_t mode) {
  while (end - at >= kRecordHeaderSize) {
    const std::size_t size = fuzz::size_at(file, at, end - at - kRecordHeaderSize, mode);
    const std::uint32_t head = fuzz::sum(salt, file, at, 13);
    if ((mode & fuzz::kFixHeads) != 0) fuzz::put_word(file, at + 13, head);
    if ((mode & fuzz::kFixRecords) != 0) {
      fuzz::put_word(file, at + 17, fuzz::sum(head, file, at + kRecordHeaderSize, size));
    }
    at += kRecordHeaderSize + size;
  }
}

fuzz::File fixed(std::span<const std::uint8_t> input) {
  if (input.empty()) return {};
  const std::uint8_t mode = input[0];
  fuzz::File file(input.begin() + 1, input.end());
  fuzz::fix_header(file, kJournalHeaderSize, mode);
  std::size_t at = kJournalHeaderSize;
  const std::uint32_t salt = file.size() < at ? 0 : fuzz::sum(0, file, 24, 8);
  while (at <= file.size() && file.size() - at >= kBatchHeaderSize) {
    const std::size_t size = fuzz::size_at(file, at, file.size() - at - kBatchHeaderSize, mode);
    if ((mode & fuzz::kFixHeads) != 0) {
      fuzz::put_word(file, at + 16, fuzz::sum(salt, file, at, 16));
    }
    fix_records(file, at + kBatchHeaderSize, at + kBatchHeaderSize + size, salt, mode);
    at += kBatchHeaderSize + size;
  }
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t input_size) {
  const fuzz::File content = fixed({data, input_size});
  const std::span<const std::uint8_t> file(content);
  const std::size_t size = content.size();
  const std::int64_t before = MemoryGauge::total();
  {
    std::vector<StoredMessage> messages;
    const auto scan = scan_journal(file, "fuzz", [&](const JournalRecord& record) {
      RT_CHECK(record.offset + kRecordHeaderSize + record.payload.size() <= size,
               "a record behind the file's end");
      return read(record, file, messages);
    });
    for (const StoredMessage& message : messages) {
      RT_CHECK(number_of(message.position) > 0, "a message without a number");
      RT_CHECK(message.message && message.message->body_complete(), "half a message");
    }
    // A message costs its own header besides its bytes; the least of one is five of those.
    const auto limit =
        1024 + static_cast<std::int64_t>(size * (2 + sizeof(ringtail::queue::Message)));
    RT_CHECK(MemoryGauge::total() - before <= limit, "more memory than the file is worth");
    if (scan.ok()) {
      RT_CHECK(scan.value().end + scan.value().torn <= size, "the end lies behind the file's");
      for (const JournalDamage& damage : scan.value().damages) {
        RT_CHECK(damage.offset <= size && !damage.what.empty(), "a damage that is nowhere");
      }
    }
    // The readers of payloads see bytes that no checksum let through, too.
    JournalRecord record{RecordType::kPublish, {1}, 0, file};
    for (std::uint8_t type = 1; type <= 4; ++type) {
      record.type = static_cast<RecordType>(type);
      const std::size_t had = messages.size();
      const Status status = read(record, file, messages);
      RT_CHECK(status.ok() || messages.size() == had, "a bad record left messages");
    }
  }
  RT_CHECK(MemoryGauge::total() == before, "messages were lost");
  return 0;
}
