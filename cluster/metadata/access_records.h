// The part of the metadata that says who may do what, and the parameters: plain maps of records,
// in the order of their names. The store (store.h) owns it and applies commands to it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "cluster/metadata/commands.h"

namespace ringtail::cluster::metadata {

// A map from a key to an immutable record, which can be replaced.
template <typename Key, typename Record>
class RecordMap {
 public:
  using Pointer = std::shared_ptr<const Record>;

  Pointer find(const Key& key) const {
    const auto found = records_.find(key);
    return found == records_.end() ? nullptr : found->second;
  }
  // Whether it was there before.
  Outcome put(const Key& key, Record record) {
    auto& place = records_[key];
    const bool replaced = place != nullptr;
    place = std::make_shared<const Record>(std::move(record));
    return replaced ? Outcome::kReplaced : Outcome::kDone;
  }
  Pointer erase(const Key& key) {
    const auto found = records_.find(key);
    if (found == records_.end()) return nullptr;
    Pointer removed = std::move(found->second);
    records_.erase(found);
    return removed;
  }
  template <typename Condition>
  void erase_if(Condition condition) {
    std::erase_if(records_, [&](const auto& item) { return condition(*item.second); });
  }
  void clear() { records_.clear(); }
  template <typename Visit>
  void for_each(const Visit& visit) const {
    for (const auto& [key, record] : records_) visit(record);
  }

 private:
  std::map<Key, Pointer> records_;
};

using Pair = std::pair<std::string, std::string>;
using Triple = std::tuple<std::string, std::string, std::string>;

struct AccessRecords {
  RecordMap<std::string, UserRecord> users;
  RecordMap<Pair, PermissionRecord> permissions;               // vhost, user
  RecordMap<Triple, TopicPermissionRecord> topic_permissions;  // vhost, user, exchange
  RecordMap<Triple, ParameterRecord> parameters;               // component, vhost, name

  Outcome apply(const PutUser& command);
  Outcome apply(const SetUserLimits& command);
  Outcome apply(const PutPermission& command);  // the vhost exists
  Outcome apply(const DeletePermission& command);
  Outcome apply(const PutTopicPermission& command);  // the vhost exists
  Outcome apply(const DeleteTopicPermission& command);
  Outcome apply(const PutParameter& command);
  Outcome apply(const DeleteParameter& command);
  // Null when there was none; its permissions go too.
  std::shared_ptr<const UserRecord> remove_user(const std::string& name);
  void remove_vhost(const std::string& name);
};

}  // namespace ringtail::cluster::metadata
