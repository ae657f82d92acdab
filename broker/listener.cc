#include "broker/listener.h"

#include <algorithm>

#include "broker/broker_shard.h"
#include "broker/runtime/log.h"

namespace ringtail::broker {

using runtime::log;
using runtime::LogLevel;
using runtime::ShardId;
using runtime::Status;

Listener::Listener(BrokerShard& broker_shard, std::uint16_t shards)
    : broker_shard_(broker_shard), connections_(shards) {
  broker_shard_.set_connection_ended([this](ShardId shard) { --connections_[shard.value]; });
}

Listener::~Listener() { broker_shard_.set_connection_ended(nullptr); }

bool Listener::has_tls() const {
  const runtime::Config& config = broker_shard_.config();
  return config.amqps_port != 0 || !config.extra_amqps_listeners.empty();
}

Status Listener::open() {
  // The certificate first: a node that cannot start for it has accepted nobody.
  if (has_tls()) RT_TRY(load_certificate());
  RT_TRY(open_plain());
  return has_tls() ? open_tls() : Status();
}

Status Listener::open_plain() {
  const runtime::Config& config = broker_shard_.config();
  if (config.amqp_listener_enabled) {
    Status skipped;
    for (const std::string& address : config.bind) {
      // With port 0 all addresses share the port that the first one got.
      const std::uint16_t port = config.amqp_port == 0 ? first_port() : config.amqp_port;
      RT_TRY(open_bound(address, port, false, skipped));
    }
    if (listeners_.empty() && !skipped.ok()) return skipped;
  }
  for (const runtime::ListenAddress& extra : config.extra_amqp_listeners) {
    RT_TRY(open_one(extra.address, extra.port, false));
  }
  return {};
}

Status Listener::load_certificate() {
  const runtime::Config& config = broker_shard_.config();
  runtime::Result<runtime::TlsFiles> files = runtime::read_tls_files(config.tls);
  RT_TRY(files.status());
  RT_TRY(use_certificate(files.value()));
  certificate_files_ = std::move(files).value();
  certificate_timer_ =
      broker_shard_.shard().env().timers().make([this] { check_certificate(false); });
  certificate_timer_->start(runtime::kTlsFilesCheckMs, runtime::kTlsFilesCheckMs);
  return {};
}

Status Listener::open_tls() {
  const runtime::Config& config = broker_shard_.config();
  if (config.amqps_port != 0) {
    Status skipped;
    const std::size_t before = listeners_.size();
    for (const std::string& address : config.bind) {
      RT_TRY(open_bound(address, config.amqps_port, true, skipped));
    }
    if (listeners_.size() == before && !skipped.ok()) return skipped;
  }
  for (const runtime::ListenAddress& extra : config.extra_amqps_listeners) {
    RT_TRY(open_one(extra.address, extra.port, true));
  }
  return {};
}

Status Listener::open_bound(const std::string& address, std::uint16_t port, bool tls,
                            Status& skipped) {
  const Status status = open_one(address, port, tls);
  if (status.ok() || status.code() != runtime::Code::kInvalid || address != "::1") return status;
  log(LogLevel::kWarning, "listener", "{}", status.text());
  skipped = status;
  return {};
}

Status Listener::open_one(const std::string& address, std::uint16_t port, bool tls) {
  auto listener = broker_shard_.shard().env().net().listen(
      address, port,
      [this, tls](std::unique_ptr<runtime::AcceptedSocket> socket) {
        accepted(std::move(socket), tls);
      },
      broker_shard_.config().tcp_backlog);
  if (!listener) return listener.status();
  log(LogLevel::kInfo, "listener", "{} on {}", tls ? "AMQP over TLS" : "AMQP",
      listener.value()->local_name());
  listeners_.push_back(std::move(listener).value());
  protocols_.emplace_back(tls ? "amqp/ssl" : "amqp");
  return {};
}

std::uint16_t Listener::first_port() const {
  return listeners_.empty() ? 0 : listeners_.front()->port();
}

std::vector<Listener::Open> Listener::listening() const {
  std::vector<Open> open;
  for (std::size_t i = 0; i < listeners_.size(); ++i) {
    open.push_back({protocols_[i], listeners_[i]->local_name()});
  }
  return open;
}

void Listener::accepted(std::unique_ptr<runtime::AcceptedSocket> socket, bool tls) {
  const auto least = std::min_element(connections_.begin(), connections_.end());
  ++*least;
  const ShardId shard{static_cast<std::uint16_t>(least - connections_.begin())};
  auto letter = std::make_unique<Adopt>();
  letter->socket = std::move(socket);
  letter->tls = tls;
  runtime::Shard& here = broker_shard_.shard();
  here.post(BrokerShard::address_of(here.node(), here.id()),
            BrokerShard::address_of(here.node(), shard), std::move(letter));
}

// --- the certificate ----------------------------------------------------------------------------

Status Listener::use_certificate(const runtime::TlsFiles& files) {
  auto context = runtime::TlsContext::server(broker_shard_.config().tls, files);
  RT_TRY(context.status());
  log(LogLevel::kInfo, "listener", "TLS certificate: {}",
      runtime::describe_certificate(files.certificate));
  // Letters keep their order: a shard has it before the first connection.
  runtime::Shard& here = broker_shard_.shard();
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    here.post(BrokerShard::address_of(here.node(), here.id()),
              BrokerShard::address_of(here.node(), ShardId{static_cast<std::uint16_t>(i)}),
              std::make_unique<UseCertificate>(context.value()));
  }
  return {};
}

void Listener::reload_certificate() {
  if (certificate_timer_ != nullptr) check_certificate(true);
}

// By content: a file may be another one behind the same name and time (links that are switched).
// Files are replaced one by one, so that what does not fit together may be half of a change; each
// state is tried once.
void Listener::check_certificate(bool asked) {
  runtime::Result<runtime::TlsFiles> files = runtime::read_tls_files(broker_shard_.config().tls);
  Status status = files.status();
  if (files.ok()) {
    if (files.value() == certificate_files_) {
      if (asked) log(LogLevel::kInfo, "listener", "the TLS certificate files have not changed");
      return;
    }
    certificate_files_ = files.value();
    status = use_certificate(files.value());
  }
  if (status.ok()) {
    certificate_trouble_.clear();
  } else if (asked || status.text() != certificate_trouble_) {
    certificate_trouble_ = status.text();
    log(LogLevel::kError, "listener", "the new TLS certificate is not used, the old one stays: {}",
        status.text());
  }
}

}  // namespace ringtail::broker
