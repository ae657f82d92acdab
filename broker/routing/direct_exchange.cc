// Direct: the binding key equals the routing key.
#include <unordered_map>

#include "broker/routing/exchange.h"
#include "broker/runtime/check.h"
#include "broker/runtime/parted.h"

namespace ringtail::broker {

namespace {

class DirectIndex : public BindingIndex {
 public:
  void add(std::string_view key, std::string_view, const Target& target) override {
    Table& table = by_key_.of(TextHash()(key));
    if (const auto found = table.find(key); found != table.end()) {
      found->second.add(target);
      return;
    }
    table.emplace(key, TargetSet()).first->second.add(target);
    by_key_.grown();
  }
  void remove(std::string_view key, std::string_view, const Target& target) override {
    Table& table = by_key_.of(TextHash()(key));
    const auto found = table.find(key);
    RT_CHECK(found != table.end(), "a binding is removed that was never added");
    found->second.remove(target);
    if (found->second.empty()) table.erase(found);
  }
  void match(const Routable& message, Matches& matches) const override {
    for_each_key(message, [this, &matches](std::string_view key) {
      const Table& table = by_key_.of(TextHash()(key));
      const auto found = table.find(key);
      if (found != table.end()) found->second.reach_all(matches);
    });
  }

 private:
  using Table = std::unordered_map<std::string, TargetSet, TextHash, std::equal_to<>>;
  runtime::Parted<Table> by_key_;
};

}  // namespace

std::unique_ptr<BindingIndex> make_direct_index(const ExchangeRecord&) {
  return std::make_unique<DirectIndex>();
}

}  // namespace ringtail::broker
