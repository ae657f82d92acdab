#include "broker/app.h"

#include <algorithm>
#include <cstdlib>
#include <future>
#include <utility>

#include "broker/runtime/log.h"
#include "broker/runtime/uv/uv_side_env.h"
#include "broker/runtime/version.h"
#include "cluster/data_directory.h"

namespace ringtail::broker {

using runtime::Code;
using runtime::log;
using runtime::LogLevel;
using runtime::Status;

namespace {

constexpr int kExitFailed = 1;

// In the place of the shards while there are none.
class Nobody final : public Gateway {
 public:
  std::uint16_t shards() const override { return 0; }
  Status on_shard(runtime::ShardId, const std::function<void(BrokerShard&)>&) override {
    return {Code::kClosed, "the node's app is stopped"};
  }
  Status on_shard_later(
      runtime::ShardId,
      const std::function<void(BrokerShard&, std::function<void()> done)>&) override {
    return {Code::kClosed, "the node's app is stopped"};
  }
};

}  // namespace

App::App(runtime::Config config)
    : config_(std::move(config)),
      signals_([this](int number) { signalled(number); }),
      nobody_(std::make_unique<Nobody>()) {}

App::~App() = default;

int App::run() {
  log(LogLevel::kInfo, "node", "{} is {}, {} shards", config_.node_name, runtime::kVersionLine,
      config_.shards);
  for (const std::string& warning : config_.warnings) {
    log(LogLevel::kWarning, "config", "{}", warning);
  }
  post(Task::kStart);
  thread_ = std::thread([this] { work(); });
  signals_.run();
  thread_.join();
  return exit_code_;
}

// --- signals -------------------------------------------------------------------------------------

void App::signalled(int number) {
  const std::lock_guard hold(mutex_);
  if (number == runtime::kReloadSignal) {
    if (state_ == State::kRunning) node_->reload_certificate();
    return;
  }
  if (quitting_) return;
  quitting_ = true;
  log(LogLevel::kInfo, "node", "stopping on signal {}", number);
  if (state_ == State::kStarting) {
    // It waits, perhaps, for others, and perhaps for ever. It has served nobody, and what is on the
    // disk is as good as after a crash.
    log(LogLevel::kInfo, "node", "stopped before it was ready");
    std::_Exit(0);
  }
  tasks_.push_back(Task::kQuit);
  changed_.notify_all();
}

// --- the thread of the Node ----------------------------------------------------------------------

void App::post(Task task) {
  const std::lock_guard hold(mutex_);
  tasks_.push_back(task);
  changed_.notify_all();
}

void App::set_state(State state, std::string error) {
  const std::lock_guard hold(mutex_);
  state_ = state;
  last_error_ = std::move(error);
}

void App::work() {
  while (true) {
    std::unique_lock hold(mutex_);
    changed_.wait(hold, [this] { return !tasks_.empty(); });
    const Task task = tasks_.front();
    tasks_.pop_front();
    hold.unlock();
    if (task == Task::kStart) start_node();
    if (task == Task::kStop) stop_app();
    if (task != Task::kQuit) continue;
    return quit();
  }
}

void App::start_node() {
  stopped_server_.reset();
  auto node = std::make_unique<Node>(config_, this);
  if (const Status status = node->start(); !status.ok()) {
    log(LogLevel::kError, "node", "cannot start: {}", status.text());
    const int exit_code = node->misconfigured() ? kExitConfig : kExitFailed;
    node.reset();
    if (first_start_) {
      exit_code_ = exit_code;
      return post(Task::kQuit);
    }
    set_state(State::kStopped, status.text());
    return serve_stopped();
  }
  first_start_ = false;
  {
    const std::lock_guard hold(mutex_);
    node_ = std::move(node);
    state_ = State::kRunning;
    last_error_.clear();
  }
  log(LogLevel::kInfo, "node", "ready");
}

void App::stop_app() {
  stop_node();
  set_state(State::kStopped);
  log(LogLevel::kInfo, "node", "the app is stopped, as an operator wished");
  serve_stopped();
}

void App::stop_node() {
  std::promise<void> clients_gone;
  node_->shut_down([&clients_gone] { clients_gone.set_value(); });
  clients_gone.get_future().wait();
  node_->stop();
  const std::lock_guard hold(mutex_);
  node_.reset();
}

void App::quit() {
  if (stopped_server_ != nullptr) stopped_server_->stop();
  if (node_ != nullptr) stop_node();
  if (!first_start_) log(LogLevel::kInfo, "node", "stopped");
  signals_.stop();
}

// --- while the app is stopped --------------------------------------------------------------------

void App::serve_stopped() {
  http::NodeFacts facts;
  facts.config = &config_;
  facts.app = this;
  stopped_server_ = std::make_unique<http::HttpServer>(*nobody_, config_);
  const Status status = stopped_server_->start_stopped(std::move(facts), administrators_);
  if (status.ok()) return;
  // Nobody could start the app again.
  log(LogLevel::kError, "node", "cannot serve while the app is stopped: {}", status.text());
  exit_code_ = kExitFailed;
  post(Task::kQuit);
}

http::AppControl::State App::state() const {
  const std::lock_guard hold(mutex_);
  return state_;
}

std::string App::last_error() const {
  const std::lock_guard hold(mutex_);
  return last_error_;
}

Status App::stop(Users administrators, Members members) {
  const std::lock_guard hold(mutex_);
  if (state_ != State::kRunning || quitting_) return {Code::kInvalid, "the app does not run"};
  state_ = State::kStopping;
  administrators_ = std::move(administrators);
  members_ = std::move(members);
  tasks_.push_back(Task::kStop);
  changed_.notify_all();
  return {};
}

Status App::hold_stopped(std::unique_lock<std::mutex>& hold) {
  hold = std::unique_lock(stopped_mutex_, std::try_to_lock);
  if (!hold) return {Code::kInvalid, "the node is being reset"};
  if (state() == State::kStopped) return {};
  return {Code::kInvalid, "the app has to be stopped first: stop_app"};
}

Status App::start() {
  std::unique_lock<std::mutex> stopped;
  RT_TRY(hold_stopped(stopped));
  const std::lock_guard hold(mutex_);
  state_ = State::kStarting;
  last_error_.clear();
  tasks_.push_back(Task::kStart);
  changed_.notify_all();
  return {};
}

Status App::reset(bool force) {
  std::unique_lock<std::mutex> stopped;
  RT_TRY(hold_stopped(stopped));
  if (!force) {
    if (const Status left = Node::leave_cluster(config_); !left.ok()) {
      return left.within("the node could not leave its cluster (force_reset does without)");
    }
  }
  members_.clear();
  log(LogLevel::kInfo, "node", "reset: everything in {} is forgotten", config_.data_dir);
  return wipe({});
}

Status App::force_boot() {
  std::unique_lock<std::mutex> stopped;
  RT_TRY(hold_stopped(stopped));
  runtime::UvSideEnv side;
  return cluster::set_force_boot(side.env().disk(), config_.data_dir);
}

Status App::join(const std::string& member, bool& already) {
  std::unique_lock<std::mutex> stopped;
  RT_TRY(hold_stopped(stopped));
  runtime::PeerAddress peer;
  if (!runtime::parse_peer(member, peer)) {
    return {Code::kInvalid, "'" + member + "' is neither a node name (name@host) nor host:port"};
  }
  if (member == config_.node_name) return {Code::kInvalid, "a node cannot join itself"};
  const auto known = std::find_if(members_.begin(), members_.end(), [&](const std::string& name) {
    return name == member || name.substr(name.find('@') + 1) == peer.host;
  });
  if (members_.size() > 1) {
    already = known != members_.end();
    if (already) return {};
    return {Code::kInvalid, "the node is in a cluster with others: reset it first"};
  }
  log(LogLevel::kInfo, "node", "everything in {} is forgotten; the next start joins {}",
      config_.data_dir, member);
  return wipe(member);
}

Status App::wipe(const std::string& join) {
  runtime::UvSideEnv side;
  runtime::Disk& disk = side.env().disk();
  auto opened =
      cluster::open_data_directory(side.env(), config_.data_dir, config_.cluster.cookie_file);
  if (!opened.ok()) return opened.status();
  RT_TRY(cluster::wipe_data_directory(disk, config_.data_dir));
  return join.empty() ? Status() : cluster::set_join(disk, config_.data_dir, join);
}

}  // namespace ringtail::broker
