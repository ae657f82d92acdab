// A metadata store with a route table on it, and short words to fill them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "broker/routing/route_table.h"
#include "cluster/metadata/store.h"

namespace ringtail::broker {

struct Routes {
  using Kind = cluster::metadata::DestinationKind;
  using Outcome = cluster::metadata::Outcome;

  void queue(const std::string& name, const std::string& vhost = "/") {
    cluster::metadata::DeclareQueue command;
    command.record.vhost = vhost;
    command.record.name = name;
    store.apply(command);
  }
  void delete_queue(const std::string& name) {
    store.apply(cluster::metadata::DeleteQueue{"/", name, store.queue("/", name)->qid});
  }
  void exchange(const std::string& name, const std::string& type,
                const std::string& arguments = "") {
    cluster::metadata::DeclareExchange command;
    command.record.vhost = "/";
    command.record.name = name;
    command.record.type = type;
    command.record.arguments = arguments;
    store.apply(command);
  }
  void delete_exchange(const std::string& name) {
    store.apply(cluster::metadata::DeleteExchange{"/", name, false});
  }
  static cluster::metadata::BindingRecord record(const std::string& source, Kind kind,
                                                 const std::string& destination,
                                                 const std::string& key,
                                                 const std::string& arguments) {
    return {"/", source, kind, destination, key, arguments};
  }
  Outcome bind(const std::string& source, const std::string& queue, const std::string& key = "",
               const std::string& arguments = "") {
    return store.apply(cluster::metadata::Bind{record(source, Kind::kQueue, queue, key, arguments)})
        .outcome;
  }
  Outcome unbind(const std::string& source, const std::string& queue, const std::string& key = "",
                 const std::string& arguments = "") {
    return store
        .apply(cluster::metadata::Unbind{record(source, Kind::kQueue, queue, key, arguments)})
        .outcome;
  }
  Outcome bind_exchange(const std::string& source, const std::string& destination,
                        const std::string& key = "") {
    return store
        .apply(cluster::metadata::Bind{record(source, Kind::kExchange, destination, key, "")})
        .outcome;
  }
  Outcome unbind_exchange(const std::string& source, const std::string& destination,
                          const std::string& key = "") {
    return store
        .apply(cluster::metadata::Unbind{record(source, Kind::kExchange, destination, key, "")})
        .outcome;
  }

  using Names = std::vector<std::string>;
  // The names of the queues that the message reaches, in order.
  Names route(const std::string& exchange, const Routable& message) const {
    const Exchange* found = table.find("/", exchange);
    if (found == nullptr) return {"no such exchange"};
    std::vector<const cluster::metadata::QueueRecord*> queues;
    table.route(*found, message, queues);
    Names names;
    for (const auto* queue : queues) names.push_back(queue->name);
    return names;
  }
  Names route(const std::string& exchange, std::string_view key = "") const {
    return route(exchange, Routable{key, {}});
  }

  cluster::metadata::Store store{1};
  RouteTable table{store};
};

}  // namespace ringtail::broker
