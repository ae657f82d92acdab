// How a connection ends: by the client, by an error, by the node, by the network.
#include <algorithm>

#include "broker/amqp/errors.h"
#include "broker/auth.h"
#include "broker/channel.h"
#include "broker/connection.h"
#include "broker/connection_registry.h"
#include "broker/runtime/log.h"

namespace ringtail::broker {

using runtime::log;
using runtime::LogLevel;

// --- channels -----------------------------------------------------------------------------------

void Connection::channel_failed(Channel& channel, const amqp::AmqpError& error) {
  if (amqp::is_hard(error.code)) {
    fail(error);
    return;
  }
  const std::uint16_t number = channel.number();
  const std::string text = amqp::reply_text(error);
  log(LogLevel::kWarning, "channel", "{} channel {}: {} {}", stream_->peer_name(), number,
      static_cast<unsigned>(error.code), for_log(text));
  const auto slot = channels_.find(number);
  RT_CHECK(slot != channels_.end(), "a channel failed that its connection does not know");
  // First, because its end sends the confirms that are due: nothing may follow channel.close.
  bury_channel(std::move(slot->second.channel));
  send(number, amqp::ChannelClose{.reply_code = static_cast<std::uint16_t>(error.code),
                                  .reply_text = text,
                                  .class_id = error.class_id,
                                  .method_id = error.method_id});
}

void Connection::channel_closed(Channel& channel) {
  const std::uint16_t number = channel.number();
  const auto slot = channels_.find(number);
  RT_CHECK(slot != channels_.end(), "a channel closed that its connection does not know");
  const std::uint64_t farewell = ++last_farewell_;
  Farewell notices = bury_channel(std::move(slot->second.channel), farewell);
  if (notices.notices_awaited == 0) {
    close_channel_ok(number);
    return;
  }
  slot->second.farewell = farewell;
  notices.channel = number;
  farewells_[farewell] = std::move(notices);
}

void Connection::close_channel_ok(std::uint16_t number) {
  channels_.erase(number);
  send(number, amqp::ChannelCloseOk{});
}

void Connection::channel_forgotten(std::uint64_t farewell, runtime::NodeId from) {
  const auto found = farewells_.find(farewell);
  if (found == farewells_.end()) return;
  std::vector<runtime::NodeId>& remote = found->second.remote;
  if (from != shard_.node()) {
    const auto one = std::find(remote.begin(), remote.end(), from);
    if (one == remote.end()) return;
    remote.erase(one);
  }
  if (--found->second.notices_awaited > 0) return;
  const std::uint16_t number = found->second.channel;
  farewells_.erase(found);
  if (number != 0) close_channel_ok(number);
}

// That node's queues say nothing any more.
void Connection::forgotten_by_peer(runtime::NodeId node) {
  std::vector<std::uint64_t> owed;
  for (const auto& [farewell, waiting] : farewells_) {
    const auto notices = std::count(waiting.remote.begin(), waiting.remote.end(), node);
    owed.insert(owed.end(), static_cast<std::size_t>(notices), farewell);
  }
  for (const std::uint64_t farewell : owed) channel_forgotten(farewell, node);
}

void Connection::peer_congested(runtime::NodeId node, bool congested) {
  for (const auto& [number, slot] : channels_) {
    if (slot.channel) slot.channel->peer_congested(node, congested);
  }
}

// By their numbers: what a channel does may end others.
void Connection::for_each_channel(const std::function<void(Channel&)>& visit) {
  std::vector<std::uint16_t> numbers;
  for (const auto& [number, slot] : channels_) numbers.push_back(number);
  for (const std::uint16_t number : numbers) {
    const auto slot = channels_.find(number);
    if (slot != channels_.end() && slot->second.channel) visit(*slot->second.channel);
  }
}

void Connection::peer_changed(runtime::NodeId node, bool up) {
  for_each_channel([&](Channel& channel) { channel.peer_changed(node, up); });
  if (!up) end_farewells(node);
}

// Who takes leave of its queues does not wait for them.
void Connection::peer_reached(runtime::NodeId node, bool reached) {
  for_each_channel([&](Channel& channel) { channel.peer_reached(node, reached); });
  if (!reached) end_farewells(node);
}

void Connection::end_farewells(runtime::NodeId node) {
  if (farewells_.empty()) return;
  forgotten_by_peer(node);
  if (state_ == ConnectionState::kDraining) end_if_forgotten();
}

void Connection::bury_channel(std::unique_ptr<Channel> channel) {
  channel->end();
  bury_channel(std::move(channel), 0);
}

// The channel may be on the stack: it is destroyed later, but over now. Returns the notices that
// its queues will send.
Connection::Farewell Connection::bury_channel(std::unique_ptr<Channel> channel,
                                              std::uint64_t farewell) {
  if (last_channel_ == channel.get()) last_channel_ = nullptr;
  std::erase(credit_channels_, channel.get());
  count_channels(-1);
  Channel::Notices notices = channel->end_and_notify(address_, farewell);
  ended_channels_.push_back(std::move(channel));
  shard_.flush_batches_at_turn_end(bury_task_);
  return {notices.awaited, 0, std::move(notices.remote)};
}

void Connection::end_channels() {
  const bool last_wish = state_ == ConnectionState::kDraining && !stream_closed_;
  for (auto& [number, farewell] : farewells_) farewell.channel = 0;
  if (!last_wish) farewells_.clear();
  for (auto& [number, slot] : channels_) {
    if (!slot.channel) continue;
    if (!last_wish) {
      bury_channel(std::move(slot.channel));
      continue;
    }
    const std::uint64_t farewell = ++last_farewell_;
    Farewell notices = bury_channel(std::move(slot.channel), farewell);
    if (notices.notices_awaited > 0) farewells_[farewell] = std::move(notices);
  }
  channels_.clear();
  full_links_ = 0;
  pending_frames_ = 0;
}

// --- exclusive queues ---------------------------------------------------------------------------

bool Connection::own_queue(std::shared_ptr<const cluster::metadata::QueueRecord> record) {
  if (state_ == ConnectionState::kDraining || stream_closed_) return false;
  exclusive_queues_.push_back(std::move(record));
  return true;
}

void Connection::disown_queue(runtime::Qid qid) {
  std::erase_if(exclusive_queues_, [qid](const auto& record) { return record->qid == qid; });
}

void Connection::delete_exclusive_queues() {
  for (const auto& record : exclusive_queues_) {
    ++deletes_awaited_;
    shard_.post(address_, record->address(), std::make_unique<queue::Delete>(record->qid));
  }
  exclusive_queues_.clear();
}

void Connection::receive(runtime::LetterPtr letter) noexcept {
  if (letter->kind == kAdmitted) return admitted(runtime::letter_cast<Admitted>(*letter));
  if (letter->kind == queue::kChannelForgotten) {
    channel_forgotten(runtime::letter_cast<queue::ChannelForgotten>(*letter).request,
                      letter->from.node);
    if (state_ != ConnectionState::kDraining) return;
  } else {
    if (letter->kind != queue::kDeleteResult || deletes_awaited_ == 0) return;
    --deletes_awaited_;
  }
  end_if_forgotten();
}

void Connection::end_if_forgotten() {
  if (deletes_awaited_ > 0 || !farewells_.empty()) return;
  if (state_ == ConnectionState::kDraining && !close_when_written_) client_close_done();
  end_if_done();
}

// --- the end ------------------------------------------------------------------------------------

// A client's mistake that ends the connection.
void Connection::fail(const amqp::AmqpError& error) {
  if (state_ >= ConnectionState::kClosing) return;
  const std::string text = amqp::reply_text(error);
  // The node's own stop is one line of its log, not one for each of ten thousand clients.
  const bool quiet = broker_shard_.shutting_down();
  log(quiet ? LogLevel::kDebug : LogLevel::kError, "connection", "{}: {} {}", stream_->peer_name(),
      static_cast<unsigned>(error.code), for_log(text));
  if (state_ == ConnectionState::kAwaitStartOk || state_ == ConnectionState::kAwaitHeader) {
    // Before it is known who speaks nothing is explained.
    refuse_silently();
    return;
  }
  transition(ConnectionState::kClosing);
  end_channels();
  send(0, amqp::ConnectionClose{.reply_code = static_cast<std::uint16_t>(error.code),
                                .reply_text = text,
                                .class_id = error.class_id,
                                .method_id = error.method_id});
  set_timer(runtime::kCloseTimeoutMs, 0, &Connection::close_stream);
  update_reading();
}

void Connection::begin_client_close() {
  transition(ConnectionState::kDraining);
  end_channels();
  delete_exclusive_queues();
  timer_->stop();
  if (deletes_awaited_ == 0 && farewells_.empty()) client_close_done();
}

void Connection::client_close_done() {
  send(0, amqp::ConnectionCloseOk{});
  close_when_written_ = true;
  set_timer(runtime::kCloseTimeoutMs, 0, &Connection::close_stream);
}

void Connection::shut_down() {
  close_forced("broker forced connection closure with reason 'shutdown'");
}

void Connection::close_forced(const std::string& text) {
  if (state_ >= ConnectionState::kClosing) return;
  if (state_ < ConnectionState::kAwaitOpen) {
    close_stream();
    return;
  }
  fail(amqp::connection_forced(text));
}

void Connection::close_stream() {
  if (state_ == ConnectionState::kClosed) return;
  transition(ConnectionState::kClosed);
  timer_->stop();
  stream_->close();
}

void Connection::on_closed(const runtime::Status& status) noexcept {
  if (state_ != ConnectionState::kClosed) {
    const bool by_client =
        status.code() == runtime::Code::kClosed || status.code() == runtime::Code::kIo;
    log(LogLevel::kWarning, "connection", "{}: {}{}", stream_->peer_name(),
        by_client ? "client unexpectedly closed the connection: " : "", status.text());
    transition(ConnectionState::kClosed);
  }
  stream_closed_ = true;
  writing_ = 0;
  out_.clear();
  timer_->stop();
  end_channels();
  delete_exclusive_queues();
  end_if_done();
}

// The object goes when the stream is closed and the exclusive queues have been told.
void Connection::end_if_done() {
  if (close_when_written_ && !stream_closed_ && out_.empty() && writing_ == 0) {
    close_stream();
    return;
  }
  if (!stream_closed_ || ended_) return;
  ended_ = true;
  shard_.remove(address_.actor);
  broker_shard_.connection_ended(*this);
}

}  // namespace ringtail::broker
