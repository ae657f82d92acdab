#include "broker/boot.h"

#include <utility>

#include "broker/cluster_name.h"
#include "broker/json_table.h"
#include "broker/passwords.h"
#include "broker/runtime/log.h"

namespace ringtail::broker {

using cluster::metadata::CommandResult;
using cluster::metadata::ParameterRecord;
using cluster::metadata::PasswordHashing;
using cluster::metadata::PermissionRecord;
using cluster::metadata::PutParameter;
using cluster::metadata::PutPermission;
using cluster::metadata::PutUser;
using cluster::metadata::PutVhost;
using cluster::metadata::UserRecord;
using runtime::log;
using runtime::LogLevel;
using runtime::Status;

void Boot::start(bool empty, std::function<void(const Status&)> done) {
  done_ = std::move(done);
  recover_queues(empty);
}

void Boot::recover_queues(bool empty) {
  broker_shard_.recovery().start([this, empty](const Status& status) {
    if (!status.ok()) return end(status);
    if (empty) name_cluster();
    // As RabbitMQ: who brings definitions brings vhosts and users too.
    if (!empty || !broker_shard_.config().definitions_file.empty()) return import_definitions();
    create_defaults();
  });
}

// So that all its nodes say the same, whichever of them is asked.
void Boot::name_cluster() {
  ParameterRecord record;
  record.name = kClusterNameParameter;
  record.value = json_text(Json(configured_cluster_name(broker_shard_.config())));
  broker_shard_.propose(PutParameter{std::move(record)}, [](const CommandResult&) {});
}

void Boot::create_defaults() {
  const runtime::Config& config = broker_shard_.config();
  log(LogLevel::kInfo, "node",
      "the data directory {} knows nothing yet: making vhost '{}' and user '{}'", config.data_dir,
      config.default_vhost, config.default_user);
  // In one turn, so that one write keeps all of it: who dies in between begins anew.
  PutVhost vhost;
  vhost.record.name = config.default_vhost;
  vhost.record.description = "Default virtual host";
  broker_shard_.propose(std::move(vhost), [](const CommandResult&) {});
  UserRecord user;
  user.name = config.default_user;
  user.tags = config.default_user_tags;
  user.password_hash = hash_password(user.hashing, config.default_pass,
                                     make_salt(broker_shard_.shard().env().rng()));
  broker_shard_.propose(PutUser{std::move(user)}, [](const CommandResult&) {});
  PermissionRecord permission{.vhost = config.default_vhost,
                              .user = config.default_user,
                              .configure = config.default_permissions_configure,
                              .write = config.default_permissions_write,
                              .read = config.default_permissions_read};
  broker_shard_.propose(PutPermission{std::move(permission)},
                        [this](const CommandResult&) { import_definitions(); });
}

// Runs at every start.
void Boot::import_definitions() {
  const runtime::Config& config = broker_shard_.config();
  if (config.definitions_file.empty()) return end({});
  ImportOptions options;
  options.accept_quorum = config.accept_quorum_queues;
  options.hash_password = [this](std::string_view password) {
    return hash_password(PasswordHashing::kSha256, password,
                         make_salt(broker_shard_.shard().env().rng()));
  };
  loader_ = std::make_unique<DefinitionsLoader>(broker_shard_, std::move(options));
  loader_->start(config.definitions_file, [this](const Status& status) { end(status); });
}

void Boot::end(const Status& status) {
  const auto done = std::exchange(done_, nullptr);
  done(status);
}

}  // namespace ringtail::broker
