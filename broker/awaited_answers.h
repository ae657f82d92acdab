// What a channel has asked for its client and not yet heard. Answers come in any order and take
// effect in the order of the client's methods, as RabbitMQ's channel has it, which handles one
// method after the other: an answer that comes early waits for those before it.
//
// Owned by its channel, on its shard.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>

#include "broker/runtime/ids.h"
#include "broker/runtime/letter.h"
#include "cluster/metadata/records.h"

namespace ringtail::broker {

class AwaitedAnswers {
 public:
  using OnAnswer = std::function<void(runtime::Letter&)>;

  struct Entry {
    std::uint64_t request = 0;
    OnAnswer done;
    std::function<void()> instead;  // runs in its turn; no answer is awaited
    runtime::LetterPtr answer;      // came before its turn
    runtime::NodeId node;           // who answers
    // The queue that was asked, if it was one; and whether that was to cancel a consumer.
    std::shared_ptr<const cluster::metadata::QueueRecord> queue;
    bool cancels = false;
  };

  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  const Entry& front() const { return entries_.front(); }

  // Behind all that is awaited; from within `done` of another one: in its place. `node` answers.
  Entry& add(std::uint64_t request, runtime::NodeId node, OnAnswer done);
  // `what` happens when all that is awaited now has been answered.
  void add_turn(std::function<void()> what);
  // Of all but the first: what asks a queue of that node gets `refusal` in its turn.
  void refuse_behind(
      runtime::NodeId node,
      const std::function<void(const cluster::metadata::QueueRecord& queue)>& refusal);

  // Takes the answer to a request, and handles what has its turn now. Others are ignored: the
  // channel has gone on without them. `done` may clear().
  void answer(std::uint64_t request, runtime::LetterPtr letter);
  void clear() { entries_.clear(); }

 private:
  std::list<Entry> entries_;
  bool handling_ = false;
};

}  // namespace ringtail::broker
