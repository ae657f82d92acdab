// A declaration, deletion or binding on a user's behalf: checked as a channel checks it, then
// proposed.
#pragma once

#include <optional>
#include <string>

#include "broker/declarations.h"
#include "broker/http/call.h"

namespace ringtail::broker::http {

// Runs the check on a shard, as the user, in that vhost. None: it may go on.
template <typename Check>
std::optional<Response> refusal_of(Call& call, const std::string& vhost, Check check) {
  Refusal refusal;
  call.on_shard(runtime::ShardId{0}, [&](BrokerShard& shard) {
    refusal = check(Declarer{shard, call.user().name, vhost});
  });
  if (!refusal) return std::nullopt;
  return amqp_failure(*refusal);
}

}  // namespace ringtail::broker::http
