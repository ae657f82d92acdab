// Bindings as lists need them: read in portions, the implied ones of the default exchange included.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "broker/http/call.h"
#include "cluster/metadata/records.h"

namespace ringtail::broker::http {

using Bindings = std::vector<cluster::metadata::BindingRecord>;

// All of a vhost: the implied ones first, then by the age of the source and their own.
Bindings bindings_of_vhost(Call& call, const std::string& vhost);
Bindings bindings_from(Call& call, const std::string& vhost, const std::string& source);
Bindings bindings_to(Call& call, const std::string& vhost, cluster::metadata::DestinationKind kind,
                     const std::string& destination);
// "amq.default" in a path is the exchange without a name.
std::string exchange_name(const std::string& part);

}  // namespace ringtail::broker::http
