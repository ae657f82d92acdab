#include "cluster/metadata/access_records.h"

namespace ringtail::cluster::metadata {

namespace {

Outcome removed(bool was_there) { return was_there ? Outcome::kDone : Outcome::kUnchanged; }

}  // namespace

Outcome AccessRecords::apply(const PutUser& command) {
  UserRecord record = command.record;
  if (const auto current = users.find(record.name)) record.limits = current->limits;
  return users.put(command.record.name, std::move(record));
}

Outcome AccessRecords::apply(const SetUserLimits& command) {
  const auto current = users.find(command.user);
  if (current == nullptr) return Outcome::kNoUser;
  UserRecord record = *current;
  record.limits = command.limits;
  return users.put(command.user, std::move(record));
}

Outcome AccessRecords::apply(const PutPermission& command) {
  if (users.find(command.record.user) == nullptr) return Outcome::kNoUser;
  return permissions.put({command.record.vhost, command.record.user}, command.record);
}

Outcome AccessRecords::apply(const DeletePermission& command) {
  return removed(permissions.erase({command.vhost, command.user}) != nullptr);
}

Outcome AccessRecords::apply(const PutTopicPermission& command) {
  const TopicPermissionRecord& record = command.record;
  if (users.find(record.user) == nullptr) return Outcome::kNoUser;
  return topic_permissions.put({record.vhost, record.user, record.exchange}, record);
}

Outcome AccessRecords::apply(const DeleteTopicPermission& command) {
  bool any = false;
  topic_permissions.erase_if([&](const TopicPermissionRecord& record) {
    const bool meant = record.vhost == command.vhost && record.user == command.user &&
                       (!command.exchange || record.exchange == *command.exchange);
    any |= meant;
    return meant;
  });
  return removed(any);
}

Outcome AccessRecords::apply(const PutParameter& command) {
  const ParameterRecord& record = command.record;
  return parameters.put({record.component, record.vhost, record.name}, record);
}

Outcome AccessRecords::apply(const DeleteParameter& command) {
  return removed(parameters.erase({command.component, command.vhost, command.name}) != nullptr);
}

std::shared_ptr<const UserRecord> AccessRecords::remove_user(const std::string& name) {
  permissions.erase_if([&](const PermissionRecord& record) { return record.user == name; });
  topic_permissions.erase_if(
      [&](const TopicPermissionRecord& record) { return record.user == name; });
  return users.erase(name);
}

void AccessRecords::remove_vhost(const std::string& name) {
  permissions.erase_if([&](const PermissionRecord& record) { return record.vhost == name; });
  topic_permissions.erase_if(
      [&](const TopicPermissionRecord& record) { return record.vhost == name; });
  parameters.erase_if([&](const ParameterRecord& record) { return record.vhost == name; });
}

}  // namespace ringtail::cluster::metadata
