#include "tools/perf/topology.h"

#include <algorithm>
#include <utility>

#include "tools/perf/arguments.h"

namespace ringtail::perf {

namespace {

bool has_own_exchange(const Options& options) {
  // Exchanges that every broker has are not ours to declare.
  return !options.exchange.empty() && options.exchange.rfind("amq.", 0) != 0;
}

std::uint64_t step_count(const Options& options, Topology::Operation operation) {
  const auto queues = static_cast<std::uint64_t>(options.queues);
  const std::uint64_t exchange = has_own_exchange(options) ? 1 : 0;
  const bool bind = operation == Topology::Operation::kDeclare && !options.exchange.empty();
  return exchange + (bind ? 2 * queues : queues);
}

}  // namespace

Topology::Topology(runtime::Env& env, const Options& options, Operation operation,
                   std::uint64_t window)
    : options_(options),
      operation_(operation),
      window_(window),
      queue_arguments_(encode_arguments(options.queue_arguments)),
      env_(env),
      client_(env, options.control, options.heartbeat_s),
      last_(step_count(options, operation)) {}

void Topology::run(Done done) {
  done_ = std::move(done);
  client_.open(*this, [this] {
    began_ns_ = env_.clock().monotonic_ns();
    ended_ns_ = began_ns_;
    send_more();
  });
}

void Topology::send_more() {
  while (next_ < last_ && next_ - answered_ < window_) send(next_++);
  client_.flush();
  if (answered_ < next_ || next_ < last_ || std::exchange(ending_, true)) return;
  client_.close([this] { std::exchange(done_, nullptr)(runtime::Status()); });
}

// The steps are: the exchange, the queues, their bindings; deleting goes through the queues and
// ends with the exchange.
void Topology::send(std::uint64_t step) {
  const std::uint64_t sent_ns = env_.clock().monotonic_ns();
  const auto answered = [this, sent_ns](std::span<const std::uint8_t>) { answer(sent_ns); };
  if (operation_ == Operation::kDelete) {
    if (step < static_cast<std::uint64_t>(options_.queues)) {
      delete_queue(static_cast<int>(step), answered);
    } else {
      amqp::ExchangeDelete method;
      method.exchange = options_.exchange;
      client_.call<amqp::ExchangeDeleteOk>(method, answered);
    }
    return;
  }
  if (has_own_exchange(options_)) {
    if (step == 0) {
      declare_exchange(answered);
      return;
    }
    --step;
  }
  const int index = static_cast<int>(step);
  if (index < options_.queues) {
    declare_queue(index, answered);
  } else {
    bind_queue(index - options_.queues, answered);
  }
}

void Topology::declare_exchange(Client::Answer answered) {
  amqp::ExchangeDeclare method;
  method.exchange = options_.exchange;
  method.type = options_.exchange_type;
  method.durable = options_.durable;
  client_.call<amqp::ExchangeDeclareOk>(method, std::move(answered));
}

void Topology::declare_queue(int index, Client::Answer answered) {
  const std::string name = options_.queue_at(index);
  amqp::QueueDeclare method;
  method.queue = name;
  method.durable = options_.durable;
  method.auto_delete = options_.auto_delete;
  method.arguments = runtime::as_bytes(queue_arguments_);
  client_.call<amqp::QueueDeclareOk>(method, std::move(answered));
}

void Topology::bind_queue(int index, Client::Answer answered) {
  const std::string name = options_.queue_at(index);
  const std::string key =
      options_.binding_key.empty() ? options_.key_at(index) : options_.binding_key;
  amqp::QueueBind method;
  method.queue = name;
  method.exchange = options_.exchange;
  method.routing_key = key;
  client_.call<amqp::QueueBindOk>(method, std::move(answered));
}

void Topology::delete_queue(int index, Client::Answer answered) {
  const std::string name = options_.queue_at(index);
  amqp::QueueDelete method;
  method.queue = name;
  client_.call<amqp::QueueDeleteOk>(method, std::move(answered));
}

void Topology::answer(std::uint64_t sent_ns) {
  ++answered_;
  ended_ns_ = env_.clock().monotonic_ns();
  slowest_ns_ = std::max(slowest_ns_, ended_ns_ - sent_ns);
  send_more();
}

void Topology::on_lost(const std::string& reason) noexcept {
  const runtime::Status status(runtime::Code::kUnavailable, client_.name() + ": " + reason);
  // Lost before it was closed: the socket still has its end to come.
  client_.close([this, status] { std::exchange(done_, nullptr)(status); });
}

}  // namespace ringtail::perf
