// Records of the metadata to Protobuf and back. What a decoded record says has been checked only as
// far as its types go: an unknown value of an enumeration is its first.
#pragma once

#include "cluster/metadata/records.h"

namespace ringtail::cluster::metadata {

namespace wire {
class Vhost;
class User;
class Permission;
class TopicPermission;
class Policy;
class Parameter;
class Exchange;
class Queue;
class Binding;
class Node;
}  // namespace wire

void encode(const VhostRecord& from, wire::Vhost& to);
void encode(const UserRecord& from, wire::User& to);
void encode(const PermissionRecord& from, wire::Permission& to);
void encode(const TopicPermissionRecord& from, wire::TopicPermission& to);
void encode(const PolicyRecord& from, wire::Policy& to);
void encode(const ParameterRecord& from, wire::Parameter& to);
void encode(const ExchangeRecord& from, wire::Exchange& to);
void encode(const QueueRecord& from, wire::Queue& to);
void encode(const BindingRecord& from, wire::Binding& to);
void encode(const NodeRecord& from, wire::Node& to);

VhostRecord decode(const wire::Vhost& from);
UserRecord decode(const wire::User& from);
PermissionRecord decode(const wire::Permission& from);
TopicPermissionRecord decode(const wire::TopicPermission& from);
PolicyRecord decode(const wire::Policy& from);
ParameterRecord decode(const wire::Parameter& from);
ExchangeRecord decode(const wire::Exchange& from);
QueueRecord decode(const wire::Queue& from);
BindingRecord decode(const wire::Binding& from);
NodeRecord decode(const wire::Node& from);

}  // namespace ringtail::cluster::metadata
