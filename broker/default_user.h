// The user that a node without users begins with.
#pragma once

#include "broker/runtime/config.h"
#include "cluster/metadata/store.h"

namespace ringtail::broker {

// Puts the configuration's default user, with its permissions on the default vhost, into a store
// that has no users. The same on every replica: nothing but the configuration goes into it.
void seed_default_user(cluster::metadata::Store& store, const runtime::Config& config);

}  // namespace ringtail::broker
