#include "broker/awaited_answers.h"

#include <utility>

namespace ringtail::broker {

using cluster::metadata::QueueRecord;

AwaitedAnswers::Entry& AwaitedAnswers::add(std::uint64_t request, runtime::NodeId node,
                                           OnAnswer done) {
  Entry& entry = *entries_.emplace(handling_ ? entries_.begin() : entries_.end());
  entry.request = request;
  entry.done = std::move(done);
  entry.node = node;
  return entry;
}

void AwaitedAnswers::add_turn(std::function<void()> what) {
  entries_.emplace_back().instead = std::move(what);
}

void AwaitedAnswers::refuse_behind(const std::function<bool(const Entry&)>& which,
                                   const std::function<void(const QueueRecord&)>& refusal) {
  if (entries_.empty()) return;
  for (auto entry = std::next(entries_.begin()); entry != entries_.end(); ++entry) {
    if (entry->queue == nullptr || entry->answer != nullptr || !which(*entry)) continue;
    entry->instead = [refusal, queue = entry->queue] { refusal(*queue); };
  }
}

void AwaitedAnswers::answer(std::uint64_t request, runtime::LetterPtr letter) {
  auto entry = entries_.begin();
  while (entry != entries_.end() && entry->request != request) ++entry;
  if (entry == entries_.end()) return;
  entry->answer = std::move(letter);
  while (!entries_.empty() && (entries_.front().answer != nullptr || entries_.front().instead)) {
    const Entry first = std::move(entries_.front());
    entries_.pop_front();
    handling_ = true;
    if (first.instead) {
      first.instead();
    } else {
      first.done(*first.answer);
    }
    handling_ = false;
  }
}

}  // namespace ringtail::broker
