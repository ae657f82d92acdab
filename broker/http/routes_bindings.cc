// Bindings.
#include "broker/broker_shard.h"
#include "broker/http/binding_rows.h"
#include "broker/http/body.h"
#include "broker/http/declaring.h"
#include "broker/http/listing.h"
#include "broker/http/queue_rows.h"
#include "broker/http/router.h"
#include "broker/http/routes.h"
#include "broker/http/shapes.h"

namespace ringtail::broker::http {

using cluster::metadata::Bind;
using cluster::metadata::BindingRecord;
using cluster::metadata::DestinationKind;
using cluster::metadata::Outcome;
using cluster::metadata::Unbind;
using cluster::metadata::View;

namespace {

Response bindings_response(Call& call, const Bindings& bindings) {
  Listing listing;
  listing.count = bindings.size();
  listing.row = [&](std::size_t row) { return binding_json(bindings[row]); };
  return list_response(call.request(), listing);
}

Response list_bindings(Call& call) {
  Bindings bindings;
  for (const std::string& vhost : visible_vhosts(call)) {
    Bindings some = bindings_of_vhost(call, vhost);
    bindings.insert(bindings.end(), std::make_move_iterator(some.begin()),
                    std::make_move_iterator(some.end()));
  }
  return bindings_response(call, bindings);
}

Response list_of_vhost(Call& call) {
  return bindings_response(call, bindings_of_vhost(call, call.part(0)));
}

// --- between two: parts are vhost, source, destination, properties key ---

DestinationKind kind_of(Call& call) {
  // /api/bindings/VHOST/e/SOURCE/q/DESTINATION
  return call.request().segments[5] == "q" ? DestinationKind::kQueue : DestinationKind::kExchange;
}

Bindings bindings_between(Call& call) {
  const std::string source = exchange_name(call.part(1));
  Bindings bindings = bindings_to(call, call.part(0), kind_of(call), call.part(2));
  std::erase_if(bindings, [&](const BindingRecord& binding) { return binding.source != source; });
  return bindings;
}

Response list_between(Call& call) { return bindings_response(call, bindings_between(call)); }

std::optional<BindingRecord> find_binding(Call& call) {
  for (BindingRecord& binding : bindings_between(call)) {
    if (properties_key(binding) == call.part(3)) return std::move(binding);
  }
  return std::nullopt;
}

Response get_binding(Call& call) {
  const auto binding = find_binding(call);
  return binding ? object_response(call.request(), binding_json(*binding)) : not_found();
}

std::optional<amqp::AmqpError> missing_end(const BindingRecord& record, Outcome outcome) {
  if (outcome == Outcome::kNoExchange) return amqp::not_found_exchange(record.vhost, record.source);
  if (outcome != Outcome::kNoDestination) return std::nullopt;
  return record.kind == DestinationKind::kQueue
             ? amqp::not_found_queue(record.vhost, record.destination)
             : amqp::not_found_exchange(record.vhost, record.destination);
}

Response post_binding(Call& call) {
  Body body(call.request());
  BindingRecord record;
  record.vhost = call.part(0);
  record.source = exchange_name(call.part(1));
  record.kind = kind_of(call);
  record.destination = call.part(2);
  record.routing_key = body.text("routing_key", "");
  record.arguments = sorted_arguments(body.arguments("arguments"));
  if (record.routing_key.size() > runtime::kShortStringMax) {
    body.fail("the routing key is longer than 255 bytes");
  }
  if (!body.ok()) return body.fault();
  auto refused = refusal_of(call, record.vhost, [&](const Declarer& who) -> Refusal {
    if (auto refusal = refuse_binding(who, record, false)) return refusal;
    if (record.kind == DestinationKind::kExchange) return std::nullopt;
    // A queue of somebody's connection alone is for no one else.
    const auto queue = who.shard.view().queue(record.vhost, record.destination);
    if (queue == nullptr || !queue->exclusive()) return std::nullopt;
    return amqp::resource_locked(record.vhost, record.destination);
  });
  if (refused) return *refused;
  const auto result = call.propose(Bind{record});
  if (const auto error = missing_end(record, result.outcome)) return amqp_failure(*error);
  Response response = created();
  response.headers.emplace_back("Location", percent_encode(record.destination) + "/" +
                                                percent_encode(properties_key(record)));
  return response;
}

Response delete_binding(Call& call) {
  const auto binding = find_binding(call);
  if (!binding) return not_found();
  auto refused = refusal_of(call, binding->vhost, [&](const Declarer& who) {
    return refuse_binding(who, *binding, true);
  });
  if (refused) return *refused;
  call.propose(Unbind{*binding});
  return no_content();
}

// --- of one queue or exchange ---

bool has_exchange(Call& call, const std::string& vhost, const std::string& name) {
  bool exists = false;
  call.read([&](const View& view) { exists = view.exchange(vhost, name) != nullptr; });
  return exists;
}

Response of_queue(Call& call) {
  bool exists = false;
  call.read([&](const View& view) { exists = view.queue(call.part(0), call.part(1)) != nullptr; });
  if (!exists) return not_found();
  return bindings_response(call,
                           bindings_to(call, call.part(0), DestinationKind::kQueue, call.part(1)));
}

Response of_source(Call& call) {
  const std::string name = exchange_name(call.part(1));
  if (!has_exchange(call, call.part(0), name)) return not_found();
  return bindings_response(call, bindings_from(call, call.part(0), name));
}

Response of_destination(Call& call) {
  const std::string name = exchange_name(call.part(1));
  if (!has_exchange(call, call.part(0), name)) return not_found();
  return bindings_response(call, bindings_to(call, call.part(0), DestinationKind::kExchange, name));
}

}  // namespace

void add_binding_routes(Router& router) {
  constexpr Access kSee = Access::kVhostVisible;
  router.add({"GET", "/api/bindings", Access::kManagement, list_bindings});
  router.add({"GET", "/api/bindings/*", kSee, list_of_vhost});
  router.add({"GET", "/api/bindings/*/e/*/q/*", kSee, list_between});
  router.add({"GET", "/api/bindings/*/e/*/e/*", kSee, list_between});
  router.add({"POST", "/api/bindings/*/e/*/q/*", Access::kVhost, post_binding});
  router.add({"POST", "/api/bindings/*/e/*/e/*", Access::kVhost, post_binding});
  router.add({"GET", "/api/bindings/*/e/*/q/*/*", kSee, get_binding});
  router.add({"GET", "/api/bindings/*/e/*/e/*/*", kSee, get_binding});
  router.add({"DELETE", "/api/bindings/*/e/*/q/*/*", Access::kVhost, delete_binding});
  router.add({"DELETE", "/api/bindings/*/e/*/e/*/*", Access::kVhost, delete_binding});
  router.add({"GET", "/api/queues/*/*/bindings", kSee, of_queue});
  router.add({"GET", "/api/exchanges/*/*/bindings/source", kSee, of_source});
  router.add({"GET", "/api/exchanges/*/*/bindings/destination", kSee, of_destination});
}

}  // namespace ringtail::broker::http
