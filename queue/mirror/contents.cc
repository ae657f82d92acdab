#include "queue/mirror/contents.h"

#include <algorithm>

#include "broker/runtime/check.h"
#include "broker/runtime/log.h"

namespace ringtail::queue {

using store::QueueStore;

namespace {

// What goes to the store in one turn, of a copy that joins.
constexpr std::size_t kStoredAtOnce = 2048;

}  // namespace

cluster::metadata::QueueRecord stored_as(const cluster::metadata::QueueRecord& record,
                                         std::uint64_t joined) {
  // A node's first copy of a queue has the queue's own number.
  constexpr unsigned kJoinedShift = 40;
  cluster::metadata::QueueRecord stored = record;
  if (joined > 1) stored.qid = runtime::Qid{record.qid.value | joined << kJoinedShift};
  return stored;
}

Contents::Contents(runtime::Shard& shard, const cluster::metadata::QueueRecord& stored_as,
                   store::StoreShard* stores, ContentsOwner& owner)
    : shard_(shard),
      stored_as_(stored_as),
      stores_(stores),
      owner_(owner),
      keeps_(stores != nullptr && stored_as.durable && !stored_as.exclusive()) {}

Contents::~Contents() = default;

// --- messages -----------------------------------------------------------------------------------

std::uint8_t Contents::lane_of(const Message& message) const {
  const std::uint8_t most = stored_as_.options.max_priority;
  const std::uint8_t priority = message.traits().has_priority ? message.traits().priority : 0;
  return static_cast<std::uint8_t>(most - std::min(priority, most));
}

Contents::Slot* Contents::find(std::uint64_t number) {
  const std::uint64_t at = number / kBlockSlots * kBlockSlots;
  if (last_block_ == nullptr || last_block_at_ != at) {
    const auto found = blocks_.find(at);
    if (found == blocks_.end()) return nullptr;
    last_block_ = found->second.get();
    last_block_at_ = at;
  }
  Slot& slot = last_block_->slots[number - at];
  return slot.message ? &slot : nullptr;
}

Contents::Slot& Contents::make(std::uint64_t number) {
  const std::uint64_t at = number / kBlockSlots * kBlockSlots;
  if (last_block_ == nullptr || last_block_at_ != at) {
    std::unique_ptr<Block>& block = blocks_[at];
    if (block == nullptr) block = std::make_unique<Block>();
    last_block_ = block.get();
    last_block_at_ = at;
  }
  ++last_block_->used;
  return last_block_->slots[number - at];
}

void Contents::take_out(std::uint64_t number, Slot& slot) {
  --size_;
  slot = {};
  const std::uint64_t at = number / kBlockSlots * kBlockSlots;
  const auto block = blocks_.find(at);
  if (--block->second->used > 0) return;
  last_block_ = nullptr;
  blocks_.erase(block);
}

void Contents::push(PublishedMessage message, bool in_order) {
  const std::uint64_t number = next_++;
  // One that joins may have got it from its donor already.
  if (find(number) == nullptr && !gone_.contains(number)) {
    Slot& slot = make(number);
    slot.lane = lane_of(*message.message);
    slot.terms = message.expires_at_ms == kNoExpiration || stores_ == nullptr
                     ? Terms()
                     : Terms::expiring_at(stores_->monotonic_of(message.expires_at_ms));
    ++size_;
    slot.message = std::move(message.message);
    if (in_order) store(number, slot);
  }
  if (in_order) stored_up_to_ = number;
}

void Contents::insert(KeptMessage message) {
  const std::uint64_t number = store::number_of(message.position);
  if (number <= stored_up_to_ || find(number) != nullptr || gone_.contains(number)) return;
  Slot& slot = make(number);
  slot.lane = store::lane_of(message.position);
  slot.terms = message.terms;
  ++size_;
  slot.message = std::move(message.message);
}

void Contents::remove(NumberRange numbers, bool remember) {
  if (remember) gone_.add(numbers.first, numbers.last);
  auto block = blocks_.lower_bound(numbers.first / kBlockSlots * kBlockSlots);
  while (block != blocks_.end() && block->first <= numbers.last) {
    const std::uint64_t first = std::max(numbers.first, block->first);
    const std::uint64_t last = std::min(numbers.last, block->first + kBlockSlots - 1);
    // Its last message takes the block with it.
    const std::uint64_t at = block->first;
    for (std::uint64_t number = first; number <= last; ++number) {
      Slot* slot = find(number);
      if (slot == nullptr) continue;
      if (store_ != nullptr && number <= stored_up_to_) {
        store_->removed(store::position_at(slot->lane, number), *slot->message, slot->terms);
      }
      take_out(number, *slot);
    }
    block = blocks_.upper_bound(at);
  }
}

void Contents::purge(std::uint64_t up_to, const std::vector<std::uint64_t>& kept, bool remember) {
  std::uint64_t from = 1;
  for (const std::uint64_t one : kept) {
    if (one > from) remove({from, one - 1}, remember);
    from = one + 1;
  }
  if (from <= up_to) remove({from, up_to}, remember);
}

void Contents::drain(const std::function<void(KeptMessage&)>& take) {
  for (auto& [at, block] : blocks_) {
    for (std::uint64_t slot_at = 0; slot_at < kBlockSlots; ++slot_at) {
      Slot& slot = block->slots[slot_at];
      if (!slot.message) continue;
      KeptMessage one{std::move(slot.message), store::position_at(slot.lane, at + slot_at),
                      slot.terms};
      take(one);
    }
  }
  blocks_.clear();
  last_block_ = nullptr;
  size_ = 0;
}

// --- the disk -----------------------------------------------------------------------------------

void Contents::store(std::uint64_t number, const Slot& slot) {
  if (!keeps_ || !slot.message->traits().persistent || !failure().ok()) return;
  if (store_ == nullptr) {
    store::StoreOwner& owner = *this;
    store_ = std::make_unique<QueueStore>(*stores_, stored_as_, owner);
  }
  store_->publish(store::position_at(slot.lane, number), *slot.message, slot.terms, false);
}

// About `limit` messages at most: a block is not divided.
void Contents::store_range(std::uint64_t up_to, std::size_t limit) {
  auto block = blocks_.lower_bound((stored_up_to_ + 1) / kBlockSlots * kBlockSlots);
  for (; block != blocks_.end() && block->first <= up_to; ++block) {
    if (limit == 0) {
      stored_up_to_ = std::max(stored_up_to_, block->first - 1);
      return;
    }
    for (std::uint64_t at = 0; at < kBlockSlots; ++at) {
      const std::uint64_t number = block->first + at;
      const Slot& slot = block->second->slots[at];
      if (slot.message && number > stored_up_to_ && number <= up_to) store(number, slot);
    }
    limit -= std::min(limit, block->second->used);
  }
  stored_up_to_ = std::max(stored_up_to_, up_to);
}

bool Contents::store_some() {
  if (next_ == 0) return false;
  if (stored_up_to_ + 1 < next_) store_range(next_ - 1, kStoredAtOnce);
  return stored_up_to_ + 1 < next_;
}

store::JournalPosition Contents::take_published() {
  if (store_ == nullptr) return 0;
  store_->end_publish();
  const store::JournalPosition position = store_->take_published();
  if (position != 0) store_->await();
  return position;
}

void Contents::note_delivered(std::uint64_t number) {
  if (store_ == nullptr || number == 0) return;
  for (std::size_t lane = 0; lane <= stored_as_.options.max_priority; ++lane) {
    store_->may_deliver(store::position_at(static_cast<std::uint8_t>(lane), number));
  }
}

void Contents::end_turn() {
  if (store_ == nullptr) return;
  store_->end_publish();
  store_->end_turn();
}

runtime::Status Contents::failure() const {
  return store_ == nullptr ? runtime::Status() : store_->failure();
}

void Contents::store_failed(const runtime::Status& why) noexcept {
  runtime::log(runtime::LogLevel::kError, "storage",
               "the mirror of queue '{}' in vhost '{}' is kept no more: {}", stored_as_.name,
               stored_as_.vhost, why.text());
}

void Contents::visit_above(std::uint64_t above, const Visit& visit) const {
  std::array<bool, 256> over{};
  for (auto block = blocks_.lower_bound((above + 1) / kBlockSlots * kBlockSlots);
       block != blocks_.end(); ++block) {
    for (std::uint64_t at = 0; at < kBlockSlots; ++at) {
      const Slot& slot = block->second->slots[at];
      const std::uint64_t number = block->first + at;
      if (!slot.message || number <= above || number > stored_up_to_ || over[slot.lane]) continue;
      const Entry entry(slot.message, store::position_at(slot.lane, number));
      over[slot.lane] = !visit(entry, slot.terms, Whereabouts::kWaiting);
    }
  }
}

void Contents::set_store(std::unique_ptr<QueueStore> store, std::uint64_t stored_up_to) {
  store_ = std::move(store);
  stored_up_to_ = stored_up_to;
  store::StoreOwner& owner = *this;
  if (store_ != nullptr) store_->set_owner(owner);
}

void Contents::erase() {
  if (store_ != nullptr) {
    store_->erase();
    store_.reset();
  } else if (keeps_) {
    stores_->remove_directory(stores_->directory_of(stored_as_.vhost, stored_as_.name, true));
  }
  drain([](KeptMessage&) {});
  gone_.clear();
  next_ = 1;
  stored_up_to_ = 0;
}

}  // namespace ringtail::queue
