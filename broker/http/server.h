// The HTTP server: accepts connections, and answers their requests through a Router, on a few
// threads of its own. Its clients, however many or slow, cost the shards nothing but what they ask.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "broker/http/node_facts.h"
#include "broker/http/router.h"
#include "broker/runtime/status.h"

namespace ringtail::broker::http {

// Made, started and stopped by the node on its main thread.
class HttpServer {
 public:
  // `gateway` and `config` outlive it.
  HttpServer(Gateway& gateway, const runtime::Config& config);
  ~HttpServer();

  // Opens a listener on every address of config.bind, then serves. `facts` are completed with
  // them. A port in use is kBusy; as with AMQP, a missing ::1 is passed over.
  runtime::Status start(NodeFacts facts);
  // The same while the node's app is stopped: app_control.h alone, for these users.
  runtime::Status start_stopped(NodeFacts facts, std::vector<Call::UserPtr> users);
  // Closes the listeners, ends what is going on and waits for the threads. Requests that are being
  // worked on get their answers, so the shards must still run. Idempotent.
  void stop();

  // 0: not started.
  std::uint16_t first_port() const;

 private:
  runtime::Status serve();

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ringtail::broker::http
