#include "tests/sim/sim_cluster.h"

#include <utility>

namespace ringtail::sim {

using cluster::metadata::CommandResult;
using cluster::metadata::Proposed;
using runtime::ShardId;
using runtime::Status;

void Proposer::propose(cluster::metadata::Command command, Done done) {
  auto letter = std::make_unique<cluster::metadata::Propose>();
  letter->request = ++last_;
  letter->command = std::move(command);
  waiting_.emplace(last_, std::move(done));
  shard_.post(self_, owner_, std::move(letter));
}

void Proposer::receive(runtime::LetterPtr letter) noexcept {
  auto& answer = runtime::letter_cast<Proposed>(*letter);
  const auto found = waiting_.find(answer.request);
  RT_CHECK(found != waiting_.end(), "an answer that nobody waits for");
  const Done done = std::move(found->second);
  waiting_.erase(found);
  done(answer.result);
}

std::string ClusterNode::name_of(std::uint32_t number) {
  return "n" + std::to_string(number) + "@" + host_of(number);
}

std::string ClusterNode::host_of(std::uint32_t number) {
  return "10.0.0." + std::to_string(number);
}

namespace {

cluster::DataDirectory open_directory(runtime::SimHost& host) {
  runtime::SimEnv env(host);
  // The secret is the operator's to bring.
  RT_CHECK(env.disk().make_directory("/data").ok(), "no data directory");
  if (!env.disk().content("/data/cookie").ok()) {
    RT_CHECK(env.disk().replace("/data/cookie", "secret").ok(), "no cookie");
  }
  auto opened = cluster::open_data_directory(env, "/data", "");
  RT_CHECK(opened.ok(), opened.status().text().c_str());
  return std::move(opened).value();
}

}  // namespace

ClusterNode::ClusterNode(runtime::SimHost& host, std::uint32_t number,
                         const SimClusterOptions& options)
    : host_(host),
      options_(options),
      directory_(open_directory(host)),
      node_(host, directory_.identity.node, options.shards + std::size_t{1}) {
  const ShardId control{options.shards};
  for (std::uint16_t i = 0; i < options.shards; ++i) {
    node_.driver(i).run([&] {
      runtime::Shard& shard = node_.shard(i);
      services_.push_back(std::make_unique<cluster::metadata::Service>(shard, control));
      buses_.push_back(
          std::make_unique<cluster::MessageBus>(shard, options.shards, directory_.cookie, codecs_));
      shard.set_remote(buses_.back().get());
      proposers_.push_back(std::make_unique<Proposer>(shard, services_.back()->owner()));
    });
  }
  cluster::ControlPlaneOptions plane;
  plane.identity = directory_.identity;
  plane.cookie = directory_.cookie;
  plane.force_boot = directory_.force_boot;
  plane.name = name_of(number);
  plane.host = host_of(number);
  plane.data_dir = "/data";
  plane.bind = {host_of(number)};
  plane.port = kClusterPort;
  plane.data_shards = options.shards;
  plane.formation.join = options.join;
  plane.formation.listed = options.listed;
  plane.retires = options.retires;
  node_.driver(options.shards).run([&] {
    control_ = std::make_unique<cluster::ControlPlane>(node_.shard(options.shards), plane);
    if (options.retires) {
      return control_->retire([this](const Status& status) {
        retired_ = status.ok();
        ended_ = status;
      });
    }
    control_->start(
        [this](const cluster::ControlPlane::Started& started) {
          serves_ = started.status.ok();
          ended_ = started.status;
        },
        [this](const Status& why) { ended_ = why; });
  });
}

ClusterNode::~ClusterNode() {
  if (!stopped_) {
    node_.kill();
    host_.drive().kill_processes();
  }
  control_.reset();
  for (std::uint16_t i = 0; i < options_.shards; ++i) node_.shard(i).set_remote(nullptr);
  proposers_.clear();
  buses_.clear();
  services_.clear();
}

void ClusterNode::stop() {
  run_on(options_.shards,
         [this] { control_->leave([this] { control_->close([this] { stopped_ = true; }); }); });
}

void ClusterNode::propose(std::size_t shard, cluster::metadata::Command command,
                          Proposer::Done done) {
  run_on(shard, [&] { proposers_[shard]->propose(std::move(command), std::move(done)); });
}

}  // namespace ringtail::sim
