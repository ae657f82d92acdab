#include "cluster/metadata/policies.h"

#include <algorithm>
#include <array>
#include <span>

namespace ringtail::cluster::metadata {

namespace {

constexpr std::array<std::string_view, 7> kSmallerCounts = {
    "delivery-limit", "expires",          "max-in-memory-bytes", "max-in-memory-length",
    "max-length",     "max-length-bytes", "message-ttl"};

bool smaller_counts(std::string_view key) {
  return std::find(kSmallerCounts.begin(), kSmallerCounts.end(), key) != kSmallerCounts.end();
}

// How many mirrors ha-mode promises.
int width_of(const PolicyValue& mode) {
  const auto* text = std::get_if<std::string>(&mode);
  if (text == nullptr) return 0;
  return *text == "all" ? 3 : *text == "exactly" ? 2 : 1;
}

// The same of ha-params: numbers belong to "exactly", which comes before the lists of "nodes".
std::pair<bool, std::int64_t> extent_of(const PolicyValue& params) {
  if (const auto* number = std::get_if<std::int64_t>(&params)) return {true, *number};
  const auto* list = std::get_if<std::vector<std::string>>(&params);
  return {false, list == nullptr ? 0 : static_cast<std::int64_t>(list->size())};
}

bool promises_more(std::string_view key, const PolicyValue& mine, const PolicyValue& theirs) {
  if (key == "ha-mode") return width_of(mine) > width_of(theirs);
  return key == "ha-params" && extent_of(mine) > extent_of(theirs);
}

struct Rank {
  std::int64_t priority = 0;
  std::string_view name;
};

Rank rank_of(const PolicyRecord& record) { return {record.priority, record.name}; }

bool comes_before(const Rank& a, const Rank& b) {
  return a.priority != b.priority ? a.priority > b.priority : a.name < b.name;
}

bool applies_to(PolicyTarget target, const PolicySubject& subject) {
  switch (target) {
    case PolicyTarget::kAll:
      return true;
    case PolicyTarget::kQueues:
      return !subject.exchange;
    case PolicyTarget::kExchanges:
      return subject.exchange;
    case PolicyTarget::kClassicQueues:
      return !subject.exchange && subject.type == QueueType::kClassic;
    case PolicyTarget::kQuorumQueues:
      return !subject.exchange && subject.type == QueueType::kQuorum;
  }
  return false;
}

// Keys that a type of queue does not know: a policy with one of them is not for such queues, all of
// it; the next one is (RabbitMQ 3.10.8, unsupported_policies of a queue type's capabilities).
constexpr std::array<std::string_view, 8> kNotOfClassic = {"delivery-limit",
                                                           "dead-letter-strategy",
                                                           "max-in-memory-length",
                                                           "max-in-memory-bytes",
                                                           "queue-leader-locator",
                                                           "initial-cluster-size",
                                                           "max-age",
                                                           "stream-max-segment-size-bytes"};
constexpr std::array<std::string_view, 12> kNotOfQuorum = {"max-priority",
                                                           "queue-mode",
                                                           "single-active-consumer",
                                                           "ha-mode",
                                                           "ha-params",
                                                           "ha-sync-mode",
                                                           "ha-promote-on-shutdown",
                                                           "ha-promote-on-failure",
                                                           "queue-master-locator",
                                                           "initial-cluster-size",
                                                           "max-age",
                                                           "stream-max-segment-size-bytes"};

bool suits(const PolicyDefinition& definition, const PolicySubject& subject) {
  if (subject.exchange) return true;
  std::span<const std::string_view> unknown = kNotOfClassic;
  if (subject.type == QueueType::kQuorum) unknown = kNotOfQuorum;
  return std::none_of(unknown.begin(), unknown.end(),
                      [&](std::string_view key) { return definition.contains(key); });
}

}  // namespace

PolicyDefinition merged_definition(const PolicyDefinition& user,
                                   const PolicyDefinition& by_operator) {
  PolicyDefinition merged = user;
  for (const auto& [key, value] : by_operator) {
    const auto [place, added] = merged.emplace(key, value);
    if (added) continue;
    const auto* mine = std::get_if<std::int64_t>(&place->second);
    const auto* theirs = std::get_if<std::int64_t>(&value);
    if (smaller_counts(key) && mine != nullptr && theirs != nullptr) {
      place->second = std::min(*mine, *theirs);
    } else if (!promises_more(key, place->second, value)) {
      place->second = value;
    }
  }
  return merged;
}

bool Policies::Compiled::matches(const PolicySubject& subject) const {
  return pattern != nullptr && applies_to(record->apply_to, subject) &&
         suits(record->definition, subject) && pattern->matches(subject.name);
}

void Policies::OfVhost::forget(bool of_operator, const std::string& name) {
  std::erase_if(merged, [&](const auto& item) {
    return (of_operator ? item.first.second : item.first.first) == name;
  });
}

EffectivePolicyPtr Policies::OfVhost::merge(const Compiled* user_policy,
                                            const Compiled* operator_policy) const {
  if (user_policy == nullptr && operator_policy == nullptr) return nullptr;
  NamePair names;
  if (user_policy != nullptr) names.first = user_policy->record->name;
  if (operator_policy != nullptr) names.second = operator_policy->record->name;
  EffectivePolicyPtr& place = merged[names];
  if (place == nullptr) {
    EffectivePolicy policy;
    policy.policy = names.first;
    policy.operator_policy = names.second;
    static const PolicyDefinition kNone;
    policy.definition =
        merged_definition(user_policy == nullptr ? kNone : user_policy->record->definition,
                          operator_policy == nullptr ? kNone : operator_policy->record->definition);
    place = std::make_shared<const EffectivePolicy>(std::move(policy));
  }
  return place;
}

// Where a policy like that is, or belongs.
std::size_t Policies::place_of(const Ordered& list, std::int64_t priority, std::string_view name) {
  const auto place = std::partition_point(list.begin(), list.end(), [&](const Compiled& one) {
    return comes_before(rank_of(*one.record), {priority, name});
  });
  return static_cast<std::size_t>(place - list.begin());
}

const Policies::Compiled* Policies::find(const Ordered& list, std::string_view name) {
  for (const Compiled& one : list) {
    if (one.record->name == name) return &one;
  }
  return nullptr;
}

const Policies::Compiled* Policies::first_match(const Ordered& list, const PolicySubject& subject,
                                                std::size_t from) {
  for (std::size_t at = from; at < list.size(); ++at) {
    if (list[at].matches(subject)) return &list[at];
  }
  return nullptr;
}

EffectivePolicyPtr Policies::of(const PolicySubject& subject) const {
  const auto found = vhosts_.find(subject.vhost);
  if (found == vhosts_.end()) return nullptr;
  const OfVhost& vhost = found->second;
  return vhost.merge(first_match(vhost.user, subject, 0),
                     first_match(vhost.by_operator, subject, 0));
}

// `from`: what stands before this place in the list is as it was, and did not match those subjects
// for which the changed policy was in force.
Policies::Recompute Policies::recompute(const OfVhost& vhost, bool of_operator,
                                        const std::string& name, std::size_t from) const {
  const Compiled* changed = find(vhost.list(of_operator), name);
  return [&vhost, of_operator, name, from, changed](const PolicySubject& subject,
                                                    const EffectivePolicyPtr& before) {
    static const std::string kNone;
    const std::string& old_user = before == nullptr ? kNone : before->policy;
    const std::string& old_operator = before == nullptr ? kNone : before->operator_policy;
    const std::string& mine = of_operator ? old_operator : old_user;
    const Compiled* now = nullptr;
    if (mine == name) {
      now = first_match(vhost.list(of_operator), subject, from);
    } else {
      now = mine.empty() ? nullptr : find(vhost.list(of_operator), mine);
      const bool stronger =
          changed != nullptr &&
          (now == nullptr || comes_before(rank_of(*changed->record), rank_of(*now->record)));
      if (!stronger || !changed->matches(subject)) return before;
      now = changed;
    }
    const std::string& other_name = of_operator ? old_user : old_operator;
    const Compiled* other = find(vhost.list(!of_operator), other_name);
    return of_operator ? vhost.merge(other, now) : vhost.merge(now, other);
  };
}

std::pair<Outcome, Policies::Recompute> Policies::put(const PolicyRecord& record) {
  OfVhost& vhost = vhosts_[record.vhost];
  Ordered& list = vhost.list(record.of_operator);
  std::size_t from = list.size();
  if (const Compiled* old = find(list, record.name)) {
    from = static_cast<std::size_t>(old - list.data());
    // The objects that queues share stay where they say the same.
    if (old->record->definition != record.definition) vhost.forget(record.of_operator, record.name);
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(from));
  }
  const std::size_t place = place_of(list, record.priority, record.name);
  Compiled compiled;
  compiled.record = std::make_shared<const PolicyRecord>(record);
  if (auto pattern = runtime::Pattern::compile(record.pattern); pattern.ok()) {
    compiled.pattern = std::make_unique<runtime::Pattern>(std::move(pattern).value());
  }
  list.insert(list.begin() + static_cast<std::ptrdiff_t>(place), std::move(compiled));
  const Outcome outcome =
      records_.put({record.vhost, record.of_operator, record.name}, PolicyRecord(record));
  return {outcome, recompute(vhost, record.of_operator, record.name, std::min(from, place))};
}

std::pair<Outcome, Policies::Recompute> Policies::erase(std::string_view vhost_name,
                                                        bool of_operator, std::string_view name) {
  const std::string text(name);
  if (records_.erase({std::string(vhost_name), of_operator, text}) == nullptr) {
    return {Outcome::kUnchanged, nullptr};
  }
  OfVhost& vhost = vhosts_.find(vhost_name)->second;
  Ordered& list = vhost.list(of_operator);
  const auto from = find(list, name) - list.data();
  vhost.forget(of_operator, text);
  list.erase(list.begin() + from);
  return {Outcome::kDone, recompute(vhost, of_operator, text, static_cast<std::size_t>(from))};
}

void Policies::erase_vhost(const std::string& vhost) {
  records_.erase_if([&](const PolicyRecord& record) { return record.vhost == vhost; });
  vhosts_.erase(vhost);
}

}  // namespace ringtail::cluster::metadata
