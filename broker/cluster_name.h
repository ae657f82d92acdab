// What the cluster is called: the global parameter `cluster_name`, which it gets when it begins; of
// one that has none, what this node is configured with, or its own name.
#pragma once

#include <string>

#include "broker/runtime/config.h"
#include "cluster/metadata/view.h"

namespace ringtail::broker {

inline constexpr const char* kClusterNameParameter = "cluster_name";

// The configuration's word: the cluster's name until somebody gives it another.
const std::string& configured_cluster_name(const runtime::Config& config);

std::string cluster_name(const cluster::metadata::View& view, const runtime::Config& config);

}  // namespace ringtail::broker
