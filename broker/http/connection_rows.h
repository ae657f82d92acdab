// Connections, channels and consumers as lists need them: copies taken on the connections' shards.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "broker/connection_info.h"
#include "broker/http/call.h"
#include "broker/json_table.h"

namespace ringtail::broker::http {

struct ConnectionRow {
  ConnectionInfo info;
  std::vector<ChannelInfo> channels;  // only where they were asked for
};

// The open ones that the user may see (his own, or all for monitors), by name. `wanted` runs on the
// shards' threads; with it only the information of those is copied.
std::vector<ConnectionRow> connection_rows(
    Call& call, bool with_channels,
    const std::function<bool(const ConnectionInfo&)>& wanted = nullptr);

Json connection_json(Call& call, const ConnectionInfo& info);
Json channel_json(Call& call, const ConnectionInfo& connection, const ChannelInfo& channel);
Json consumer_json(Call& call, const ConnectionInfo& connection, const ChannelInfo& channel,
                   const ChannelInfo::Consumer& consumer);
// "NAME (N)".
std::string channel_name(const ConnectionInfo& connection, const ChannelInfo& channel);

}  // namespace ringtail::broker::http
