// What a configuration and a data directory say of a node's place in its cluster.
#pragma once

#include "broker/runtime/config.h"
#include "cluster/control_plane.h"
#include "cluster/data_directory.h"

namespace ringtail::broker {

// Whether a node that belongs to no cluster yet could come to one: kInvalid where it is to begin
// one with the nodes of a list in which it does not stand. It would wait for ever, most often
// because its name is spelt otherwise than there.
runtime::Status check_formation(const runtime::Config& config,
                                const cluster::DataDirectory& directory);

// `tls`: as in ControlPlaneOptions. A member to join that was left in the directory
// (cluster::set_join) beats the configuration.
cluster::ControlPlaneOptions control_options(const runtime::Config& config,
                                             const cluster::DataDirectory& directory,
                                             cluster::LinkTls* tls = nullptr);

}  // namespace ringtail::broker
