#include "queue/recovery.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "broker/runtime/check.h"
#include "broker/runtime/log.h"

namespace ringtail::queue {

using cluster::metadata::QueueRecord;
using runtime::Letter;
using runtime::LetterKind;
using runtime::log;
using runtime::LogLevel;
using runtime::Result;
using runtime::ShardId;
using runtime::Status;
using store::JournaledQueue;
using store::JournalsRead;

namespace {

// The recovery of every shard; beside the metadata's service, above every qid.
constexpr runtime::ActorId kRecoveryActor{(1ULL << 62) + 0x200};

// Queues of a shard whose files are read at the same time.
constexpr std::size_t kRestoredAtOnce = 32;
// Queues that are looked at in a turn: those that have nothing give their memory back at its end.
constexpr std::size_t kRestoredPerTurn = 1024;

// What a node has of a queue on its disk: under which number, and for which shard.
struct OnDisk {
  Qid stored;
  ShardId shard;
};
std::optional<OnDisk> on_disk(const QueueRecord& record, runtime::NodeId node) {
  if (!record.durable) return std::nullopt;
  if (record.view == nullptr) {
    return record.home == node ? std::optional<OnDisk>({record.qid, record.shard}) : std::nullopt;
  }
  for (const auto& member : record.view->members) {
    if (member.node != node || !member.in_sync) continue;
    return OnDisk{stored_as(record, member.joined).qid, member.shard};
  }
  return std::nullopt;
}

enum RecoveryLetterKind : LetterKind {
  kBegin = runtime::kQueueLetters + 0x80,
  kPart,
  kRestoreMore,
  kReady,
  kServe,
  kServing,
  kFormerLeft,
  kRemoveFormer,
  kFormerRemoved,
  kReleaseFiles,
};

}  // namespace

struct Recovery::Begin : Letter {
  Begin() : Letter(RecoveryLetterKind::kBegin) {}
};
// What one shard's journals say of the queues of another one.
struct Recovery::Part : Letter {
  Part() : Letter(kPart) {}
  Journaled queues;
};
struct Recovery::Ready : Letter {
  Ready() : Letter(kReady) {}
  Status status;
};
struct Recovery::RestoreMore : Letter {
  RestoreMore() : Letter(kRestoreMore) {}
};
struct Recovery::Serve : Letter {
  Serve() : Letter(kServe) {}
};
struct Recovery::Serving : Letter {
  Serving() : Letter(kServing) {}
};
struct Recovery::FormerLeft : Letter {
  FormerLeft() : Letter(kFormerLeft) {}
};
struct Recovery::RemoveFormer : Letter {
  RemoveFormer() : Letter(kRemoveFormer) {}
};
struct Recovery::FormerRemoved : Letter {
  FormerRemoved() : Letter(kFormerRemoved) {}
};
struct Recovery::ReleaseFiles : Letter {
  ReleaseFiles() : Letter(kReleaseFiles) {}
};

Recovery::Recovery(runtime::Shard& shard, std::uint16_t shards, const cluster::metadata::View& view,
                   QueueRegistry& queues, store::StoreShard& stores)
    : shard_(shard),
      shards_(shards),
      view_(view),
      queues_(queues),
      stores_(stores),
      self_(shard.add(kRecoveryActor, *this)) {
  stores_.set_starting(true);
}

Recovery::~Recovery() { shard_.remove(kRecoveryActor); }

runtime::Address Recovery::at(std::size_t shard_number) const {
  return {shard_.node(), ShardId{static_cast<std::uint16_t>(shard_number)}, kRecoveryActor};
}

void Recovery::start(std::function<void(const Status&)> done) {
  done_ = std::move(done);
  runtime::Disk& disk = shard_.env().disk();
  // What was paged out of queues that are gone now.
  Status status = disk.remove_tree(stores_.paged());
  if (status.ok()) status = disk.make_directory(stores_.journals());
  if (status.ok()) status = disk.make_directory(stores_.queues());
  if (status.ok()) status = disk.sync_directory(stores_.journals());
  if (status.ok()) status = stores_.remove_gone();
  if (!status.ok()) {
    std::exchange(done_, nullptr)(status);
    return;
  }
  for (std::size_t each = 0; each < shards_; ++each) {
    shard_.post(self_, at(each), std::make_unique<Begin>());
  }
}

void Recovery::receive(runtime::LetterPtr letter) noexcept {
  using runtime::letter_cast;
  switch (letter->kind) {
    case RecoveryLetterKind::kBegin:
      return begin();
    case kPart:
      return take(letter_cast<Part>(*letter));
    case kReady:
      return ready(letter_cast<Ready>(*letter));
    case kRestoreMore:
      more_posted_ = false;
      return restore_some();
    case kServe:
      return serve();
    case kServing:
      return serving();
    case kFormerLeft:
      return former_left();
    case kRemoveFormer:
      return remove_former();
    case kFormerRemoved:
      return former_removed();
    case kReleaseFiles:
      return stores_.journal().hold_files(false);
    default:
      RT_CHECK(false, "a letter that no recovery receives");
  }
}

// --- reading ------------------------------------------------------------------------------------

void Recovery::begin() {
  const auto known = store::journal_shards(shard_.env().disk(), stores_.journals());
  if (!known.ok()) return report(known.status());
  std::vector<std::uint16_t> mine;
  for (const std::uint16_t one : known.value()) {
    if (one % shards_ == shard_.id().value) mine.push_back(one);
  }
  reader_ = std::make_unique<store::JournalReader>(shard_.env(), stores_.journals(), mine);
  reader_->start([this](Result<JournalsRead> result) { read(std::move(result)); });
}

void Recovery::read(Result<JournalsRead> result) {
  if (!result.ok()) return report(result.status());
  JournalsRead& found = result.value();
  for (const std::string& line : found.report) log(LogLevel::kWarning, "storage", "{}", line);
  last_file_ = found.last_file;
  former_damaged_ = found.unknown_damage ||
                    std::any_of(found.queues.begin(), found.queues.end(),
                                [](const auto& queue) { return !queue.second.damage.empty(); });
  former_files_ = std::move(found.files);
  std::map<Qid, std::uint16_t> homes;
  if (!found.queues.empty()) {
    view_.for_each_queue([&](const std::shared_ptr<const QueueRecord>& record) {
      if (const auto here = on_disk(*record, shard_.node())) {
        homes.emplace(here->stored, here->shard.value);
      }
    });
  }
  std::vector<std::unique_ptr<Part>> parts;
  for (std::size_t each = 0; each < shards_; ++each) parts.push_back(std::make_unique<Part>());
  for (auto& [qid, journaled] : found.queues) {
    const auto home = homes.find(qid);
    if (home == homes.end()) continue;  // it was deleted
    parts[home->second]->queues.emplace(qid, std::move(journaled));
  }
  for (std::size_t each = 0; each < shards_; ++each) {
    shard_.post(self_, at(each), std::move(parts[each]));
  }
}

void Recovery::take(Part& part) {
  for (auto& [qid, journaled] : part.queues) {
    const auto [known, added] = journaled_.try_emplace(qid);
    if (added) {
      known->second = std::move(journaled);
    } else {
      known->second.merge(std::move(journaled));
    }
  }
  if (++parts_ < shards_) return;
  // The reader's work is over when every shard's is: its own part has come.
  reader_.reset();
  Qid at{0};
  do {
    at = queues_.visit_some(at, 4096, [this](QueueProcess& queue) {
      if (queue.record().durable && !queue.record().exclusive()) {
        waiting_.push_back(queue.record().qid);
      }
    });
  } while (at != Qid{0});
  restore_some();
}

void Recovery::restore_some() {
  if (more_posted_) return;
  restoring_some_ = true;
  std::size_t looked_at = 0;
  while (!waiting_.empty() && under_way_ < kRestoredAtOnce && looked_at++ < kRestoredPerTurn) {
    const Qid qid = waiting_.back();
    waiting_.pop_back();
    QueueProcess* queue = queues_.find(qid);
    if (queue == nullptr) continue;
    JournaledQueue journaled;
    const auto known = journaled_.find(queue->stored_qid());
    if (known != journaled_.end()) {
      journaled = std::move(known->second);
      journaled_.erase(known);
    }
    ++under_way_;
    queue->restore(std::move(journaled),
                   [this, qid](const Status& damage) { restored(qid, damage); });
  }
  restoring_some_ = false;
  if (looked_at > kRestoredPerTurn) {
    more_posted_ = true;
    shard_.post(self_, self_, std::make_unique<RestoreMore>());
  }
  if (!waiting_.empty() || under_way_ != 0) return;
  if (!unreadable_.ok()) return report(unreadable_);
  stores_.journal().hold_files(true);
  stores_.journal().open(last_file_, [this](const Status& status) { report(status); });
}

// A queue that is damaged answers for itself. One whose files could not be opened for want of
// something that may be had later must not look as if it were empty.
void Recovery::restored(Qid qid, const Status& damage) {
  if (damage.code() == runtime::Code::kUnavailable && unreadable_.ok()) unreadable_ = damage;
  const QueueProcess* queue = queues_.find(qid);
  if (queue != nullptr && queue->has_former_journals()) to_leave_.push_back(qid);
  --under_way_;
  // One that is restored at once calls from inside restore_some().
  if (!restoring_some_) restore_some();
}

void Recovery::report(const Status& status) {
  auto letter = std::make_unique<Ready>();
  letter->status = status;
  shard_.post(self_, at(0), std::move(letter));
}

void Recovery::ready(const Ready& letter) {
  if (failure_.ok()) failure_ = letter.status;
  if (++ready_ < shards_) return;
  if (!failure_.ok()) return std::exchange(done_, nullptr)(failure_);
  for (std::size_t each = 0; each < shards_; ++each) {
    shard_.post(self_, at(each), std::make_unique<Serve>());
  }
}

// On every shard, when all have what they had.
void Recovery::serve() {
  stores_.set_starting(false);
  queues_.serve();
  shard_.post(self_, at(0), std::make_unique<Serving>());
  leave_some();
}

void Recovery::serving() {
  if (++serving_ == shards_) std::exchange(done_, nullptr)({});
}

// --- the former journals ------------------------------------------------------------------------

void Recovery::leave_some() {
  if (std::exchange(leaving_some_, true)) return;
  while (!to_leave_.empty() && under_way_ < kRestoredAtOnce) {
    const Qid qid = to_leave_.back();
    to_leave_.pop_back();
    QueueProcess* queue = queues_.find(qid);
    if (queue == nullptr) continue;
    ++under_way_;
    queue->leave_former_journals([this] {
      --under_way_;
      if (under_way_ < kRestoredAtOnce / 2) leave_some();
    });
  }
  leaving_some_ = false;
  if (to_leave_.empty() && under_way_ == 0 && !left_reported_) {
    left_reported_ = true;
    shard_.post(self_, at(0), std::make_unique<FormerLeft>());
  }
}

void Recovery::former_left() {
  if (++left_ < shards_) return;
  for (std::size_t each = 0; each < shards_; ++each) {
    shard_.post(self_, at(each), std::make_unique<RemoveFormer>());
  }
}

void Recovery::remove_former() {
  runtime::Disk& disk = shard_.env().disk();
  for (const std::string& file : former_files_) {
    if (const Status status = give_up(file); !status.ok()) {
      log(LogLevel::kWarning, "storage", "a journal that is not needed stays: {}", status.text());
    }
  }
  former_files_.clear();
  if (const Status status = disk.sync_directory(stores_.journals()); !status.ok()) {
    log(LogLevel::kWarning, "storage", "journal files are kept: {}", status.text());
    return;
  }
  shard_.post(self_, at(0), std::make_unique<FormerRemoved>());
}

// What is damaged may still be of use to somebody.
Status Recovery::give_up(const std::string& file) {
  runtime::Disk& disk = shard_.env().disk();
  if (!former_damaged_) return disk.remove(file);
  const std::string to = stores_.set_aside() + "/journal-" + file.substr(file.rfind('/') + 1);
  RT_TRY(disk.make_directory(stores_.set_aside()));
  log(LogLevel::kWarning, "storage", "{} is set aside as {}", file, to);
  return disk.rename(file, to);
}

// On every shard: what a new journal removes cannot come back from a former one.
void Recovery::former_removed() {
  if (++removed_ < shards_) return;
  for (std::size_t each = 0; each < shards_; ++each) {
    shard_.post(self_, at(each), std::make_unique<ReleaseFiles>());
  }
}

}  // namespace ringtail::queue
