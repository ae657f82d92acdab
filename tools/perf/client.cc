#include "tools/perf/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ringtail::perf {

namespace {

constexpr std::uint32_t kFrameMaxWanted = 131072;

// Both close methods begin with a code and a text.
template <typename Close>
std::string close_text(std::span<const std::uint8_t> arguments) {
  Close close;
  if (!close.decode(arguments)) return "malformed close";
  return fmt::format("{} {}", close.reply_code, close.reply_text);
}

// What this client understands; brokers keep some answers from those that do not say so.
std::string client_properties() {
  amqp::FieldTable capabilities;
  for (const char* name :
       {"publisher_confirms", "consumer_cancel_notify", "basic.nack", "connection.blocked",
        "exchange_exchange_bindings", "authentication_failure_close"}) {
    capabilities.set(name, true);
  }
  amqp::FieldTable properties;
  properties.set("product", "ringtail-perf");
  properties.set("capabilities", std::move(capabilities));
  return properties.encode();
}

}  // namespace

Client::Client(runtime::Env& env, const Target& target, std::uint16_t heartbeat_s)
    : env_(env), target_(target), name_(target.name()), heartbeat_wanted_s_(heartbeat_s) {}

void Client::open(ClientUser& user, std::function<void()> opened) {
  RT_CHECK(state_ == State::kIdle, "a client is opened once");
  user_ = &user;
  opened_ = std::move(opened);
  state_ = State::kConnecting;
  // As long as the kernel tries: a broker under load may let many wait.
  env_.net().connect(
      target_.host, target_.port,
      [this](runtime::Result<std::unique_ptr<runtime::Stream>> result) {
        connected(std::move(result));
      },
      0);
}

void Client::connected(runtime::Result<std::unique_ptr<runtime::Stream>> result) {
  const bool aborted = state_ != State::kConnecting;
  if (!result.ok()) {
    if (aborted) {
      on_closed(runtime::Status());
    } else {
      lose(result.status().text());
    }
    return;
  }
  stream_ = std::move(result).value();
  if (aborted) {
    stream_->start(*this);
    stream_->close();
    return;
  }
  state_ = State::kStart;
  reader_.set_payload_max(kFrameMaxWanted);
  stream_->start(*this);
  amqp::write_protocol_header(out_);
  flush();
}

void Client::flush() {
  if (out_.empty() || stream_ == nullptr || stream_->pending_write()) return;
  wrote_since_beat_ = true;
  static_cast<void>(stream_->write(out_));
}

void Client::reopen(std::function<void()> opened) {
  if (state_ != State::kOpen) return;
  call<amqp::ChannelOpenOk>(amqp::ChannelOpen{},
                            [done = std::move(opened)](std::span<const std::uint8_t>) { done(); });
  flush();
}

void Client::close(std::function<void()> closed) {
  closed_ = std::move(closed);
  if (is_over()) {
    state_ = State::kOver;
    std::exchange(closed_, nullptr)();
    return;
  }
  if (state_ != State::kOpen) {
    abort();
    return;
  }
  state_ = State::kClosing;
  calls_.clear();
  amqp::ConnectionClose method;
  method.reply_code = 200;
  method.reply_text = "Goodbye";
  amqp::write_method(out_, 0, method);
  flush();
}

void Client::abort() {
  if (is_over()) return;
  state_ = State::kEnding;
  calls_.clear();
  if (stream_ != nullptr) stream_->close();
}

// --- events of the stream ---

void Client::on_read(std::span<std::uint8_t> data) noexcept {
  read_ns_ = env_.clock().monotonic_ns();
  silent_beats_ = 0;
  std::span<const std::uint8_t> input = data;
  if (!kept_.empty()) {
    // The space in front of the read is ours (net.h); the frame becomes whole there.
    std::uint8_t* front = data.data() - kept_.size();
    std::copy(kept_.begin(), kept_.end(), front);
    input = {front, kept_.size() + data.size()};
    kept_.clear();
  }
  parse(input);
  if (state_ == State::kEnding || state_ == State::kOver) return;
  kept_.assign(input.begin(), input.end());
  if (state_ == State::kOpen) user_->on_read_done();
  flush();
}

void Client::on_written() noexcept {
  flush();
  if (state_ == State::kOpen && idle()) user_->on_writable();
}

void Client::on_closed(const runtime::Status& status) noexcept {
  if (heartbeat_timer_ != nullptr) heartbeat_timer_->stop();
  const State was = std::exchange(state_, State::kOver);
  if (closed_ != nullptr) {
    std::exchange(closed_, nullptr)();
  } else if (was != State::kEnding && was != State::kOver) {
    user_->on_lost(status.ok() ? "closed by the broker" : status.text());
  }
}

// --- frames ---

void Client::parse(std::span<const std::uint8_t>& input) {
  amqp::Frame frame;
  while (true) {
    switch (reader_.next(input, frame)) {
      case amqp::FrameReader::Outcome::kNeedMore:
        return;
      case amqp::FrameReader::Outcome::kFault:
        lose("the broker sent what is not an AMQP 0-9-1 frame");
        return;
      case amqp::FrameReader::Outcome::kFrame:
        break;
    }
    if (frame.channel == kChannel && state_ == State::kOpen && user_->on_frame(frame)) continue;
    if (frame.type == amqp::FrameType::kMethod) on_method(frame.channel, frame.payload);
    if (state_ == State::kEnding || state_ == State::kOver) return;
  }
}

void Client::on_method(std::uint16_t channel, std::span<const std::uint8_t> payload) {
  if (payload.size() < 4) {
    lose("the broker sent a method frame without a method");
    return;
  }
  const std::uint32_t method = amqp::load_u32(payload.data());
  const std::span<const std::uint8_t> arguments = payload.subspan(4);
  if (channel == 0 && (method == amqp::kMethodKey<amqp::ConnectionClose> ||
                       state_ == State::kOpen || state_ == State::kClosing)) {
    on_connection_method(method, arguments);
  } else if (state_ == State::kOpen) {
    on_channel_method(method, arguments);
  } else if (state_ != State::kClosing) {
    on_handshake(method, arguments);
  }
}

void Client::on_handshake(std::uint32_t method, std::span<const std::uint8_t> arguments) {
  if (state_ == State::kStart && method == amqp::kMethodKey<amqp::ConnectionStart>) {
    answer_start(arguments);
  } else if (state_ == State::kTune && method == amqp::kMethodKey<amqp::ConnectionTune>) {
    answer_tune(arguments);
  } else if (state_ == State::kOpening && method == amqp::kMethodKey<amqp::ConnectionOpenOk>) {
    state_ = State::kChannelOpening;
    amqp::write_method(out_, kChannel, amqp::ChannelOpen{});
  } else if (state_ == State::kChannelOpening && method == amqp::kMethodKey<amqp::ChannelOpenOk>) {
    state_ = State::kOpen;
    start_heartbeats();
    std::exchange(opened_, nullptr)();
  } else {
    lose("the broker sent an unexpected method during the handshake");
  }
}

void Client::answer_start(std::span<const std::uint8_t> arguments) {
  amqp::ConnectionStart start;
  if (!start.decode(arguments)) {
    lose("malformed connection.start");
    return;
  }
  const std::string properties = client_properties();
  std::string response(1, '\0');
  response += target_.user;
  response.push_back('\0');
  response += target_.password;
  amqp::ConnectionStartOk ok;
  ok.client_properties = runtime::as_bytes(properties);
  ok.mechanism = "PLAIN";
  ok.response = response;
  ok.locale = "en_US";
  state_ = State::kTune;
  amqp::write_method(out_, 0, ok);
}

void Client::answer_tune(std::span<const std::uint8_t> arguments) {
  amqp::ConnectionTune tune;
  if (!tune.decode(arguments)) {
    lose("malformed connection.tune");
    return;
  }
  frame_max_ = tune.frame_max == 0 ? kFrameMaxWanted : std::min(tune.frame_max, kFrameMaxWanted);
  heartbeat_s_ =
      tune.heartbeat == 0 ? heartbeat_wanted_s_ : std::min(tune.heartbeat, heartbeat_wanted_s_);
  amqp::ConnectionTuneOk ok;
  ok.channel_max = tune.channel_max;
  ok.frame_max = frame_max_;
  ok.heartbeat = heartbeat_s_;
  amqp::write_method(out_, 0, ok);
  amqp::ConnectionOpen open;
  open.virtual_host = target_.vhost;
  state_ = State::kOpening;
  amqp::write_method(out_, 0, open);
}

void Client::on_connection_method(std::uint32_t method, std::span<const std::uint8_t> arguments) {
  switch (method) {
    case amqp::kMethodKey<amqp::ConnectionClose>:
      amqp::write_method(out_, 0, amqp::ConnectionCloseOk{});
      flush();
      lose("connection closed: " + close_text<amqp::ConnectionClose>(arguments));
      break;
    case amqp::kMethodKey<amqp::ConnectionCloseOk>:
      abort();
      break;
    case amqp::kMethodKey<amqp::ConnectionBlocked>: {
      amqp::ConnectionBlocked blocked;
      const bool valid = blocked.decode(arguments);
      user_->on_blocked(true, valid ? std::string(blocked.reason) : std::string());
      break;
    }
    case amqp::kMethodKey<amqp::ConnectionUnblocked>:
      user_->on_blocked(false, std::string());
      break;
    default:
      break;
  }
}

void Client::on_channel_method(std::uint32_t method, std::span<const std::uint8_t> arguments) {
  if (!calls_.empty() && calls_.front().reply == method) {
    const Answer answered = std::move(calls_.front().answered);
    calls_.pop_front();
    if (answered != nullptr) answered(arguments);
    return;
  }
  if (method == amqp::kMethodKey<amqp::ChannelFlow>) {
    amqp::ChannelFlow flow;
    amqp::ChannelFlowOk ok;
    ok.active = flow.decode(arguments) && flow.active;
    amqp::write_method(out_, kChannel, ok);
  } else if (method == amqp::kMethodKey<amqp::ChannelClose>) {
    const std::string reason = "channel closed: " + close_text<amqp::ChannelClose>(arguments);
    amqp::write_method(out_, kChannel, amqp::ChannelCloseOk{});
    flush();
    calls_.clear();
    if (!user_->on_channel_closed(reason)) lose(reason);
  }
}

// --- heartbeats and the end ---

void Client::start_heartbeats() {
  if (heartbeat_s_ == 0) return;
  heartbeat_timer_ = env_.timers().make([this] { beat(); });
  const std::uint64_t half_ms = std::uint64_t{heartbeat_s_} * 500;
  heartbeat_timer_->start(half_ms, half_ms);
}

void Client::beat() {
  // Two whole heartbeats of silence (AMQP 0-9-1, 4.2.7).
  if (++silent_beats_ > 4) {
    lose("no heartbeat from the broker");
    return;
  }
  if (!std::exchange(wrote_since_beat_, false) && idle()) amqp::write_heartbeat(out_);
  flush();
}

void Client::lose(const std::string& reason) {
  if (is_over() || state_ == State::kEnding) return;
  state_ = stream_ == nullptr ? State::kOver : State::kEnding;
  calls_.clear();
  if (heartbeat_timer_ != nullptr) heartbeat_timer_->stop();
  if (stream_ != nullptr) stream_->close();
  // The user hears of it once: as the end of its close(), or as a loss.
  if (closed_ == nullptr) {
    user_->on_lost(reason);
  } else if (state_ == State::kOver) {
    std::exchange(closed_, nullptr)();
  }
}

}  // namespace ringtail::perf
