#include "broker/http/shard_gateway.h"

#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>

namespace ringtail::broker::http {

using runtime::Code;
using runtime::Status;

namespace {

// What a waiting thread and a shard share. Each side may go first.
class Waiting {
 public:
  enum class State : unsigned char { kInLine, kRunning, kDone, kDropped, kGivenUp };

  // False: the thread has given up, the call must not run.
  bool begin() { return change(State::kInLine, State::kRunning); }
  void end() { change(State::kRunning, State::kDone); }
  // The call was destroyed, or the one who was to say that it is done.
  void drop() {
    const std::lock_guard lock(mutex_);
    if (state_ != State::kInLine && state_ != State::kRunning) return;
    state_ = State::kDropped;
    changed_.notify_one();
  }
  // A call that was begun uses what the thread lent to it: it is waited for, however long.
  State await_call(std::uint64_t timeout_ms) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                           [this] { return state_ != State::kInLine; })) {
      return state_ = State::kGivenUp;
    }
    changed_.wait(lock, [this] { return state_ != State::kRunning; });
    return state_;
  }
  State await_answer(std::uint64_t timeout_ms) {
    std::unique_lock lock(mutex_);
    const bool over = changed_.wait_for(lock, std::chrono::milliseconds(timeout_ms), [this] {
      return state_ != State::kInLine && state_ != State::kRunning;
    });
    return over ? state_ : (state_ = State::kGivenUp);
  }

 private:
  bool change(State from, State to) {
    const std::lock_guard lock(mutex_);
    if (state_ != from) return false;
    state_ = to;
    changed_.notify_one();
    return true;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  State state_ = State::kInLine;
};

using WaitingPtr = std::shared_ptr<Waiting>;

// Says so when the last one who could have answered is gone.
class Ticket {
 public:
  explicit Ticket(WaitingPtr waiting) : waiting_(std::move(waiting)) {}
  Ticket(const Ticket&) = delete;
  Ticket& operator=(const Ticket&) = delete;
  ~Ticket() { waiting_->drop(); }
  Waiting& waiting() { return *waiting_; }

 private:
  const WaitingPtr waiting_;
};

Status status_of(Waiting::State state, runtime::ShardId shard) {
  if (state == Waiting::State::kDone) return {};
  if (state == Waiting::State::kDropped) return {Code::kClosed, "the node is stopping"};
  return {Code::kTimeout, fmt::format("shard {} did not answer in time", shard.value)};
}

}  // namespace

ShardGateway::ShardGateway(std::uint16_t shards, Post post, std::uint64_t timeout_ms)
    : shards_(shards), post_(std::move(post)), timeout_ms_(timeout_ms) {}

Status ShardGateway::on_shard(runtime::ShardId shard,
                              const std::function<void(BrokerShard&)>& call) {
  const auto waiting = std::make_shared<Waiting>();
  post_(shard, [ticket = std::make_shared<Ticket>(waiting), &call](BrokerShard& broker_shard) {
    if (!ticket->waiting().begin()) return;
    call(broker_shard);
    ticket->waiting().end();
  });
  return status_of(waiting->await_call(timeout_ms_), shard);
}

Status ShardGateway::on_shard_later(
    runtime::ShardId shard,
    const std::function<void(BrokerShard&, std::function<void()> done)>& call) {
  const auto waiting = std::make_shared<Waiting>();
  post_(shard, [ticket = std::make_shared<Ticket>(waiting), call](BrokerShard& broker_shard) {
    if (!ticket->waiting().begin()) return;
    call(broker_shard, [ticket] { ticket->waiting().end(); });
  });
  return status_of(waiting->await_answer(timeout_ms_), shard);
}

}  // namespace ringtail::broker::http
