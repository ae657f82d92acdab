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
  // A copy of a request to a queue, under another number and for another epoch.
  using Copy = runtime::LetterPtr (*)(const runtime::Letter& request, std::uint64_t number,
                                      std::uint64_t epoch);

  struct Entry {
    std::uint64_t request = 0;
    OnAnswer done;
    std::function<void()> instead;  // runs in its turn; no answer is awaited
    runtime::LetterPtr answer;      // came before its turn
    runtime::NodeId node;           // who answers
    // The queue that was asked, if it was one; and whether that was to cancel a consumer.
    std::shared_ptr<const cluster::metadata::QueueRecord> queue;
    bool cancels = false;
    // Of a mirrored queue: what is asked of its next master if this one goes, and how.
    runtime::LetterPtr again;
    Copy copy = nullptr;
    bool waits = false;  // for that: nobody has been asked, or nobody who could answer
  };

  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  const Entry& front() const { return entries_.front(); }

  // Behind all that is awaited; from within `done` of another one: in its place. `node` answers.
  Entry& add(std::uint64_t request, runtime::NodeId node, OnAnswer done);
  // `what` happens when all that is awaited now has been answered.
  void add_turn(std::function<void()> what);
  // Of all but the first: what asks a queue, and is one of `which`, gets `refusal` in its turn.
  void refuse_behind(
      const std::function<bool(const Entry&)>& which,
      const std::function<void(const cluster::metadata::QueueRecord& queue)>& refusal);
  // Those whose answer is still to come, in their order.
  template <typename Visit>
  void each_unanswered(Visit visit) {
    for (Entry& entry : entries_) {
      if (entry.answer == nullptr && !entry.instead) visit(entry);
    }
  }

  // Takes the answer to a request, and handles what has its turn now. Others are ignored: the
  // channel has gone on without them. `done` may clear().
  void answer(std::uint64_t request, runtime::LetterPtr letter);
  void clear() { entries_.clear(); }

 private:
  std::list<Entry> entries_;
  bool handling_ = false;
};

}  // namespace ringtail::broker
