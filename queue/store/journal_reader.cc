#include "queue/store/journal_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "queue/store/format_parts.h"
#include "queue/store/journal_parts.h"

namespace ringtail::queue::store {

namespace {

using runtime::Code;
using runtime::Result;
using runtime::Status;

constexpr std::size_t kShardDigits = 5;

struct JournalName {
  std::uint16_t shard = 0;
  std::uint64_t number = 0;
  friend auto operator<=>(const JournalName&, const JournalName&) = default;
};

template <typename Number>
bool parse_digits(std::string_view text, Number& number) {
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && at == end;
}

std::string file_name(const JournalName& name) {
  return fmt::format("{:05}-{:010}", name.shard, name.number);
}

// Nothing: the file is no journal's.
std::optional<JournalName> parse_name(const std::string& text) {
  JournalName name;
  const std::string_view all = text;
  if (all.size() <= kShardDigits || all[kShardDigits] != '-' ||
      !parse_digits(all.substr(0, kShardDigits), name.shard) ||
      !parse_digits(all.substr(kShardDigits + 1), name.number) || file_name(name) != text) {
    return std::nullopt;
  }
  return name;
}

// Ascending. A directory that is not there holds none.
Result<std::vector<JournalName>> list_journals(runtime::Disk& disk, const std::string& directory) {
  auto listed = disk.list(directory);
  std::vector<JournalName> names;
  if (listed.status().code() == Code::kNotFound) return names;
  RT_TRY(listed.status());
  for (const std::string& text : listed.value()) {
    if (const auto name = parse_name(text)) names.push_back(*name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool before(const StoredMessage& a, const StoredMessage& b) {
  return number_of(a.position) < number_of(b.position);
}

// In the order of their numbers, each once: as it was said last, and delivered if that was ever
// said.
void put_in_order(std::vector<StoredMessage>& messages) {
  const auto not_before = [](const StoredMessage& a, const StoredMessage& b) {
    return !before(a, b);
  };
  if (std::adjacent_find(messages.begin(), messages.end(), not_before) == messages.end()) return;
  std::stable_sort(messages.begin(), messages.end(), before);
  std::size_t kept = 0;
  for (std::size_t i = 1; i < messages.size(); ++i) {
    if (before(messages[kept], messages[i])) {
      ++kept;
      if (kept != i) messages[kept] = std::move(messages[i]);
    } else {
      const bool delivered = messages[kept].delivered;
      messages[kept] = std::move(messages[i]);
      messages[kept].delivered |= delivered;
    }
  }
  messages.resize(kept + 1);
}

// Walks the ranges of each lane beside the messages, which are in order.
class RemovedWalk {
 public:
  explicit RemovedWalk(const std::map<std::uint8_t, RangeSet>& removed) {
    for (const auto& [lane, set] : removed) {
      at_[lane] = {set.ranges().begin(), set.ranges().end()};
    }
  }
  bool has(Position position) {
    const auto found = at_.find(lane_of(position));
    if (found == at_.end()) return false;
    auto& [at, end] = found->second;
    const std::uint64_t number = number_of(position);
    while (at != end && at->second < number) ++at;
    return at != end && at->first <= number;
  }

 private:
  using Iterator = std::map<std::uint64_t, std::uint64_t>::const_iterator;
  std::map<std::uint8_t, std::pair<Iterator, Iterator>> at_;
};

void settle(JournaledQueue& queue) {
  if (queue.deleted) {
    queue.published = {};
    queue.removed.clear();
    queue.delivered.clear();
    return;
  }
  put_in_order(queue.published);
  if (queue.removed.empty()) return;
  RemovedWalk removed(queue.removed);
  std::erase_if(queue.published,
                [&](const StoredMessage& message) { return removed.has(message.position); });
}

void add_delivered(JournaledQueue& queue, std::uint8_t lane, std::uint64_t up_to) {
  std::uint64_t& mark = queue.delivered[lane];
  mark = std::max(mark, up_to);
}

}  // namespace

void JournaledQueue::merge(JournaledQueue other) {
  published.insert(published.end(), std::make_move_iterator(other.published.begin()),
                   std::make_move_iterator(other.published.end()));
  for (const auto& [lane, set] : other.removed) {
    for (const auto& [first, last] : set.ranges()) removed[lane].add(first, last);
  }
  for (const auto& [lane, up_to] : other.delivered) add_delivered(*this, lane, up_to);
  deleted |= other.deleted;
  if (damage.empty()) damage = std::move(other.damage);
  settle(*this);
}

Status add_record(const JournalRecord& record, std::span<const std::uint8_t> content,
                  JournaledQueue& queue) {
  switch (record.type) {
    case RecordType::kPublish:
      return read_publish(record, content, queue.published);
    case RecordType::kRemove: {
      std::vector<PositionRange> ranges;
      RT_TRY(read_remove(record, ranges));
      for (const PositionRange& range : ranges) {
        queue.removed[lane_of(range.first)].add(number_of(range.first), number_of(range.last));
      }
      return {};
    }
    case RecordType::kDelivered: {
      const auto up_to = read_delivered(record);
      RT_TRY(up_to.status());
      add_delivered(queue, lane_of(up_to.value()), number_of(up_to.value()));
      return {};
    }
    case RecordType::kDeleted:
      queue.deleted = true;
      return {};
  }
  return {Code::kCorrupt, "a record of no known type"};
}

JournaledQueue read_own_journal(std::span<const std::uint8_t> content, const std::string& path,
                                Qid qid) {
  JournaledQueue own;
  const auto scan = scan_journal(content, path, [&](const JournalRecord& record) {
    return record.qid == qid ? add_record(record, content, own) : Status();
  });
  if (!scan.ok()) {
    own.damage = scan.status().text();
  } else if (!scan.value().damages.empty()) {
    own.damage = scan.value().damages.front().what;
  }
  return own;
}

Result<std::vector<std::uint16_t>> journal_shards(runtime::Disk& disk,
                                                  const std::string& directory) {
  auto names = list_journals(disk, directory);
  RT_TRY(names.status());
  std::vector<std::uint16_t> shards;
  for (const JournalName& name : names.value()) {
    if (shards.empty() || shards.back() != name.shard) shards.push_back(name.shard);
  }
  return shards;
}

std::string journal_path(const std::string& directory, std::uint16_t shard, std::uint64_t number) {
  return directory + "/" + file_name({shard, number});
}

// --- reading -------------------------------------------------------------------------------------

struct JournalReader::State {
  State(runtime::Env& on, std::string in, std::vector<std::uint16_t> of)
      : env(on), directory(std::move(in)), shards(std::move(of)) {
    for (Slot& slot : slots) {
      slot.request.done = [this, &slot](const Status& status) { request_done(slot, status); };
    }
  }

  // A file on its way through: read, looked at, synced. While one is looked at the next is read.
  struct Slot {
    enum class Step : std::uint8_t { kFree, kReading, kRead, kSyncing };
    Step step = Step::kFree;
    std::unique_ptr<runtime::File> file;
    std::unique_ptr<std::uint8_t[]> buffer;
    std::size_t buffer_size = 0;
    runtime::DiskRequest request;
  };

  Status list();
  Slot& slot_of(std::size_t index) { return slots[index % slots.size()]; }
  void read(std::size_t index);
  void request_done(Slot& slot, const Status& status);
  void go_on();
  void scan(std::span<const std::uint8_t> content);
  Status check_header_of(std::span<const std::uint8_t> content) const;
  bool is_of_another_version(std::span<const std::uint8_t> content) const;
  void without_header(const Status& why, bool was_in_use);
  void torn_before(const JournalScan& scan);
  Status take(const JournalRecord& record, std::span<const std::uint8_t> file);
  JournaledQueue& queue(Qid qid);
  void damaged(const JournalDamage& damage);
  void end(const Status& status);
  // The file behind it in the same life of the node: while one is made ready its predecessor may
  // still be written. A life leaves out the number behind the last one before it.
  bool has_successor() const {
    return at + 1 < names.size() &&
           names[at + 1] == JournalName{names[at].shard, names[at].number + 1};
  }
  std::string path() const { return journal_path(directory, names[at].shard, names[at].number); }

  runtime::Env& env;
  const std::string directory;
  const std::vector<std::uint16_t> shards;
  std::function<void(Result<JournalsRead>)> done;

  std::vector<JournalName> names;
  std::size_t at = 0;
  std::array<Slot, 2> slots;
  Status failure;

  JournalsRead found;
  std::unordered_map<Qid, JournaledQueue> queues;
  JournaledQueue* last_queue = nullptr;
  Qid last_qid;
  std::string torn;  // path of the file before this one, when it is torn and has this successor
};

Status JournalReader::State::list() {
  auto all = list_journals(env.disk(), directory);
  RT_TRY(all.status());
  for (const JournalName& name : all.value()) {
    if (std::find(shards.begin(), shards.end(), name.shard) == shards.end()) continue;
    names.push_back(name);
    found.files.push_back(journal_path(directory, name.shard, name.number));
    found.last_file = std::max(found.last_file, name.number);
  }
  return {};
}

void JournalReader::State::read(std::size_t index) {
  if (index >= names.size() || !failure.ok()) return;
  Slot& slot = slot_of(index);
  const JournalName& name = names[index];
  auto opened =
      env.disk().open(journal_path(directory, name.shard, name.number), runtime::OpenMode::kRead);
  if (!opened.ok()) {
    failure = opened.status();
    return;
  }
  slot.file = std::move(opened).value();
  const auto size = static_cast<std::size_t>(slot.file->size());
  if (size > slot.buffer_size || slot.buffer == nullptr) {
    // NOLINTNEXTLINE: not make_unique, which would clear it
    slot.buffer.reset(new std::uint8_t[size + 1]);
    slot.buffer_size = size;
  }
  slot.request.buffer = {slot.buffer.get(), size};
  slot.step = Slot::Step::kReading;
  slot.file->read_at(slot.request);
}

void JournalReader::State::request_done(Slot& slot, const Status& status) {
  if (!status.ok() && failure.ok()) failure = status;
  if (slot.step == Slot::Step::kReading) {
    slot.step = Slot::Step::kRead;
  } else {
    slot.step = Slot::Step::kFree;
    slot.file.reset();
    ++at;
  }
  go_on();
}

// Ends when no request is under way any more.
void JournalReader::State::go_on() {
  Slot& slot = slot_of(at);
  if (failure.ok() && at < names.size()) {
    if (slot.step == Slot::Step::kFree) read(at);
    if (slot.step == Slot::Step::kRead) {
      read(at + 1);
      scan(slot.request.buffer.first(static_cast<std::size_t>(slot.request.transferred)));
      // What is taken for kept from here on may only have been written.
      slot.step = Slot::Step::kSyncing;
      slot.file->sync(slot.request);
    }
  }
  const bool under_way = std::any_of(slots.begin(), slots.end(), [](const Slot& one) {
    return one.step == Slot::Step::kReading || one.step == Slot::Step::kSyncing;
  });
  if (!under_way) end(failure);
}

void JournalReader::State::scan(std::span<const std::uint8_t> content) {
  const auto take_record = [&](const JournalRecord& record) { return take(record, content); };
  if (const Status good = check_header_of(content); !good.ok()) {
    return without_header(good, has_successor() || is_of_another_version(content));
  }
  auto scanned = scan_journal(content, path(), take_record);
  if (!scanned.ok()) return without_header(scanned.status(), true);
  const JournalScan& result = scanned.value();
  torn_before(result);
  for (const JournalDamage& damage : result.damages) damaged(damage);
  if (result.torn == 0) return;
  found.report.push_back(fmt::format("{}: the last write was cut off: {} bytes at {}", path(),
                                     result.torn, result.end));
  if (has_successor()) torn = path();
}

// A file that was used before, and was given its new name but not its new header yet, is not this
// one; nothing of it may be read as if it were.
Status JournalReader::State::check_header_of(std::span<const std::uint8_t> content) const {
  RT_TRY(check_header(content, kJournalMagic, kJournalHeaderSize, kJournalVersion, path()));
  const JournalName named{number_at<std::uint16_t>(content, kJournalShardAt),
                          number_at<std::uint64_t>(content, kJournalNumberAt)};
  if (named == names[at]) return {};
  return {Code::kCorrupt, fmt::format("{}: its header is that of {}", path(), file_name(named))};
}

// A whole header that this node does not understand: the file was in use.
bool JournalReader::State::is_of_another_version(std::span<const std::uint8_t> content) const {
  if (content.size() < kJournalHeaderSize) return false;
  const auto version = number_at<std::uint32_t>(content, kJournalMagic.size());
  return version != kJournalVersion &&
         check_header(content, kJournalMagic, kJournalHeaderSize, version, path()).ok();
}

// Nothing was written to this file before all of the one before it was synced.
void JournalReader::State::torn_before(const JournalScan& scan) {
  const std::string before_it = std::exchange(torn, {});
  if (before_it.empty() || scan.batches == 0) return;
  damaged({0, before_it + ": its end is damaged, since " + path() + " goes on behind it", Qid{}});
}

void JournalReader::State::without_header(const Status& why, bool was_in_use) {
  torn.clear();
  if (was_in_use) {
    damaged({0, why.text(), Qid{}});
  } else {
    found.report.push_back(
        fmt::format("{}; it is left out, as one that was not ready for use", why.text()));
  }
}

JournaledQueue& JournalReader::State::queue(Qid qid) {
  if (last_queue == nullptr || last_qid != qid) {
    last_queue = &queues[qid];
    last_qid = qid;
  }
  return *last_queue;
}

Status JournalReader::State::take(const JournalRecord& record,
                                  std::span<const std::uint8_t> content) {
  return add_record(record, content, queue(record.qid));
}

void JournalReader::State::damaged(const JournalDamage& damage) {
  found.report.push_back(damage.what);
  if (damage.qid == Qid{}) {
    found.unknown_damage = true;
  } else if (std::string& text = queue(damage.qid).damage; text.empty()) {
    text = damage.what;
  }
}

void JournalReader::State::end(const Status& status) {
  for (Slot& slot : slots) {
    slot.file.reset();
    slot.buffer.reset();
  }
  const auto tell = std::exchange(done, nullptr);
  if (!status.ok()) return tell(status);
  for (auto& [qid, queue] : queues) {
    settle(queue);
    found.queues.emplace(qid, std::move(queue));
  }
  tell(std::move(found));
}

JournalReader::JournalReader(runtime::Env& env, std::string directory,
                             std::vector<std::uint16_t> shards)
    : state_(std::make_unique<State>(env, std::move(directory), std::move(shards))) {}

JournalReader::~JournalReader() = default;

void JournalReader::start(std::function<void(Result<JournalsRead>)> done) {
  state_->done = std::move(done);
  if (const Status listed = state_->list(); !listed.ok()) return state_->end(listed);
  state_->go_on();
}

}  // namespace ringtail::queue::store
