#include "broker/default_user.h"

#include "broker/passwords.h"
#include "cluster/metadata/commands.h"

namespace ringtail::broker {

using cluster::metadata::PasswordHashing;
using cluster::metadata::PutPermission;
using cluster::metadata::PutUser;
using cluster::metadata::PutVhost;
using cluster::metadata::Store;
using cluster::metadata::UserRecord;
using cluster::metadata::VhostRecord;

void seed_default_user(Store& store, const runtime::Config& config) {
  bool has_users = false;
  store.for_each_user([&has_users](const auto&) { has_users = true; });
  if (has_users) return;
  UserRecord user;
  user.name = config.default_user;
  // Replicas must be equal, so no chance here; the hash is never written anywhere.
  user.password_hash = hash_password(PasswordHashing::kSha256, config.default_pass, "seed");
  user.tags = config.default_user_tags;
  store.apply(PutUser{std::move(user)});
  if (!store.has_vhost(config.default_vhost)) {
    store.apply(PutVhost{VhostRecord{.name = config.default_vhost}});
  }
  store.apply(PutPermission{{.vhost = config.default_vhost,
                             .user = config.default_user,
                             .configure = config.default_permissions_configure,
                             .write = config.default_permissions_write,
                             .read = config.default_permissions_read}});
}

}  // namespace ringtail::broker
