// What a command of an import is about, and why it came to nothing: for the lines of a report.
#include <fmt/format.h>

#include <type_traits>

#include "broker/amqp/errors.h"
#include "broker/definitions.h"

namespace ringtail::broker {

using cluster::metadata::Bind;
using cluster::metadata::BindingRecord;
using cluster::metadata::Command;
using cluster::metadata::DeclareExchange;
using cluster::metadata::DeclareQueue;
using cluster::metadata::DeleteExchange;
using cluster::metadata::DeleteParameter;
using cluster::metadata::DeletePermission;
using cluster::metadata::DeletePolicy;
using cluster::metadata::DeleteQueue;
using cluster::metadata::DeleteTopicPermission;
using cluster::metadata::DeleteUser;
using cluster::metadata::DeleteVhost;
using cluster::metadata::DestinationKind;
using cluster::metadata::Outcome;
using cluster::metadata::PutParameter;
using cluster::metadata::PutPermission;
using cluster::metadata::PutPolicy;
using cluster::metadata::PutTopicPermission;
using cluster::metadata::PutUser;
using cluster::metadata::PutVhost;
using cluster::metadata::SetUserLimits;
using cluster::metadata::SetVhostLimits;
using cluster::metadata::Unbind;

namespace {

std::string in_vhost(std::string_view kind, std::string_view name, std::string_view vhost) {
  return amqp::resource_text(kind, vhost, name);
}

std::string of_binding(const BindingRecord& record) {
  return fmt::format("binding of {} '{}' to exchange '{}' with key '{}' in vhost '{}'",
                     record.kind == DestinationKind::kQueue ? "queue" : "exchange",
                     record.destination, record.source, record.routing_key, record.vhost);
}

struct Subject {
  std::string operator()(const PutVhost& c) const { return vhost(c.record.name); }
  std::string operator()(const DeleteVhost& c) const { return vhost(c.name); }
  std::string operator()(const SetVhostLimits& c) const {
    return fmt::format("limits of vhost '{}'", c.vhost);
  }
  std::string operator()(const PutUser& c) const { return user(c.record.name); }
  std::string operator()(const DeleteUser& c) const { return user(c.name); }
  std::string operator()(const SetUserLimits& c) const {
    return fmt::format("limits of user '{}'", c.user);
  }
  std::string operator()(const PutPermission& c) const {
    return in_vhost("permissions of user", c.record.user, c.record.vhost);
  }
  std::string operator()(const DeletePermission& c) const {
    return in_vhost("permissions of user", c.user, c.vhost);
  }
  std::string operator()(const PutTopicPermission& c) const {
    return in_vhost("topic permissions of user", c.record.user, c.record.vhost);
  }
  std::string operator()(const DeleteTopicPermission& c) const {
    return in_vhost("topic permissions of user", c.user, c.vhost);
  }
  std::string operator()(const PutPolicy& c) const {
    return policy(c.record.of_operator, c.record.name, c.record.vhost);
  }
  std::string operator()(const DeletePolicy& c) const {
    return policy(c.of_operator, c.name, c.vhost);
  }
  std::string operator()(const PutParameter& c) const {
    return parameter(c.record.component, c.record.name, c.record.vhost);
  }
  std::string operator()(const DeleteParameter& c) const {
    return parameter(c.component, c.name, c.vhost);
  }
  std::string operator()(const DeclareExchange& c) const {
    return in_vhost("exchange", c.record.name, c.record.vhost);
  }
  std::string operator()(const DeleteExchange& c) const {
    return in_vhost("exchange", c.name, c.vhost);
  }
  std::string operator()(const cluster::metadata::NodeUp& c) const {
    return "node '" + c.record.name + "'";
  }
  std::string operator()(const cluster::metadata::NodeDown& c) const {
    return "node " + std::to_string(c.node.value);
  }
  std::string operator()(const cluster::metadata::ForgetNode& c) const {
    return "node " + std::to_string(c.node.value);
  }
  std::string operator()(const DeclareQueue& c) const {
    return in_vhost("queue", c.record.name, c.record.vhost);
  }
  std::string operator()(const DeleteQueue& c) const { return in_vhost("queue", c.name, c.vhost); }
  std::string operator()(const cluster::metadata::ChangeView& c) const {
    return in_vhost("queue", c.name, c.vhost);
  }
  std::string operator()(const cluster::metadata::LeadQueues& c) const {
    return "node " + std::to_string(c.node.value);
  }
  std::string operator()(const cluster::metadata::TransferQueue& c) const {
    return in_vhost("queue", c.name, c.vhost);
  }
  std::string operator()(const Bind& c) const { return of_binding(c.record); }
  std::string operator()(const Unbind& c) const { return of_binding(c.record); }

  static std::string vhost(std::string_view name) { return fmt::format("vhost '{}'", name); }
  static std::string user(std::string_view name) { return fmt::format("user '{}'", name); }
  static std::string policy(bool of_operator, std::string_view name, std::string_view vhost) {
    return in_vhost(of_operator ? "operator policy" : "policy", name, vhost);
  }
  static std::string parameter(std::string_view component, std::string_view name,
                               std::string_view vhost) {
    if (component.empty()) return fmt::format("global parameter '{}'", name);
    return fmt::format("parameter '{}' of component '{}' in vhost '{}'", name, component, vhost);
  }
};

}  // namespace

std::string subject_of(const Command& command) { return std::visit(Subject{}, command); }

std::string problem_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kDone:
    case Outcome::kUnchanged:
    case Outcome::kReplaced:
      break;
    case Outcome::kNoVhost:
      return "there is no such vhost";
    case Outcome::kNoUser:
      return "there is no such user";
    case Outcome::kQueueLimit:
      return "the vhost has as many queues as its limit allows";
    case Outcome::kNoExchange:
      return "there is no such exchange";
    case Outcome::kNoDestination:
      return "there is no such queue or exchange to bind";
    case Outcome::kInUse:
      return "it is in use";
    case Outcome::kNoNode:
      return "there is no node to have it";
    case Outcome::kNodeUp:
      return "the node is up";
    case Outcome::kNotReady:
      return "it has no master for certain at the moment";
    case Outcome::kUnavailable:
      return "the cluster has not agreed in time";
  }
  return {};
}

}  // namespace ringtail::broker
