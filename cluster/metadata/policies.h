// The policies of all vhosts and which of them are in force for a queue or an exchange: of the user
// policies that match the one of the highest priority, and of the operator policies likewise; of
// equal priorities the one whose name comes first.
//
// Part of the store, on its shard. Patterns are compiled once per policy; a change costs one match
// per queue and exchange of the vhost, whatever the number of policies.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "broker/runtime/pattern.h"
#include "cluster/metadata/access_records.h"
#include "cluster/metadata/records.h"

namespace ringtail::cluster::metadata {

// What a policy may act on.
struct PolicySubject {
  std::string_view vhost;
  std::string_view name;
  bool exchange = false;
  QueueType type = QueueType::kClassic;  // of a queue
};

using EffectivePolicyPtr = std::shared_ptr<const EffectivePolicy>;

class Policies {
 public:
  // Null: no policy matches.
  EffectivePolicyPtr of(const PolicySubject& subject) const;

  // A change, and what it means for one subject: given what was in force for it before, what is
  // now. Valid until the next change.
  using Recompute =
      std::function<EffectivePolicyPtr(const PolicySubject&, const EffectivePolicyPtr& before)>;
  std::pair<Outcome, Recompute> put(const PolicyRecord& record);
  std::pair<Outcome, Recompute> erase(std::string_view vhost, bool of_operator,
                                      std::string_view name);
  void erase_vhost(const std::string& vhost);
  void for_each(
      const std::function<void(const std::shared_ptr<const PolicyRecord>&)>& visit) const {
    records_.for_each(visit);
  }

 private:
  struct Compiled {
    std::shared_ptr<const PolicyRecord> record;
    std::unique_ptr<runtime::Pattern> pattern;  // null: it does not compile, and matches nothing

    bool matches(const PolicySubject& subject) const;
  };
  // The first that matches is in force.
  using Ordered = std::vector<Compiled>;
  using NamePair = std::pair<std::string, std::string>;  // policy, operator policy
  struct OfVhost {
    Ordered user;
    Ordered by_operator;
    // Those that were asked for; made anew when one of the two changes.
    mutable std::map<NamePair, EffectivePolicyPtr> merged;

    Ordered& list(bool of_operator) { return of_operator ? by_operator : user; }
    const Ordered& list(bool of_operator) const { return of_operator ? by_operator : user; }
    void forget(bool of_operator, const std::string& name);
    EffectivePolicyPtr merge(const Compiled* user_policy, const Compiled* operator_policy) const;
  };

  static std::size_t place_of(const Ordered& list, std::int64_t priority, std::string_view name);
  static const Compiled* find(const Ordered& list, std::string_view name);
  static const Compiled* first_match(const Ordered& list, const PolicySubject& subject,
                                     std::size_t from);
  Recompute recompute(const OfVhost& vhost, bool of_operator, const std::string& name,
                      std::size_t from) const;

  RecordMap<std::tuple<std::string, bool, std::string>, PolicyRecord> records_;
  std::map<std::string, OfVhost, std::less<>> vhosts_;
};

// The definitions of both merged: of numbers that limit a queue the smaller, of mirrors the more
// (all before exactly before nodes, the larger number, the longer list), of anything else the
// operator's. RabbitMQ 3.10.8's operator policies hold such numbers only; the rest is as in 3.12.
PolicyDefinition merged_definition(const PolicyDefinition& user,
                                   const PolicyDefinition& by_operator);

}  // namespace ringtail::cluster::metadata
