#include "broker/http/binding_rows.h"

#include "broker/http/limits.h"

namespace ringtail::broker::http {

using cluster::metadata::BindingRecord;
using cluster::metadata::DestinationKind;
using cluster::metadata::View;

namespace {

BindingRecord implied(const std::string& vhost, const std::string& queue) {
  return {vhost, "", DestinationKind::kQueue, queue, queue, ""};
}

// `portion` visits from `skip` on and says how many there were.
template <typename Portion>
void add_in_portions(Call& call, Bindings& bindings, Portion portion) {
  std::size_t skip = 0;
  std::size_t visited = 0;
  do {
    const bool read = call.read([&](const View& view) {
      visited =
          portion(view, skip, [&](const BindingRecord& binding) { bindings.push_back(binding); });
    });
    if (!read) return;
    skip += visited;
  } while (visited == kPortion);
}

}  // namespace

Bindings bindings_from(Call& call, const std::string& vhost, const std::string& source) {
  Bindings bindings;
  if (source.empty()) {
    call.read([&](const View& view) {
      view.for_each_queue_of(
          vhost, [&](const auto& queue) { bindings.push_back(implied(vhost, queue->name)); });
    });
    return bindings;
  }
  add_in_portions(call, bindings, [&](const View& view, std::size_t skip, const auto& visit) {
    return view.visit_bindings_from(vhost, source, skip, kPortion, visit);
  });
  return bindings;
}

Bindings bindings_to(Call& call, const std::string& vhost, DestinationKind kind,
                     const std::string& destination) {
  Bindings bindings;
  if (kind == DestinationKind::kQueue) {
    call.read([&](const View& view) {
      if (view.queue(vhost, destination) != nullptr) {
        bindings.push_back(implied(vhost, destination));
      }
    });
  }
  add_in_portions(call, bindings, [&](const View& view, std::size_t skip, const auto& visit) {
    return view.visit_bindings_to(vhost, kind, destination, skip, kPortion, visit);
  });
  return bindings;
}

Bindings bindings_of_vhost(Call& call, const std::string& vhost) {
  std::vector<std::string> sources;
  call.read([&](const View& view) {
    view.for_each_exchange(vhost, [&](const auto& exchange) { sources.push_back(exchange->name); });
  });
  Bindings bindings;
  for (const std::string& source : sources) {
    Bindings some = bindings_from(call, vhost, source);
    bindings.insert(bindings.end(), std::make_move_iterator(some.begin()),
                    std::make_move_iterator(some.end()));
  }
  return bindings;
}

std::string exchange_name(const std::string& part) {
  return part == "amq.default" ? std::string() : part;
}

}  // namespace ringtail::broker::http
