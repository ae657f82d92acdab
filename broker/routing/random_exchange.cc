// Random (RabbitMQ's plug-in): one binding gets the message, each as likely as any other, whatever
// the keys are. A queue that is bound twice gets twice as much.
#include <unordered_map>
#include <vector>

#include "broker/routing/exchange.h"
#include "broker/routing/stable_hash.h"
#include "broker/runtime/check.h"

namespace ringtail::broker {

namespace {

class RandomIndex : public BindingIndex {
 public:
  explicit RandomIndex(std::uint64_t salt) : salt_(salt) {}

  void add(std::string_view, std::string_view, const Target& target) override {
    std::vector<std::size_t>& places = places_[&target];
    places.push_back(slots_.size());
    slots_.push_back({&target, places.size() - 1});
  }

  // Any of the target's slots will do: they are alike. The last slot fills the gap.
  void remove(std::string_view, std::string_view, const Target& target) override {
    const auto found = places_.find(&target);
    RT_CHECK(found != places_.end(), "a binding is removed that was never added");
    const std::size_t gap = found->second.back();
    const Slot last = slots_.back();
    places_[last.target][last.which] = gap;
    slots_[gap] = last;
    slots_.pop_back();
    found->second.pop_back();
    if (found->second.empty()) places_.erase(found);
  }

  void match(const Routable& message, Matches& matches) const override {
    if (slots_.empty()) return;
    // Two such exchanges behind one another must not choose alike.
    const std::uint64_t hash = mix_hash(message.chance + salt_);
    matches.reach(*slots_[reduce_hash(hash, slots_.size())].target);
  }

 private:
  struct Slot {
    const Target* target;
    std::size_t which;  // of the target's places
  };
  std::vector<Slot> slots_;  // one for each binding
  std::unordered_map<const Target*, std::vector<std::size_t>> places_;
  const std::uint64_t salt_;
};

}  // namespace

std::unique_ptr<BindingIndex> make_random_index(const ExchangeRecord& record) {
  return std::make_unique<RandomIndex>(stable_hash(record.name));
}

}  // namespace ringtail::broker
