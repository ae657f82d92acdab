// What bindings lead to, and sets of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "cluster/metadata/records.h"

namespace ringtail::broker {

// A queue or an exchange of the route table, which owns it; one shard.
struct Target {
  enum class Kind : std::uint8_t { kQueue, kExchange };
  explicit Target(Kind target_kind) : kind(target_kind) {}
  const Kind kind;
  // The number of the last route() call that reached it: saves that call a set of what it has seen.
  mutable std::uint64_t reached_in = 0;
};

struct QueueTarget : Target {
  explicit QueueTarget(std::shared_ptr<const cluster::metadata::QueueRecord> of)
      : Target(Kind::kQueue), record(std::move(of)) {}
  std::shared_ptr<const cluster::metadata::QueueRecord> record;  // a policy may replace it
};

// Where one route() call gathers what it reaches, each target once.
class Matches {
 public:
  // `call` differs from that of every other call on the same table.
  Matches(std::uint64_t call, std::vector<const cluster::metadata::QueueRecord*>& queues,
          std::vector<const Target*>& exchanges)
      : call_(call), queues_(queues), exchanges_(exchanges) {}

  std::uint64_t call() const { return call_; }
  void reach(const Target& target) {
    any_ = true;
    if (target.reached_in == call_) return;
    target.reached_in = call_;
    if (target.kind == Target::Kind::kQueue) {
      queues_.push_back(static_cast<const QueueTarget&>(target).record.get());
    } else {
      exchanges_.push_back(&target);
    }
  }

  // Whether anything was reached, even again, since clear_any().
  bool any() const { return any_; }
  void clear_any() { any_ = false; }

 private:
  const std::uint64_t call_;
  bool any_ = false;
  std::vector<const cluster::metadata::QueueRecord*>& queues_;
  std::vector<const Target*>& exchanges_;
};

// Targets with the number of bindings that lead to each. Adding and removing cost O(1) whatever the
// size; removing changes the order.
class TargetSet {
 public:
  void add(const Target& target);
  // The target must be in the set.
  void remove(const Target& target);
  bool empty() const { return only_.target == nullptr && many_ == nullptr; }
  void reach_all(Matches& matches) const {
    if (many_ == nullptr) {
      if (only_.target != nullptr) matches.reach(*only_.target);
      return;
    }
    for (const Entry& entry : many_->entries) matches.reach(*entry.target);
  }

 private:
  struct Entry {
    const Target* target = nullptr;
    std::uint32_t bindings = 0;
  };
  struct Many {
    std::vector<Entry> entries;
    // Places in entries; kept only while there are too many to search.
    std::unique_ptr<std::unordered_map<const Target*, std::size_t>> places;

    static constexpr std::size_t kNowhere = ~std::size_t{0};
    std::size_t place_of(const Target& target) const;
    void append(const Entry& entry);
    void remove(std::size_t place);
  };

  // Most sets hold one target: it lies here, and many_ is null.
  Entry only_;
  std::unique_ptr<Many> many_;  // two or more
};

}  // namespace ringtail::broker
