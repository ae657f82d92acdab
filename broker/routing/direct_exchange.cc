// Direct: the binding key equals the routing key.
#include <unordered_map>

#include "broker/routing/exchange.h"
#include "broker/runtime/check.h"

namespace ringtail::broker {

namespace {

class DirectIndex : public BindingIndex {
 public:
  void add(std::string_view key, std::string_view, const Target& target) override {
    auto found = by_key_.find(key);
    if (found == by_key_.end()) found = by_key_.emplace(key, TargetSet()).first;
    found->second.add(target);
  }
  void remove(std::string_view key, std::string_view, const Target& target) override {
    const auto found = by_key_.find(key);
    RT_CHECK(found != by_key_.end(), "a binding is removed that was never added");
    found->second.remove(target);
    if (found->second.empty()) by_key_.erase(found);
  }
  void match(const Routable& message, Matches& matches) const override {
    for_each_key(message, [this, &matches](std::string_view key) {
      const auto found = by_key_.find(key);
      if (found != by_key_.end()) found->second.reach_all(matches);
    });
  }

 private:
  std::unordered_map<std::string, TargetSet, TextHash, std::equal_to<>> by_key_;
};

}  // namespace

std::unique_ptr<BindingIndex> make_direct_index(const ExchangeRecord&) {
  return std::make_unique<DirectIndex>();
}

}  // namespace ringtail::broker
