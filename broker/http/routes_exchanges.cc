// Exchanges.
#include <algorithm>
#include <tuple>

#include "broker/channel_names.h"
#include "broker/http/binding_rows.h"
#include "broker/http/body.h"
#include "broker/http/declaring.h"
#include "broker/http/listing.h"
#include "broker/http/router.h"
#include "broker/http/routes.h"
#include "broker/http/shapes.h"

namespace ringtail::broker::http {

using cluster::metadata::DeclareExchange;
using cluster::metadata::DeleteExchange;
using cluster::metadata::ExchangeRecord;
using cluster::metadata::Outcome;
using cluster::metadata::View;

namespace {

using ExchangePtr = std::shared_ptr<const ExchangeRecord>;

Response exchanges_response(Call& call, std::vector<ExchangePtr> exchanges) {
  std::sort(exchanges.begin(), exchanges.end(), [](const auto& a, const auto& b) {
    return std::tie(a->vhost, a->name) < std::tie(b->vhost, b->name);
  });
  Listing listing;
  listing.count = exchanges.size();
  listing.pages = true;
  listing.row = [&](std::size_t row) { return exchange_json(*exchanges[row]); };
  listing.name = [&](std::size_t row) { return std::string_view(exchanges[row]->name); };
  return list_response(call.request(), listing);
}

Response list_exchanges(Call& call) {
  std::vector<ExchangePtr> exchanges;
  call.read([&](const View& view) {
    view.for_each_vhost([&](const auto& vhost) {
      if (!call.may_see(view, vhost->name)) return;
      view.for_each_exchange(vhost->name,
                             [&](const auto& exchange) { exchanges.push_back(exchange); });
    });
  });
  return exchanges_response(call, std::move(exchanges));
}

Response exchanges_of_vhost(Call& call) {
  std::vector<ExchangePtr> exchanges;
  call.read([&](const View& view) {
    view.for_each_exchange(call.part(0),
                           [&](const auto& exchange) { exchanges.push_back(exchange); });
  });
  return exchanges_response(call, std::move(exchanges));
}

ExchangePtr find(Call& call) {
  ExchangePtr exchange;
  call.read([&](const View& view) {
    exchange = view.exchange(call.part(0), exchange_name(call.part(1)));
  });
  return exchange;
}

Response get_exchange(Call& call) {
  const ExchangePtr exchange = find(call);
  if (exchange == nullptr) return not_found();
  Json json = exchange_json(*exchange);
  json["incoming"] = Json::array();
  json["outgoing"] = Json::array();
  return object_response(call.request(), std::move(json));
}

Response put_exchange(Call& call) {
  Body body(call.request());
  ExchangeRecord wanted;
  wanted.vhost = call.part(0);
  wanted.name = clean_name(exchange_name(call.part(1)));
  wanted.type = body.text("type", "direct");
  wanted.durable = body.boolean("durable", false);
  wanted.auto_delete = body.boolean("auto_delete", false);
  wanted.internal = body.boolean("internal", false);
  wanted.arguments = body.arguments("arguments");
  if (!body.ok()) return body.fault();
  const auto refused = refusal_of(
      call, wanted.vhost, [&](const Declarer& who) { return refuse_exchange(who, wanted); });
  if (refused) return *refused;
  const auto result = call.propose(DeclareExchange{wanted});
  if (result.outcome == Outcome::kNoVhost) return not_found();
  if (result.outcome == Outcome::kDone) return created();
  if (result.exchange != nullptr) {
    if (const auto error = refuse_other_exchange(*result.exchange, wanted)) {
      return amqp_failure(*error);
    }
  }
  return no_content();
}

Response delete_exchange(Call& call) {
  const ExchangePtr exchange = find(call);
  if (exchange == nullptr) return not_found();
  const auto refused = refusal_of(call, exchange->vhost, [&](const Declarer& who) {
    return refuse_exchange_delete(who, exchange->name);
  });
  if (refused) return *refused;
  const auto result = call.propose(
      DeleteExchange{exchange->vhost, exchange->name, call.request().flag("if-unused")});
  if (result.outcome == Outcome::kInUse) {
    return amqp_failure(amqp::exchange_in_use(exchange->vhost, exchange->name));
  }
  return no_content();
}

}  // namespace

void add_exchange_routes(Router& router) {
  router.add({"GET", "/api/exchanges", Access::kManagement, list_exchanges});
  router.add({"GET", "/api/exchanges/*", Access::kVhostVisible, exchanges_of_vhost});
  router.add({"GET", "/api/exchanges/*/*", Access::kVhostVisible, get_exchange});
  router.add({"PUT", "/api/exchanges/*/*", Access::kVhost, put_exchange});
  router.add({"DELETE", "/api/exchanges/*/*", Access::kVhost, delete_exchange});
}

}  // namespace ringtail::broker::http
