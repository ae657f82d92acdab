// A slave's copy of a queue: its messages by number, and what of them is on the disk. It has no
// consumers, and nothing happens to it but what the master says. All of it is in memory.
//
// A copy that joins gets older messages and, at the same time, those that are new. To the disk they
// go in the order of their numbers: up to stored_up_to() all that is alive is in the store, and
// what is above gets there when what lies before has come.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "broker/runtime/shard.h"
#include "cluster/metadata/records.h"
#include "queue/message.h"
#include "queue/mirror/changes.h"
#include "queue/store/queue_store.h"
#include "queue/terms.h"

namespace ringtail::queue {

// A message of a queue outside of the order in which it is delivered.
struct KeptMessage {
  MessageRef message;
  Position position = 0;
  Terms terms;
};

// The record of a copy as its store has it: a copy that began anew has files of its own, so that
// what a former one left behind is never taken for its.
cluster::metadata::QueueRecord stored_as(const cluster::metadata::QueueRecord& record,
                                         std::uint64_t joined);

class ContentsOwner {
 public:
  // More is on the disk, or nothing more ever will be.
  virtual void contents_kept() noexcept = 0;

 protected:
  ~ContentsOwner() = default;
};

// Owned by its mirrored queue, on its shard.
class Contents final : private store::StoreOwner {
 public:
  // `stores`: null where nothing is kept on a disk. `stored_as`: the record under the number that
  // its files have.
  Contents(runtime::Shard& shard, const cluster::metadata::QueueRecord& stored_as,
           store::StoreShard* stores, ContentsOwner& owner);
  ~Contents();
  Contents(const Contents&) = delete;
  Contents& operator=(const Contents&) = delete;

  // The number that the next message gets; 0: it is not known yet.
  std::uint64_t next() const { return next_; }
  void set_next(std::uint64_t next) { next_ = next; }

  // The next message. `in_order`: nothing before it is missing, so that it goes to the disk.
  void push(PublishedMessage message, bool in_order);
  // An older one, of a copy that joins: in the order of their numbers.
  void insert(KeptMessage message);
  // What has left stays away, whatever comes later of a copy that joins (`remember`).
  void remove(NumberRange numbers, bool remember);
  void purge(std::uint64_t up_to, const std::vector<std::uint64_t>& kept, bool remember);
  // A copy that joins has all up to there.
  void came_up_to(std::uint64_t number) { store_range(number, SIZE_MAX); }
  // Puts some of what is above stored_up_to() into the store; false: there is no more.
  bool store_some();
  std::uint64_t stored_up_to() const { return stored_up_to_; }
  // Nothing is missing any more: what had left need not be remembered.
  void completed() { gone_.clear(); }

  // When what was pushed since the last call is on the disk; 0: nothing of it goes there.
  store::JournalPosition take_published();
  // All up to there is.
  store::JournalPosition kept() const { return store_ == nullptr ? 0 : store_->kept(); }
  runtime::Status failure() const;
  // Messages up to this number may have been delivered: for a restart.
  void note_delivered(std::uint64_t number);
  void end_turn();

  std::size_t size() const { return size_; }
  // All messages in the order of their numbers; takes them out.
  void drain(const std::function<void(KeptMessage&)>& take);
  // The store goes on under another owner; null: there is none. Only behind drain().
  std::unique_ptr<store::QueueStore> take_store() { return std::move(store_); }
  void set_store(std::unique_ptr<store::QueueStore> store, std::uint64_t stored_up_to);
  // All of it goes, on the disk too.
  void erase();

 private:
  struct Slot {
    MessageRef message;
    Terms terms;
    std::uint8_t lane = 0;
  };
  static constexpr std::uint64_t kBlockSlots = 256;
  struct Block {
    std::array<Slot, kBlockSlots> slots;
    std::size_t used = 0;
  };

  Slot* find(std::uint64_t number);
  Slot& make(std::uint64_t number);
  void take_out(std::uint64_t number, Slot& slot);
  void store(std::uint64_t number, const Slot& slot);
  void store_range(std::uint64_t up_to, std::size_t limit);
  std::uint8_t lane_of(const Message& message) const;

  // --- StoreOwner ---
  void visit_above(std::uint64_t above, const Visit& visit) const override;
  std::uint64_t last_number() const override { return stored_up_to_; }
  void store_kept() noexcept override { owner_.contents_kept(); }
  void store_moved() noexcept override {}
  void store_loaded(std::uint8_t, std::vector<store::StoredMessage>&) noexcept override {}
  void store_failed(const runtime::Status& why) noexcept override;

  runtime::Shard& shard_;
  const cluster::metadata::QueueRecord stored_as_;
  store::StoreShard* const stores_;
  ContentsOwner& owner_;
  const bool keeps_;                                        // persistent messages go to the disk
  std::map<std::uint64_t, std::unique_ptr<Block>> blocks_;  // by the first of their numbers
  Block* last_block_ = nullptr;
  std::uint64_t last_block_at_ = 0;
  std::uint64_t next_ = 1;
  std::uint64_t stored_up_to_ = 0;
  store::RangeSet gone_;  // numbers, of a copy that joins
  std::size_t size_ = 0;
  std::unique_ptr<store::QueueStore> store_;
};

}  // namespace ringtail::queue
