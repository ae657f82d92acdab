// What this node says of itself in more than one answer.
#pragma once

#include "broker/http/call.h"
#include "broker/json_table.h"

namespace ringtail::broker::http {

Json exchange_types();
// Its sockets; those of other nodes are theirs to say.
Json listeners_json(Call& call);
// Those of HTTP, as the pages of the management would be reached.
Json contexts_json(Call& call);

}  // namespace ringtail::broker::http
