#include "broker/http/server.h"

#include <httplib.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <system_error>
#include <thread>

#include "broker/http/limits.h"
#include "broker/http/listen_socket.h"
#include "broker/http/routes.h"
#include "broker/http/timed_stream.h"
#include "broker/http/waiting_room.h"
#include "broker/runtime/log.h"

namespace ringtail::broker::http {

using runtime::Code;
using runtime::log;
using runtime::LogLevel;
using runtime::Status;

namespace {

std::uint64_t now_ms() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

void fill(const Response& from, httplib::Response& to) {
  to.status = from.status;
  for (const auto& [name, value] : from.headers) to.set_header(name, value);
  if (from.status == 200) to.set_header("Cache-Control", "no-cache");
  to.set_header("Vary", "accept, accept-encoding, origin");
  if (!from.body.empty()) to.set_content(from.body, from.content_type);
}

// The library's parser and writer around a Router. It accepts no connections itself.
class Front final : public httplib::Server {
 public:
  explicit Front(Router& router) : router_(router) {
    set_payload_max_length(kBodyMax);
    set_pre_routing_handler([](const httplib::Request&, httplib::Response& response) {
      if (!current->begun.refused) return HandlerResponse::Unhandled;
      current->stream->answer_follows();
      fill(*current->begun.refused, response);
      return HandlerResponse::Handled;
    });
    set_exception_handler(
        [](const httplib::Request&, httplib::Response& response, const std::exception_ptr&) {
          current->stream->answer_follows();
          fill(failure(500, "internal_error", "the request could not be worked on"), response);
        });
    const auto answer = [this](const httplib::Request& request, httplib::Response& response) {
      finish(request, response);
    };
    // setup() has put "/" in the place of every path: no expression runs over what a client sent.
    Get("/", answer);
    Post("/", answer);
    Put("/", answer);
    Delete("/", answer);
  }

  // One request and its answer. False: the connection is over.
  bool serve(TimedStream& stream, bool last) {
    Exchange exchange;
    exchange.stream = &stream;
    current = &exchange;
    bool closed = false;
    const bool served = process_request(stream, last, closed,
                                        [this](httplib::Request& request) { setup(request); });
    current = nullptr;
    return served && !closed && !last && exchange.goes_on && !stream.overran();
  }

 private:
  struct Exchange {
    TimedStream* stream = nullptr;
    Request request;
    Router::Begun begun;
    bool goes_on = false;  // what follows on the connection is another request
  };
  // Of this thread's request; the library's callbacks have no other place for it.
  static thread_local Exchange* current;

  // The head has been read.
  void setup(httplib::Request& from) {
    Exchange& exchange = *current;
    Request& to = exchange.request;
    to.method = from.method;
    to.peer = from.remote_addr;
    to.peer_is_loopback = exchange.stream->peer_is_loopback();
    for (const auto& [name, value] : from.headers) to.headers[lower(name)] = value;
    if (read_target(from.target, to)) {
      exchange.begun = router_.begin(to, now_ms());
    } else {
      exchange.begun.refused = bad_request("the path is not well formed");
    }
    const bool has_body = from.has_header("Content-Length") || from.has_header("Transfer-Encoding");
    // Whoever is refused may have a body on its way, which nobody will read.
    exchange.goes_on = !exchange.begun.refused || !has_body;
    if (!exchange.goes_on) {
      from.headers.erase("Connection");
      from.headers.emplace("Connection", "close");
    }
    // The library would wait for the end of the stream.
    if (!has_body) from.headers.emplace("Content-Length", "0");
    // It would unpack the one, without bound, and take the other, curl's default, for a form.
    from.headers.erase("Content-Encoding");
    if (to.header("content-type").find("multipart/form-data") == std::string_view::npos) {
      from.headers.erase("Content-Type");
    }
    from.ranges.clear();
    from.path = std::string("/");
    exchange.stream->body_follows();
  }

  void finish(const httplib::Request& from, httplib::Response& response) {
    Exchange& exchange = *current;
    exchange.request.body = from.body;
    // A form's file is as good as a body (the management pages upload definitions so).
    if (from.has_file("file")) exchange.request.body = from.get_file_value("file").content;
    const Response answer = router_.finish(exchange.request, std::move(exchange.begun));
    exchange.stream->answer_follows();
    fill(answer, response);
  }

  Router& router_;
};

thread_local Front::Exchange* Front::current = nullptr;

}  // namespace

struct HttpServer::Impl {
  Impl(Gateway& shards_gateway, const runtime::Config& node_config)
      : gateway(shards_gateway), config(node_config) {}

  Status listen();
  Status start_threads();
  void work_loop();
  void converse(Visitor visitor);

  Gateway& gateway;
  const runtime::Config& config;
  NodeFacts facts;
  std::unique_ptr<Router> router;
  std::unique_ptr<Front> front;
  std::vector<ListenSocket> listeners;
  WaitingRoom room;
  std::vector<std::thread> threads;
};

Status HttpServer::Impl::listen() {
  Status skipped;
  for (const std::string& address : config.bind) {
    const std::uint16_t port = config.management_port == 0 && !listeners.empty()
                                   ? listeners.front().port()
                                   : config.management_port;
    auto listening = ListenSocket::open(address, port);
    if (listening.ok()) {
      log(LogLevel::kInfo, "listener", "HTTP on {}", listening.value().name());
      facts.listeners.push_back({"http", address, listening.value().port()});
      listeners.push_back(std::move(listening).value());
      continue;
    }
    skipped = listening.status();
    if (skipped.code() != Code::kInvalid || address != "::1") return skipped;
    log(LogLevel::kWarning, "listener", "{}", skipped.text());
  }
  return listeners.empty() ? skipped : Status();
}

Status HttpServer::Impl::start_threads() {
  Status status = room.open();
  if (!status.ok()) return status;
  // Signals belong to the main thread.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    threads.emplace_back([this] { room.run(listeners); });
    for (std::size_t i = 0; i < kThreads; ++i) threads.emplace_back([this] { work_loop(); });
  } catch (const std::system_error& error) {
    status = {Code::kUnavailable, std::string("cannot start an HTTP thread: ") + error.what()};
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return status;
}

void HttpServer::Impl::work_loop() {
  Visitor visitor;
  while (room.next(visitor)) converse(std::move(visitor));
}

// One request: whoever has another waits with all others.
void HttpServer::Impl::converse(Visitor visitor) {
  const int left = visitor.requests_left - 1;
  TimedStream stream(visitor.socket, std::move(visitor.received), room.stopping());
  if (front->serve(stream, left == 0 || room.stopping())) {
    room.come_back({stream.release(), stream.unread(), left});
  } else {
    stream.finish();
  }
}

HttpServer::HttpServer(Gateway& gateway, const runtime::Config& config)
    : impl_(std::make_unique<Impl>(gateway, config)) {}

HttpServer::~HttpServer() { stop(); }

Status HttpServer::start(NodeFacts facts) {
  impl_->facts = std::move(facts);
  impl_->router = std::make_unique<Router>(impl_->gateway, impl_->facts);
  add_routes(*impl_->router);
  return serve();
}

Status HttpServer::start_stopped(NodeFacts facts, std::vector<Call::UserPtr> users) {
  impl_->facts = std::move(facts);
  impl_->router = std::make_unique<Router>(impl_->gateway, impl_->facts);
  impl_->router->set_stopped(std::move(users));
  add_app_routes(*impl_->router);
  return serve();
}

Status HttpServer::serve() {
  impl_->front = std::make_unique<Front>(*impl_->router);
  Status status = impl_->listen();
  if (status.ok()) status = impl_->start_threads();
  if (!status.ok()) stop();
  return status;
}

void HttpServer::stop() {
  impl_->room.stop();
  for (std::thread& thread : impl_->threads) thread.join();
  impl_->threads.clear();
  impl_->room.clear();
  impl_->listeners.clear();
}

std::uint16_t HttpServer::first_port() const {
  return impl_->listeners.empty() ? 0 : impl_->listeners.front().port();
}

}  // namespace ringtail::broker::http
