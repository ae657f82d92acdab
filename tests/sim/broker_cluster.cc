#include "tests/sim/broker_cluster.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>

#include "cluster/data_directory.h"
#include "cluster/metadata/commands_codec.h"

namespace ringtail::sim {

using runtime::kMillisecondNs;

BrokerCluster::BrokerCluster(std::uint64_t seed, std::uint32_t machines, std::uint32_t clients,
                             bool joining)
    : world(seed), joining_(joining) {
  for (std::uint32_t i = 1; i <= machines; ++i) {
    Machine machine;
    machine.host =
        std::make_unique<runtime::SimHost>(world, std::vector<std::string>{address_of(i)});
    machine.shards = static_cast<std::uint16_t>(world.rng().between(1, 2));
    // The secret is the operator's to bring.
    runtime::SimEnv env(*machine.host);
    RT_CHECK(env.disk().make_directory("/data").ok(), "no data directory");
    RT_CHECK(env.disk().replace("/data/cookie", "secret").ok(), "no cookie");
    machines_.push_back(std::move(machine));
  }
  for (std::uint32_t i = 1; i <= clients; ++i) {
    client_hosts_.push_back(std::make_unique<runtime::SimHost>(
        world, std::vector<std::string>{"10.0.1." + std::to_string(i)}));
  }
}

BrokerCluster::~BrokerCluster() {
  for (Machine& one : machines_) one.node.reset();
}

std::string BrokerCluster::address_of(std::uint32_t number) {
  return "10.0.0." + std::to_string(number);
}

std::string BrokerCluster::name_of(std::uint32_t number) {
  return "n" + std::to_string(number) + "@" + address_of(number);
}

bool BrokerCluster::serves(std::uint32_t number) {
  return node(number) != nullptr && node(number)->ready() && !stopping(number) && !frozen(number);
}

bool BrokerCluster::knows_all(std::uint32_t number) {
  return serves(number) && node(number)->control().holds_lease();
}

bool BrokerCluster::knows_queue(std::uint32_t number, const std::string& name) {
  if (!serves(number)) return false;
  for (std::size_t shard = 0; shard < node(number)->shards(); ++shard) {
    if (node(number)->shard(shard).view().queue("/", name) == nullptr) return false;
  }
  return true;
}

bool BrokerCluster::knows_binding(std::uint32_t number, const std::string& queue,
                                  const std::string& key) {
  if (!serves(number)) return false;
  for (std::size_t shard = 0; shard < node(number)->shards(); ++shard) {
    bool found = false;
    node(number)->shard(shard).view().for_each_binding(
        "/", [&](const cluster::metadata::BindingRecord& record) {
          found |= record.destination == queue && record.routing_key == key;
        });
    if (!found) return false;
  }
  return true;
}

// --- processes -----------------------------------------------------------------------------------

void BrokerCluster::start(std::uint32_t number) {
  runtime::Config config;
  config.node_name = name_of(number);
  config.bind = {address_of(number)};
  config.loopback_users = {};  // clients come from elsewhere
  if (joining_) {
    if (number != 1) config.cluster.join = {{address_of(1), config.cluster.port}};
  } else {
    for (std::uint32_t i = 1; i <= size(); ++i) config.cluster.peers.push_back(name_of(i));
  }
  Machine& machine = machines_[number - 1];
  machine.node = std::make_unique<BrokerNode>(*machine.host, machine.shards, std::move(config),
                                              runtime::NodeId{}, BrokerNode::Begin::kOnly);
}

void BrokerCluster::start_all() {
  for (std::uint32_t number = 1; number <= size(); ++number) {
    if (node(number) == nullptr) start(number);
  }
}

void BrokerCluster::kill(std::uint32_t number) {
  Machine& machine = machines_[number - 1];
  machine.node.reset();
  machine.frozen = false;
  machine.stopping = false;
}

void BrokerCluster::crash(std::uint32_t number) {
  kill(number);
  host(number).drive().crash();
}

void BrokerCluster::freeze(std::uint32_t number) {
  machines_[number - 1].frozen = true;
  node(number)->pause();
}

void BrokerCluster::stop(std::uint32_t number) {
  machines_[number - 1].stopping = true;
  node(number)->stop();
}

void BrokerCluster::come_back() {
  for (std::uint32_t number = 1; number <= size(); ++number) {
    Machine& machine = machines_[number - 1];
    if (std::exchange(machine.frozen, false)) machine.node->resume();
    if (machine.stopping && machine.node->stopped()) kill(number);
    if (machine.node == nullptr) start(number);
  }
}

// --- harm ----------------------------------------------------------------------------------------

runtime::SimHost& BrokerCluster::random_host() {
  const std::uint64_t at = world.rng().below(machines_.size() + client_hosts_.size());
  if (at < machines_.size()) return *machines_[at].host;
  return *client_hosts_[at - machines_.size()];
}

void BrokerCluster::harm() {
  runtime::SimRng& rng = world.rng();
  const auto number = static_cast<std::uint32_t>(rng.between(1, size()));
  const bool runs = node(number) != nullptr;
  switch (rng.between(0, 13)) {
    case 0:
    case 1:
      if (runs) kill(number);
      return;
    case 2:
      if (runs) crash(number);
      return;
    case 3:
      if (runs && !frozen(number)) freeze(number);
      return;
    case 4:
      if (serves(number)) stop(number);
      return;
    case 5:
      host(number).drive().options().sync_max_ns = rng.between(1, 300) * kMillisecondNs;
      host(number).drive().options().sync_min_ns = kMillisecondNs / 2;
      return;
    case 6:
      return make_trouble();
    case 7:
    case 8:
    case 9:
      return harm_ways(number);
    case 10:
      return world.network().paths().heal_all();
    default:
      return come_back();
  }
}

void BrokerCluster::harm_ways(std::uint32_t number) {
  runtime::SimRng& rng = world.rng();
  runtime::SimPaths& paths = world.network().paths();
  runtime::SimHost& one = host(number);
  runtime::SimHost& other = random_host();
  if (&one == &other) return paths.isolate(one);
  switch (rng.between(0, 3)) {
    case 0:
      return paths.cut_both(one, other);
    case 1:
      return paths.cut(one, other);
    case 2:
      return paths.cut(other, one);
    default:
      return paths.set_delay(one, other, 0, rng.between(0, 400) * kMillisecondNs);
  }
}

// Nobody who runs refuses a connection: it is how others know that a process has ended (CL12).
void BrokerCluster::make_trouble() {
  runtime::SimRng& rng = world.rng();
  runtime::SimNetOptions& net = world.network().options();
  net.reset = 0.002 * static_cast<double>(rng.below(3));
  net.reset_on_heal = rng.chance(0.3) ? 0.3 : 0;
  net.kernel_buffer_min = 1000;
}

void BrokerCluster::heal() {
  world.network().options() = {};
  world.network().paths().heal_all();
  world.network().paths().clear_delays();
  for (Machine& one : machines_) one.host->drive().options() = {};
  come_back();
}

// --- looking -------------------------------------------------------------------------------------

bool BrokerCluster::is_one() { return why_not_one().empty(); }

std::string BrokerCluster::why_not_one() {
  std::optional<std::string> first;
  for (std::uint32_t number = 1; number <= size(); ++number) {
    const std::string who = name_of(number);
    BrokerNode* one = node(number);
    if (one == nullptr || stopping(number)) return who + " does not run";
    if (!one->ready()) return who + " is not ready";
    if (!one->control().holds_lease()) return who + " has no lease";
    for (std::size_t shard = 0; shard < one->shards(); ++shard) {
      for (std::uint32_t other = 1; other <= size(); ++other) {
        if (node(other) != nullptr && one->shard(shard).node_is_up(node(other)->id())) continue;
        return who + " does not reach " + name_of(other);
      }
      cluster::metadata::SavedState saved = one->shard(shard).view().save();
      // The owners alone know how far the proposals of each have been counted.
      for (auto& record : saved.nodes) record.last_request = 0;
      std::size_t up = 0;
      one->shard(shard).view().for_each_node([&up](const auto& record) { up += record->up; });
      const std::string text = encode(saved);
      if (up != size()) return who + " knows others to be down";
      if (text != first.value_or(text)) return who + " knows another metadata";
      first = text;
    }
  }
  return {};
}

void BrokerCluster::check_alive() {
  for (std::uint32_t number = 1; number <= size(); ++number) {
    BrokerNode* one = node(number);
    if (one == nullptr) continue;
    CAPTURE(number);
    CHECK_MESSAGE(one->failed().ok(), one->failed().text());
    CHECK_MESSAGE(one->lost().ok(), one->lost().text());
  }
}

}  // namespace ringtail::sim
