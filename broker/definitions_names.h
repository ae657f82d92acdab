// RabbitMQ's names of what our records hold as numbers: in definitions and over HTTP.
#pragma once

#include "cluster/metadata/records.h"

namespace ringtail::broker {

const char* name_of(cluster::metadata::PasswordHashing hashing);

}  // namespace ringtail::broker
