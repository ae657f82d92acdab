// Definitions: users, vhosts, permissions, policies, parameters, exchanges, queues and bindings in
// one JSON text, in RabbitMQ's format of any version from 3.5 to 4.x. Imported at boot
// (definitions_loader.h) and over HTTP, exported over HTTP.
//
// An import merges: it never removes, and what is there already stays as it was declared. One
// object that cannot be honoured is named and left out; the others are imported.
//
// Pure functions, any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "broker/json_table.h"
#include "broker/runtime/status.h"
#include "cluster/metadata/commands.h"
#include "cluster/metadata/view.h"

namespace ringtail::broker {

struct ImportOptions {
  // Where everything goes, whatever the objects say; users, vhosts, permissions and global
  // parameters of the file are then left out. Empty: where the objects say.
  std::string vhost = {};
  // Salt and digest (SHA-256) of a password that the file has in clear; without it such a user is
  // named as a problem.
  std::function<std::string(std::string_view password)> hash_password = {};
  bool accept_quorum = true;  // Config::accept_quorum_queues
};

struct ImportedDefinitions {
  // In an order in which each finds what it needs: users, vhosts, limits, permissions, topic
  // permissions, exchanges, global parameters, policies, parameters, queues, bindings.
  std::vector<cluster::metadata::Command> commands;
  // One line each, which begins with the object's name: "queue 'q' in vhost '/': ...".
  std::vector<std::string> problems;
};

// kInvalid: the text is no JSON, or no definitions at all; nothing of it is to be imported.
runtime::Result<ImportedDefinitions> import_definitions_text(std::string_view text,
                                                             const ImportOptions& options);
runtime::Result<ImportedDefinitions> import_definitions(const Json& definitions,
                                                        const ImportOptions& options);

// What the command creates, as in the problems.
std::string subject_of(const cluster::metadata::Command& command);
// Why the command came to nothing, for such an outcome; empty: it did what it should.
std::string problem_of(cluster::metadata::Outcome outcome);

// What the exporting broker says of itself.
struct ExportNames {
  std::string rabbitmq_version;
  std::string product_name;
  std::string product_version;
};

// What there is to export: records, which never change, so that they are gathered on the shards in
// portions and made into text elsewhere.
struct Definitions {
  template <typename Record>
  using List = std::vector<std::shared_ptr<const Record>>;
  using QueuePtr = std::shared_ptr<const cluster::metadata::QueueRecord>;

  // All but queues and bindings, of which there may be many; on the view's shard. `vhost` not
  // empty: of that one, which exists, without users, permissions and global parameters.
  void read_heads(const cluster::metadata::View& view, const std::string& vhost);
  // Exclusive ones are left out.
  void add_queue(QueuePtr record);

  List<cluster::metadata::UserRecord> users;
  List<cluster::metadata::VhostRecord> vhosts;
  List<cluster::metadata::PermissionRecord> permissions;
  List<cluster::metadata::TopicPermissionRecord> topic_permissions;
  List<cluster::metadata::ParameterRecord> parameters;
  List<cluster::metadata::PolicyRecord> policies;
  List<cluster::metadata::ExchangeRecord> exchanges;
  List<cluster::metadata::QueueRecord> queues;
  std::vector<cluster::metadata::BindingRecord> bindings;
};

// As RabbitMQ 3.10.8 exports: without exclusive queues, the default exchange, amq.* exchanges and
// bindings that are implied.
OrderedJson export_definitions(const Definitions& definitions, const ExportNames& names);
// Of one vhost: exchanges, queues and bindings do not name it.
OrderedJson export_definitions_of_vhost(const Definitions& definitions, const ExportNames& names);

}  // namespace ringtail::broker
