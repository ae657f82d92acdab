#include "broker/runtime/mailbox.h"

#include <atomic>
#include <boost/lockfree/spsc_queue.hpp>
#include <utility>

#include "broker/runtime/buggify.h"
#include "broker/runtime/check.h"
#include "broker/runtime/fence.h"

namespace ringtail::runtime {

struct Mailboxes::Pair {
  // The sender's: what is not in the ring yet, from outbox_head on.
  std::vector<PostedLetter> outbox;
  std::size_t outbox_head = 0;
  bool unflushed = false;  // listed in unflushed_
  // Set by the sender when the ring is full, taken back by whoever finds room first.
  alignas(64) std::atomic<bool> sender_waits{false};
  boost::lockfree::spsc_queue<PostedLetter, boost::lockfree::capacity<kMailboxCapacity>> ring;
};

Mailboxes::Pair& Mailboxes::pair(ShardId from, ShardId to) {
  return *pairs_[from.value * shards_ + to.value];
}

Mailboxes::Mailboxes(std::size_t shards) : shards_(shards), unflushed_(shards), wakers_(shards) {
  RT_CHECK(shards > 0, "a node without shards");
  pairs_.resize(shards * shards);
  for (std::size_t from = 0; from < shards; ++from) {
    for (std::size_t to = 0; to < shards; ++to) {
      // Not make_unique, which would touch every page of the ring to make it zero.
      if (from != to) pairs_[from * shards + to] = std::unique_ptr<Pair>(new Pair);
    }
  }
}

Mailboxes::~Mailboxes() {
  for (const std::unique_ptr<Pair>& pair : pairs_) {
    if (pair == nullptr) continue;
    PostedLetter posted;
    while (pair->ring.pop(posted)) delete posted.letter;
    for (std::size_t i = pair->outbox_head; i < pair->outbox.size(); ++i) {
      delete pair->outbox[i].letter;
    }
  }
}

void Mailboxes::set_waker(ShardId id, Waker* waker) { wakers_[id.value] = waker; }

void Mailboxes::put(ShardId from, ShardId to, ActorId actor, LetterPtr letter) {
  RT_CHECK(to.value < shards_ && to != from, "a letter to no other shard of this node");
  Pair& target = pair(from, to);
  target.outbox.push_back({actor, letter.release()});
  if (!target.unflushed) {
    target.unflushed = true;
    unflushed_[from.value].receivers.push_back(to);
  }
}

bool Mailboxes::push(Pair& pair) {
  const PostedLetter* const first = pair.outbox.data() + pair.outbox_head;
  const PostedLetter* const last = pair.outbox.data() + pair.outbox.size();
  // At times the ring is as good as full. One letter goes, if there is room: who takes it wakes us.
  const PostedLetter* const end = first != last && RT_BUGGIFY(0.3) ? first + 1 : last;
  const PostedLetter* const rest = pair.ring.push(first, end);
  pair.outbox_head += static_cast<std::size_t>(rest - first);
  if (rest == last) {
    pair.outbox.clear();
    pair.outbox_head = 0;
  } else if (pair.outbox_head >= kMailboxCapacity) {
    pair.outbox.erase(pair.outbox.begin(),
                      pair.outbox.begin() + static_cast<std::ptrdiff_t>(pair.outbox_head));
    pair.outbox_head = 0;
  }
  return rest != first;
}

bool Mailboxes::flush(ShardId from) {
  std::vector<ShardId>& receivers = unflushed_[from.value].receivers;
  std::size_t waiting = 0;
  for (const ShardId to : receivers) {
    Pair& target = pair(from, to);
    bool pushed = push(target);
    if (!target.outbox.empty()) {
      // The receiver may have drained since without seeing that we wait: it either sees the flag
      // after its last take, or we see the room it made after setting the flag.
      target.sender_waits.store(true, std::memory_order_relaxed);
      store_load_fence();
      pushed |= push(target);
    }
    if (pushed) wakers_[to.value]->wake();
    if (target.outbox.empty()) {
      target.unflushed = false;
    } else {
      receivers[waiting++] = to;
    }
  }
  receivers.resize(waiting);
  return waiting > 0;
}

bool Mailboxes::take(ShardId to, ShardId from, PostedLetter& out) {
  return pair(from, to).ring.pop(out);
}

void Mailboxes::drained(ShardId to) {
  store_load_fence();
  for (std::size_t from = 0; from < shards_; ++from) {
    if (from == to.value) continue;
    std::atomic<bool>& waits = pairs_[from * shards_ + to.value]->sender_waits;
    // The plain look first: the exchange would take the cache line from the sender every time.
    if (waits.load(std::memory_order_relaxed) && waits.exchange(false, std::memory_order_relaxed)) {
      wakers_[from]->wake();
    }
  }
}

}  // namespace ringtail::runtime
