#include "broker/runtime/shard.h"

#include "broker/runtime/buggify.h"
#include "broker/runtime/limits.h"
#include "broker/runtime/mailbox.h"

namespace ringtail::runtime {

namespace {

// Letters that the run queue keeps room for; a burst beyond it gives its memory back.
constexpr std::size_t kRunQueueKept = 4096;

}  // namespace

Shard::Shard(NodeId node, ShardId id, Env& env, Mailboxes& mailboxes)
    : node_(node), id_(id), env_(env), mailboxes_(mailboxes) {
  RT_CHECK(id.value < mailboxes.shards(), "a shard without a mailbox");
}

Shard::~Shard() = default;

Address Shard::add(Actor& actor) { return add(ActorId{kInventedActorBit | next_actor_++}, actor); }

Address Shard::add(ActorId id, Actor& actor) {
  owner_.check();
  const bool added = actors_.emplace(id, &actor).second;
  RT_CHECK(added, "actor id in use");
  return {node_, id_, id};
}

void Shard::remove(ActorId id) {
  owner_.check();
  actors_.erase(id);
}

void Shard::post(const Address& from, const Address& to, LetterPtr letter) {
  owner_.check();
  letter->from = from;
  if (to.node != node_) {
    RT_CHECK(remote_ != nullptr, "a letter to another node, and there is none");
    remote_->post(to, std::move(letter));
  } else if (to.shard == id_) {
    run_queue_.push_back({to.actor, std::move(letter)});
  } else {
    mailboxes_.put(id_, to.shard, to.actor, std::move(letter));
  }
}

bool Shard::run_turn() {
  owner_.check();
  for (int round = 0; round < kRoundsPerTurn; ++round) {
    bool busy = deliver_letters();
    busy |= run(batches_);
    busy |= run(output_);
    mailboxes_.flush(id_);
    if (!busy) return false;
    if (RT_BUGGIFY(0.2)) return true;  // sockets and timers in between
  }
  return true;
}

bool Shard::deliver_letters() {
  // Letters posted by a letter's handler belong to the next round: what lies in the run queue now
  // is set aside before anything is received.
  running_.swap(run_queue_);
  const bool any_mail = deliver_mail();
  const bool any_own = !running_.empty();
  for (Posted& posted : running_) deliver(posted.to, std::move(posted.letter));
  running_.clear();
  if (running_.capacity() > kRunQueueKept) std::vector<Posted>().swap(running_);
  return any_mail || any_own;
}

// Takes at most a ringful from each sender, so that a fast sender cannot hold the turn.
bool Shard::deliver_mail() {
  const std::size_t shards = mailboxes_.shards();
  if (shards == 1) return false;
  bool any = false;
  for (std::size_t sender = 0; sender < shards; ++sender) {
    if (sender == id_.value) continue;
    const ShardId from{static_cast<std::uint16_t>(sender)};
    PostedLetter posted;
    const std::size_t most = RT_BUGGIFY(0.3) ? 1 : kMailboxCapacity;
    for (std::size_t i = 0; i < most && mailboxes_.take(id_, from, posted); ++i) {
      deliver(posted.to, LetterPtr(posted.letter));
      any = true;
    }
  }
  if (any) mailboxes_.drained(id_);
  return any;
}

void Shard::deliver(ActorId to, LetterPtr letter) {
  const auto found = actors_.find(to);
  Actor* actor = found != actors_.end() ? found->second : fallback_;
  if (actor != nullptr) actor->receive(std::move(letter));
}

bool Shard::run(TurnList& tasks) {
  if (tasks.empty()) return false;
  // A task that is added while these run goes into the next round. One that is destroyed meanwhile
  // unlinks itself from the list it is in, this one included.
  TurnList current;
  current.swap(tasks);
  while (!current.empty()) {
    TurnTask& task = current.front();
    current.pop_front();
    task.turn_end();
  }
  return true;
}

}  // namespace ringtail::runtime
