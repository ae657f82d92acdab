// Declares the exchange, queues and bindings of a run, or deletes them, on a connection of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "broker/runtime/status.h"
#include "tools/perf/client.h"
#include "tools/perf/options.h"

namespace ringtail::perf {

// Used for one operation, then destroyed.
class Topology final : private ClientUser {
 public:
  enum class Operation : std::uint8_t { kDeclare, kDelete };
  using Done = std::function<void(const runtime::Status&)>;

  // At most `window` requests are on their way at a time.
  Topology(runtime::Env& env, const Options& options, Operation operation, std::uint64_t window);

  // `done` runs once, from the loop, with the connection closed.
  void run(Done done);
  // Begins no more requests; `done` runs as soon as those under way are answered.
  void stop() { last_ = next_; }

  std::uint64_t answered() const { return answered_; }
  // Of the requests alone, without opening the connection; nanoseconds.
  std::uint64_t elapsed_ns() const { return ended_ns_ - began_ns_; }
  std::uint64_t slowest_ns() const { return slowest_ns_; }

 private:
  bool on_frame(const amqp::Frame&) noexcept override { return false; }
  void on_lost(const std::string& reason) noexcept override;

  void send_more();
  void send(std::uint64_t step);
  void declare_exchange(Client::Answer answered);
  void declare_queue(int index, Client::Answer answered);
  void bind_queue(int index, Client::Answer answered);
  void delete_queue(int index, Client::Answer answered);
  void answer(std::uint64_t sent_ns);

  const Options& options_;
  const Operation operation_;
  const std::uint64_t window_;
  const std::string queue_arguments_;  // encoded
  runtime::Env& env_;
  Client client_;
  Done done_;
  std::uint64_t last_;      // number of requests in all
  std::uint64_t next_ = 0;  // the next to be sent
  std::uint64_t answered_ = 0;
  std::uint64_t began_ns_ = 0;
  std::uint64_t ended_ns_ = 0;
  std::uint64_t slowest_ns_ = 0;
  bool ending_ = false;
};

}  // namespace ringtail::perf
