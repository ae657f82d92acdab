// Modulus hash (RabbitMQ's sharding plug-in): of n bindings, the one whose number is the hash of
// the routing keys modulo n. The bindings are numbered in the order of their keys, then of the
// names of what they lead to, so that every replica numbers them alike.
#include <algorithm>
#include <tuple>

#include "broker/routing/exchange.h"
#include "broker/routing/stable_hash.h"
#include "broker/runtime/check.h"

namespace ringtail::broker {

namespace {

struct Bound {
  std::string key;
  std::string arguments;
  const Target* target;

  // Exchanges come before queues, as in RabbitMQ's table of routes.
  auto order() const {
    return std::tuple(std::string_view(key), target->kind != Target::Kind::kExchange,
                      name_of(*target), std::string_view(arguments));
  }
};

class ModulusHashIndex : public BindingIndex {
 public:
  // Moves pointers only, so that even very many bindings cost little.
  void add(std::string_view key, std::string_view arguments, const Target& target) override {
    auto bound = std::make_unique<Bound>(Bound{std::string(key), std::string(arguments), &target});
    bound_.insert(place_of(*bound), std::move(bound));
  }
  void remove(std::string_view key, std::string_view arguments, const Target& target) override {
    const auto found = place_of({std::string(key), std::string(arguments), &target});
    RT_CHECK(found != bound_.end() && (*found)->target == &target,
             "a binding is removed that was never added");
    bound_.erase(found);
  }
  void match(const Routable& message, Matches& matches) const override {
    if (bound_.empty()) return;
    std::uint64_t hash = 0;
    for_each_key(message,
                 [&hash](std::string_view key) { hash = stable_hash(key, mix_hash(hash + 1)); });
    matches.reach(*bound_[hash % bound_.size()]->target);
  }

 private:
  using List = std::vector<std::unique_ptr<Bound>>;
  List::iterator place_of(const Bound& wanted) {
    return std::lower_bound(bound_.begin(), bound_.end(), wanted,
                            [](const auto& a, const Bound& b) { return a->order() < b.order(); });
  }
  List bound_;  // in order
};

}  // namespace

std::unique_ptr<BindingIndex> make_modulus_hash_index(const ExchangeRecord&) {
  return std::make_unique<ModulusHashIndex>();
}

}  // namespace ringtail::broker
