// Limits of memory and disk that an operator changes while the node runs; until it stops. Routes of
// our own: RabbitMQ has them for its command-line tool only.
#include <algorithm>

#include "broker/broker_shard.h"
#include "broker/disk_monitor.h"
#include "broker/http/body.h"
#include "broker/http/router.h"
#include "broker/http/routes.h"
#include "broker/memory_monitor.h"
#include "broker/runtime/machine.h"

namespace ringtail::broker::http {

namespace {

// More is no limit that anybody means, and the product must stay within 64 bits.
constexpr double kTimesMax = 1e6;

// `size` is a number of bytes or a text with a unit, `times` a multiple of the memory, up to
// `times_max`. One of them has to be there.
runtime::Result<std::uint64_t> wanted_bytes(const Json* size, const Json* times, double times_max) {
  using runtime::Code;
  using runtime::Status;
  if ((size == nullptr) == (times == nullptr)) {
    return Status(Code::kInvalid, "one of a size and a part of the memory is needed");
  }
  if (size != nullptr) {
    if (size->is_number_unsigned()) return size->get<std::uint64_t>();
    return runtime::parse_byte_size(size->is_string() ? size->get<std::string>() : size->dump());
  }
  const double factor = times->is_number() ? times->get<double>() : -1;
  if (!(factor > 0) || factor > times_max) {
    return Status(Code::kInvalid, times->dump() + " is not a part of the memory (over 0)");
  }
  return static_cast<std::uint64_t>(factor *
                                    static_cast<double>(runtime::read_machine().memory_bytes));
}

Response put_limit(Call& call, const char* size_key, const char* times_key, double times_max,
                   void (*apply)(BrokerShard&, std::uint64_t)) {
  if (call.part(0) != call.config().node_name) return not_found();
  Body body(call.request());
  if (!body.ok()) return body.fault();
  const auto bytes = wanted_bytes(body.find(size_key), body.find(times_key), times_max);
  if (!bytes.ok()) return bad_request(bytes.status().text());
  call.on_shard(runtime::ShardId{0}, [&](BrokerShard& shard) { apply(shard, bytes.value()); });
  return no_content();
}

Response put_disk_free_limit(Call& call) {
  return put_limit(call, "absolute", "mem_relative", kTimesMax,
                   [](BrokerShard& shard, std::uint64_t bytes) {
                     if (shard.disk_monitor() != nullptr) shard.disk_monitor()->set_limit(bytes);
                   });
}

Response put_memory_high_watermark(Call& call) {
  return put_limit(call, "absolute", "relative", 1, [](BrokerShard& shard, std::uint64_t bytes) {
    if (shard.memory_monitor() != nullptr) {
      shard.memory_monitor()->set_limit(std::max<std::uint64_t>(bytes, 1));
    }
  });
}

}  // namespace

void add_node_limit_routes(Router& router) {
  constexpr Access kAdmin = Access::kAdministrator;
  router.add({"PUT", "/api/nodes/*/disk-free-limit", kAdmin, put_disk_free_limit});
  router.add({"PUT", "/api/nodes/*/vm-memory-high-watermark", kAdmin, put_memory_high_watermark});
}

}  // namespace ringtail::broker::http
