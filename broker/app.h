// The process of a node: starts the Node, stops it when a signal says so, and, for operators who
// are used to RabbitMQ's `stop_app` and `start_app`, keeps the management interface when nothing
// else runs, so that the node can be reset, or join a cluster, in between.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "broker/http/app_control.h"
#include "broker/http/server.h"
#include "broker/node.h"
#include "broker/runtime/config.h"
#include "broker/runtime/uv/uv_signals.h"

namespace ringtail::broker {

// As sysexits.h and RabbitMQ's tools have it: the configuration is wrong.
inline constexpr int kExitConfig = 78;

// Made and run on the main thread, which takes the signals meanwhile; the Node is made, used and
// ended on a thread of the App.

class App final : public http::AppControl {
 public:
  explicit App(runtime::Config config);
  ~App() override;
  App(const App&) = delete;
  App& operator=(const App&) = delete;

  // Until SIGTERM or SIGINT; the exit code.
  int run();

  State state() const override;
  std::string last_error() const override;
  runtime::Status stop(Users administrators, Members members) override;
  runtime::Status start() override;
  runtime::Status reset(bool force) override;
  runtime::Status force_boot() override;
  runtime::Status join(const std::string& member, bool& already) override;

 private:
  enum class Task : std::uint8_t { kStart, kStop, kQuit };

  // --- main thread ---
  void signalled(int number);
  // --- the thread of the Node ---
  void work();
  void start_node();
  void stop_app();
  void stop_node();
  void quit();
  void serve_stopped();

  void post(Task task);
  void set_state(State state, std::string error = {});
  // kInvalid unless it is stopped; nobody else works on the data directory until the lock goes.
  runtime::Status hold_stopped(std::unique_lock<std::mutex>& hold);
  runtime::Status wipe(const std::string& join);

  const runtime::Config config_;
  runtime::UvSignals signals_;
  std::unique_ptr<Gateway> nobody_;
  int exit_code_ = 0;
  bool first_start_ = true;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  State state_ = State::kStarting;
  std::string last_error_;
  std::deque<Task> tasks_;
  Users administrators_;
  Members members_;
  bool quitting_ = false;
  std::mutex stopped_mutex_;  // held while something works on the data directory of a stopped node

  // Of the thread of the Node; but for the reload of certificates, under mutex_.
  std::unique_ptr<Node> node_;
  std::unique_ptr<http::HttpServer> stopped_server_;
  std::thread thread_;
};

}  // namespace ringtail::broker
