#include "broker/connection.h"

#include <algorithm>
#include <utility>

#include "broker/amqp/errors.h"
#include "broker/channel.h"
#include "broker/connection_registry.h"
#include "broker/runtime/copy_bytes.h"
#include "broker/runtime/log.h"

namespace ringtail::broker {

using runtime::log;
using runtime::LogLevel;

namespace {

constexpr std::uint8_t kProtocolHeader[8] = {'A', 'M', 'Q', 'P', 0, 0, 9, 1};

// The first byte of a TLS client.
constexpr std::uint8_t kTlsHandshakeRecord = 22;

// What a leftover may keep allocated while it is empty.
constexpr std::size_t kLeftoverKept = 1024;

}  // namespace

Connection::Connection(BrokerShard& broker_shard, std::unique_ptr<runtime::Stream> stream)
    : broker_shard_(broker_shard),
      shard_(broker_shard.shard()),
      stream_(std::move(stream)),
      address_(shard_.add(*this)),
      id_(broker_shard.next_connection_id()),
      connected_at_ms_(shard_.env().clock().wall_ms()),
      frame_max_(broker_shard.config().frame_max),
      channel_max_(broker_shard.config().channel_max) {}

Connection::~Connection() {
  for (auto& [number, slot] : channels_) {
    if (slot.channel) slot.channel->end();
  }
  if (!ended_) shard_.remove(address_.actor);
}

void Connection::start() {
  timer_ = shard_.env().timers().make([this] { (this->*timer_fired_)(); });
  set_timer(broker_shard_.config().handshake_timeout_ms, 0, &Connection::handshake_timed_out);
  stream_->start(*this);
}

void Connection::transition(ConnectionState to) {
  if (state_ == to) return;
  RT_CHECK(may_move(state_, to), "illegal move of a connection");
  if (std::exchange(refusal_held_, false)) broker_shard_.refusal_over();
  state_ = to;
  if (to >= ConnectionState::kClosing) leave_registry();
}

// --- for the connection registry ----------------------------------------------------------------

// However a connection ends, its place is free from then on, not when the last byte is written.
void Connection::leave_registry() {
  if (!std::exchange(registered_, false)) return;
  auto letter = std::make_unique<Leave>();
  letter->connection = id_;
  shard_.post(address_, ConnectionRegistry::address(shard_.node()), std::move(letter));
}

void Connection::count_channels(int change) {
  live_channels_ = static_cast<std::uint32_t>(static_cast<int>(live_channels_) + change);
  if (!registered_ || std::exchange(channels_dirty_, true)) return;
  broker_shard_.channels_changed(*this);
}

std::uint32_t Connection::report_channel_count() {
  channels_dirty_ = false;
  return live_channels_;
}

// --- input --------------------------------------------------------------------------------------

void Connection::on_read(std::span<std::uint8_t> data) noexcept {
  received_since_tick_ = true;
  recv_octets_ += data.size();
  ++recv_count_;
  broker_shard_.look_at_memory();
  if (leftover_.size() > runtime::kReadHeadroom) {
    // A method or header frame larger than the headroom (frame_max above the default).
    std::vector<std::uint8_t> gathered = std::move(leftover_);
    gathered.insert(gathered.end(), data.begin(), data.end());
    leftover_.clear();
    parse(gathered);
    return;
  }
  std::span<const std::uint8_t> input = data;
  if (!leftover_.empty()) {
    std::uint8_t* begin = data.data() - leftover_.size();
    runtime::copy_bytes(begin, leftover_.data(), leftover_.size());
    input = {begin, data.size() + leftover_.size()};
    leftover_.clear();
  }
  parse(input);
}

void Connection::parse(std::span<const std::uint8_t> input) {
  if (state_ == ConnectionState::kAwaitHeader && !take_protocol_header(input)) return;
  amqp::Frame frame;
  while (state_ < ConnectionState::kRefusing && state_ != ConnectionState::kAwaitAdmission) {
    const auto outcome = reader_.next(input, frame);
    if (outcome == amqp::FrameReader::Outcome::kFrame) {
      handle_frame(frame);
    } else if (outcome == amqp::FrameReader::Outcome::kNeedMore) {
      break;
    } else {
      frame_fault();
      return;
    }
  }
  if (state_ >= ConnectionState::kRefusing) input = {};
  leftover_.assign(input.begin(), input.end());
  if (leftover_.empty() && leftover_.capacity() > kLeftoverKept) {
    std::vector<std::uint8_t>().swap(leftover_);
  }
}

bool Connection::take_protocol_header(std::span<const std::uint8_t>& input) {
  const std::size_t seen = std::min(input.size(), sizeof kProtocolHeader);
  if (std::memcmp(input.data(), kProtocolHeader, seen) != 0) {
    // 4.2.2: anything else is answered with the header we speak, and the end.
    log(LogLevel::kError, "connection", "{}: no AMQP 0-9-1 protocol header{}", stream_->peer_name(),
        input.front() == kTlsHandshakeRecord && stream_->tls() == nullptr
            ? ", but the beginning of TLS on the port without it"
            : "");
    out_.append_copy(kProtocolHeader, sizeof kProtocolHeader);
    write_output();
    close_stream();
    return false;
  }
  if (seen < sizeof kProtocolHeader) {
    leftover_.assign(input.begin(), input.end());
    return false;
  }
  input = input.subspan(seen);
  transition(ConnectionState::kAwaitStartOk);
  send_start();
  return true;
}

void Connection::handle_frame(const amqp::Frame& frame) {
  if (last_channel_ != nullptr && frame.channel == last_number_ &&
      frame.type != amqp::FrameType::kHeartbeat) [[likely]] {
    if (state_ == ConnectionState::kOpen) last_channel_->handle_frame(frame);
    return;
  }
  if (frame.type == amqp::FrameType::kHeartbeat) {
    if (!frame.payload.empty()) {
      fail(amqp::frame_error("heartbeat frame with a payload"));
    } else if (frame.channel != 0) {
      fail(amqp::unexpected_frame(fmt::format("heartbeat frame on channel {}", frame.channel)));
    }
    return;
  }
  if (frame.channel == 0) {
    handle_connection_method(frame);
  } else {
    handle_channel_frame(frame);
  }
}

void Connection::handle_channel_frame(const amqp::Frame& frame) {
  if (state_ == ConnectionState::kClosing || state_ == ConnectionState::kDraining) return;
  if (state_ != ConnectionState::kOpen) {
    fail({amqp::ReplyCode::kUnexpectedFrame, "frame on a channel before the connection is open"});
    return;
  }
  const auto slot = channels_.find(frame.channel);
  if (slot == channels_.end()) {
    open_channel(frame);
  } else if (slot->second.channel == nullptr) {
    handle_closing_channel(slot, frame);
  } else {
    last_number_ = frame.channel;
    last_channel_ = slot->second.channel.get();
    last_channel_->handle_frame(frame);
  }
}

void Connection::open_channel(const amqp::Frame& frame) {
  const auto payload = frame.payload;
  amqp::ChannelOpen method;
  const bool is_open = frame.type == amqp::FrameType::kMethod && payload.size() >= 4 &&
                       amqp::load_u32(payload.data()) == amqp::kMethodKey<amqp::ChannelOpen>;
  if (frame.type != amqp::FrameType::kMethod) {
    fail(amqp::unexpected_frame("expected method frame, got non method frame instead"));
    return;
  }
  if (!is_open) {
    amqp::AmqpError error = amqp::expected_channel_open();
    if (payload.size() >= 4) {
      error.class_id = amqp::load_u16(payload.data());
      error.method_id = amqp::load_u16(payload.data() + 2);
    }
    fail(error);
    return;
  }
  if (!method.decode(payload.subspan(4))) {
    amqp::AmqpError error = amqp::frame_error("malformed arguments of channel.open");
    error.class_id = amqp::ChannelOpen::kClassId;
    error.method_id = amqp::ChannelOpen::kMethodId;
    fail(error);
    return;
  }
  if (channel_max_ != 0 && channels_.size() >= channel_max_) {
    fail(amqp::too_many_channels(channels_.size(), channel_max_));
    return;
  }
  const auto user = broker_shard_.view().user(user_);
  const bool limited = user != nullptr && user->limits.max_channels.has_value();
  auto& slot = channels_[frame.channel];
  slot.channel = std::make_unique<Channel>(*this, frame.channel);
  count_channels(1);
  slot.channel->open(limited, live_channels_);
}

// We have sent channel.close: everything is ignored but the handshake's own two methods.
void Connection::handle_closing_channel(std::map<std::uint16_t, Slot>::iterator slot,
                                        const amqp::Frame& frame) {
  if (frame.type != amqp::FrameType::kMethod || frame.payload.size() < 4) return;
  switch (amqp::load_u32(frame.payload.data())) {
    case amqp::kMethodKey<amqp::ChannelClose>:
      if (slot->second.farewell == 0) send(frame.channel, amqp::ChannelCloseOk{});
      break;
    case amqp::kMethodKey<amqp::ChannelOpen>: {
      // A client that does not wait for close-ok does not wait for what it stands for.
      const std::uint64_t farewell = slot->second.farewell;
      if (farewell == 0) break;
      farewells_.erase(farewell);
      close_channel_ok(frame.channel);
      open_channel(frame);
      break;
    }
    case amqp::kMethodKey<amqp::ChannelCloseOk>:
      if (slot->second.farewell == 0) channels_.erase(slot);
      break;
    default:
      break;
  }
}

void Connection::frame_fault() {
  switch (reader_.fault()) {
    case amqp::FrameFault::kNone:
      break;
    case amqp::FrameFault::kUnknownType:
      fail({amqp::ReplyCode::kFrameError,
            fmt::format("frame type {} is not one of 1, 2, 3 and 8", reader_.fault_value())});
      break;
    case amqp::FrameFault::kTooLarge:
      fail({amqp::ReplyCode::kFrameError,
            fmt::format("frame with a payload of {} bytes is larger than the negotiated maximum "
                        "frame size of {}",
                        reader_.fault_value(), frame_max_)});
      break;
    case amqp::FrameFault::kBadEnd:
      fail({amqp::ReplyCode::kFrameError,
            fmt::format("frame ends with octet {} instead of 206", reader_.fault_value())});
      break;
  }
  // Where the next frame begins is not known any more: what follows is not looked at, not even for
  // close-ok.
  leftover_.clear();
  if (state_ == ConnectionState::kClosing) {
    write_output();
    close_stream();
  }
}

// --- reading on or not
// ----------------------------------------------------------------------------

void Connection::update_reading() {
  const bool waits =
      state_ == ConnectionState::kAwaitAdmission || state_ == ConnectionState::kRefusing;
  const bool stop = waits || (state_ == ConnectionState::kOpen &&
                              (full_links_ > 0 || pending_frames_ > runtime::kPendingFramesMax ||
                               blocked_by_alarm_ || output_overflows()));
  if (stop == !reading_ || stream_closed_) return;
  reading_ = !stop;
  if (stop) {
    stream_->pause_reading();
  } else {
    stream_->resume_reading();
  }
}

void Connection::count_full_link(int change) {
  full_links_ += change;
  update_reading();
}

void Connection::count_pending(std::ptrdiff_t change) {
  pending_frames_ = static_cast<std::size_t>(static_cast<std::ptrdiff_t>(pending_frames_) + change);
  update_reading();
}

void Connection::publish_under_alarm() {
  if (blocked_by_alarm_) return;
  blocked_by_alarm_ = true;
  if (client_.connection_blocked && !told_blocked_) {
    send(0, amqp::ConnectionBlocked{.reason = broker_shard_.alarm_reason()});
    told_blocked_ = true;
  }
  update_reading();
}

void Connection::alarm_changed() {
  if (broker_shard_.alarm() || !blocked_by_alarm_) return;
  blocked_by_alarm_ = false;
  if (told_blocked_ && state_ == ConnectionState::kOpen) {
    send(0, amqp::ConnectionUnblocked{});
    told_blocked_ = false;
  }
  update_reading();
}

// --- output -----------------------------------------------------------------------------------

void Connection::write_output() {
  if (stream_closed_) {
    out_.clear();
    return;
  }
  if (writing_ == 0 && !out_.empty()) {
    const std::size_t size = out_.size();
    sent_since_tick_ = true;
    send_octets_ += size;
    ++send_count_;
    writing_ = stream_->write(out_) ? 0 : size;
  }
  output_written();
}

void Connection::on_written() noexcept {
  writing_ = 0;
  written_since_tick_ = true;
  write_output();
}

void Connection::output_written() {
  if (!credit_channels_.empty() && output_has_room()) {
    std::vector<Channel*> due;
    due.swap(credit_channels_);
    for (Channel* channel : due) channel->output_written();
    if (credit_channels_.empty()) {
      due.clear();
      credit_channels_.swap(due);
    }
  }
  if (overflowed_ && !output_overflows()) {
    overflowed_ = false;
    std::vector<Channel*> channels;  // one that ends below leaves the map, but not yet the world
    for (auto& [number, slot] : channels_) {
      if (slot.channel) channels.push_back(slot.channel.get());
    }
    for (Channel* channel : channels) channel->handle_kept();
  }
  update_reading();
  end_if_done();
}

std::uint64_t Connection::window_per_consumer() const {
  const auto consumers = static_cast<std::uint64_t>(std::max(consumers_, 1));
  return std::clamp(runtime::kConnectionWindowBytes / consumers, runtime::kDeliverWindowFloorBytes,
                    runtime::kDeliverWindowBytes);
}

// --- time -------------------------------------------------------------------------------------

void Connection::set_timer(std::uint64_t delay_ms, std::uint64_t repeat_ms,
                           void (Connection::*fired)()) {
  timer_fired_ = fired;
  timer_->start(delay_ms, repeat_ms);
}

void Connection::handshake_timed_out() {
  log(LogLevel::kWarning, "connection", "{}: handshake not done within {} ms", stream_->peer_name(),
      broker_shard_.config().handshake_timeout_ms);
  close_stream();
}

// Fires twice per heartbeat interval (4.2.7): something has gone out since, or a heartbeat does; a
// peer that was silent for two intervals is gone. While we do not read, its silence is ours, unless
// we stopped because it takes nothing.
void Connection::heartbeat_tick() {
  if (!sent_since_tick_ && writing_ == 0) {
    amqp::write_heartbeat(out_);
    output_added();
  }
  sent_since_tick_ = false;
  const bool alive = received_since_tick_ || (output_overflows() ? written_since_tick_ : !reading_);
  silent_ticks_ = alive ? 0 : silent_ticks_ + 1;
  received_since_tick_ = false;
  written_since_tick_ = false;
  if (silent_ticks_ < 4) return;
  log(LogLevel::kError, "connection", "{}: missed heartbeats from client, timeout: {}s",
      stream_->peer_name(), heartbeat_s_);
  close_stream();
}

}  // namespace ringtail::broker
