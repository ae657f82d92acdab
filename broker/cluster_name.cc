#include "broker/cluster_name.h"

#include <memory>

#include "broker/json_table.h"

namespace ringtail::broker {

using cluster::metadata::ParameterRecord;
using cluster::metadata::View;

const std::string& configured_cluster_name(const runtime::Config& config) {
  return config.cluster_name.empty() ? config.node_name : config.cluster_name;
}

std::string cluster_name(const View& view, const runtime::Config& config) {
  std::string name = configured_cluster_name(config);
  view.for_each_parameter([&name](const std::shared_ptr<const ParameterRecord>& parameter) {
    if (!parameter->component.empty() || parameter->name != kClusterNameParameter) return;
    const Json value = Json::parse(parameter->value, nullptr, false);
    if (value.is_string()) name = value.get<std::string>();
  });
  return name;
}

}  // namespace ringtail::broker
