// One client connection: handshake, heartbeats, the frames of its channels, its output.
//
// Owned by the BrokerShard that adopted it, on that shard's thread. Lifecycle: made with an
// accepted stream; start(); ends when the stream has closed and its exclusive queues are on their
// way out; then tells its BrokerShard, which destroys it at the end of the turn.
//
// Reading stops, and resumes by itself, while one of these holds (each is bounded by limits.h):
// a queue that a channel publishes to has too much unsettled; frames wait for channels that await
// an answer; too much output is unwritten; or the memory alarm is on and the connection publishes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "broker/amqp/frame_reader.h"
#include "broker/amqp/frame_writer.h"
#include "broker/amqp/methods.h"
#include "broker/amqp/reply_codes.h"
#include "broker/broker_shard.h"
#include "broker/connection_info.h"
#include "broker/connection_state.h"
#include "broker/runtime/net.h"
#include "broker/runtime/shard.h"

namespace ringtail::broker {

class Channel;
struct Admitted;

class Connection final : public runtime::StreamEvents, public runtime::Actor {
 public:
  Connection(BrokerShard& broker_shard, std::unique_ptr<runtime::Stream> stream);
  ~Connection() override;

  void start();
  // The node is stopping: connection.close 320, or an end without words before the handshake is
  // done.
  void shut_down();
  // connection.close 320 with this text on behalf of an operator (or what he removed); other
  // connections go on. Before the handshake has got that far: an end without words.
  void close_forced(const std::string& text);
  // The memory or the disk alarm went on or off.
  void alarm_changed();
  // Letters do not reach that node any more, or do again.
  void peer_changed(runtime::NodeId node, bool up);
  void peer_congested(runtime::NodeId node, bool congested);
  void peer_reached(runtime::NodeId node, bool reached);

  // --- for listings ---
  ConnectionInfo info() const;
  // In the order of their numbers.
  std::vector<ChannelInfo> channel_infos() const;
  // "peer:port -> host:port".
  std::string name() const;

  // --- for its channels ---
  BrokerShard& broker_shard() { return broker_shard_; }
  runtime::Shard& shard() { return shard_; }
  std::uint64_t id() const { return id_; }
  const std::string& vhost() const { return vhost_; }
  const std::string& user() const { return user_; }
  std::uint32_t frame_max() const { return frame_max_; }
  bool client_can_hear_cancel() const { return client_.consumer_cancel_notify; }
  // Where a channel writes its frames; output_added() afterwards makes them go out at the turn's
  // end.
  runtime::OutChain& out() { return out_; }
  void output_added() { shard_.write_output_at_turn_end(output_task_); }
  template <typename Method>
  void send(std::uint16_t channel, const Method& method) {
    amqp::write_method(out_, channel, method);
    output_added();
  }
  // There is room for more deliveries.
  bool output_has_room() const { return out_.size() + writing_ < runtime::kOutputHighMark; }
  // Far more output is waiting than a listening client ever leaves: no more unasked-for answers.
  bool output_overflows() const { return out_.size() + writing_ > runtime::kOutputReadStop; }
  // A channel keeps frames for that reason: its handle_kept() is to be called when there is room.
  void frames_kept_by_overflow() { overflowed_ = true; }
  // What one of its consumers may be sent ahead of what is written.
  std::uint64_t window_per_consumer() const;
  void count_consumers(int change) { consumers_ += change; }
  // Channels that are open or about to be, for the connection registry; what changes from here on
  // is news again.
  std::uint32_t report_channel_count();
  // A client's mistake on a channel: channel.close, or connection.close where the code is a hard
  // one.
  void channel_failed(Channel& channel, const amqp::AmqpError& error);
  void fail(const amqp::AmqpError& error);
  // The client closed the channel: close-ok, and its number is free again.
  void channel_closed(Channel& channel);
  // The channel has written deliveries: its output_written() is to be called when there is room.
  void credit_due(Channel& channel) { credit_channels_.push_back(&channel); }
  // The channel's line to a queue is full, or has room again.
  void count_full_link(int change);
  // Frames kept for channels that await an answer, in bytes.
  void count_pending(std::ptrdiff_t change);
  // A publish arrived while the memory alarm is on.
  void publish_under_alarm();
  // Exclusive queues of this connection go when it goes. False: they have gone already.
  bool own_queue(std::shared_ptr<const cluster::metadata::QueueRecord> record);
  void disown_queue(runtime::Qid qid);

  // --- StreamEvents, Actor ---
  void on_read(std::span<std::uint8_t> data) noexcept override;
  void on_written() noexcept override;
  void on_closed(const runtime::Status& status) noexcept override;
  void receive(runtime::LetterPtr letter) noexcept override;

 private:
  struct Slot {
    std::unique_ptr<Channel> channel;  // null: closed by us (close-ok awaited) or by the client
    std::uint64_t farewell = 0;        // closed by the client: key of its farewell
  };
  struct ClientCapabilities {
    bool authentication_failure_close = false;
    bool consumer_cancel_notify = false;
    bool connection_blocked = false;
  };
  struct OutputTask : runtime::TurnTask {
    explicit OutputTask(Connection& connection) : owner(connection) {}
    void turn_end() noexcept override { owner.write_output(); }
    Connection& owner;
  };

  // Destroys ended channels when nothing of them is on the stack any more.
  struct BuryTask : runtime::TurnTask {
    explicit BuryTask(Connection& connection) : owner(connection) {}
    void turn_end() noexcept override { owner.ended_channels_.clear(); }
    Connection& owner;
  };

  void transition(ConnectionState to);
  const char* state_name() const;
  void parse(std::span<const std::uint8_t> input);
  bool take_protocol_header(std::span<const std::uint8_t>& input);
  void handle_frame(const amqp::Frame& frame);
  void handle_channel_frame(const amqp::Frame& frame);
  void handle_closing_channel(std::map<std::uint16_t, Slot>::iterator slot,
                              const amqp::Frame& frame);
  void open_channel(const amqp::Frame& frame);
  void frame_fault();

  // connection_handshake.cc
  void send_start();
  void handle_connection_method(const amqp::Frame& frame);
  void handle_handshake_method(std::uint32_t key, std::span<const std::uint8_t> arguments);
  void handle_open_method(std::uint32_t key, std::span<const std::uint8_t> arguments);
  void fail_method(std::uint32_t key);
  void handle_start_ok(const amqp::ConnectionStartOk& method);
  void read_client_properties(std::span<const std::uint8_t> table);
  void refuse_login(const std::string& mechanism);
  void refuse_silently();
  void refuse(std::uint64_t pause_ms, void (Connection::*then)());
  void explain_refusal();
  void handle_tune_ok(const amqp::ConnectionTuneOk& method);
  void handle_open(const amqp::ConnectionOpen& method);
  void admitted(const Admitted& answer);
  void fail_open(amqp::AmqpError error);
  void opened();
  bool check_tuned(std::uint32_t wanted, std::uint32_t minimum, std::uint32_t maximum,
                   const char* name);

  // connection_close.cc
  void begin_client_close();
  void client_close_done();
  void leave_registry();
  void count_channels(int change);
  void end_channels();
  void delete_exclusive_queues();
  void close_stream();
  void end_if_done();

  // Stops or resumes reading as the conditions above have it.
  void update_reading();
  void write_output();
  void output_written();
  void heartbeat_tick();
  void set_timer(std::uint64_t delay_ms, std::uint64_t repeat_ms, void (Connection::*fired)());
  void handshake_timed_out();
  void bury_channel(std::unique_ptr<Channel> channel);
  // What of an ended channel the queues have still to confirm.
  struct Farewell {
    std::size_t notices_awaited = 0;
    std::uint16_t channel = 0;            // 0: of a connection that is being closed
    std::vector<runtime::NodeId> remote;  // where notices come from, if not from this node
  };
  Farewell bury_channel(std::unique_ptr<Channel> channel, std::uint64_t farewell);
  void channel_forgotten(std::uint64_t farewell, runtime::NodeId from);
  void for_each_channel(const std::function<void(Channel&)>& visit);
  void forgotten_by_peer(runtime::NodeId node);
  void end_farewells(runtime::NodeId node);
  void end_if_forgotten();
  void close_channel_ok(std::uint16_t number);

  BrokerShard& broker_shard_;
  runtime::Shard& shard_;
  std::unique_ptr<runtime::Stream> stream_;
  runtime::Address address_;
  const std::uint64_t id_;
  ConnectionState state_ = ConnectionState::kAwaitHeader;
  bool stream_closed_ = false;
  bool reading_ = true;
  bool overflowed_ = false;  // channels keep frames because too much output was waiting
  bool ended_ = false;

  amqp::FrameReader reader_;
  std::vector<std::uint8_t> leftover_;
  std::map<std::uint16_t, Slot> channels_;
  std::uint16_t last_number_ = 0;
  Channel* last_channel_ = nullptr;
  std::vector<std::unique_ptr<Channel>> ended_channels_;

  runtime::OutChain out_;
  std::size_t writing_ = 0;  // bytes that the stream is still writing
  OutputTask output_task_{*this};
  BuryTask bury_task_{*this};
  bool close_when_written_ = false;
  std::vector<Channel*> credit_channels_;

  const std::uint64_t connected_at_ms_;
  std::string auth_mechanism_;
  std::string client_properties_;
  std::uint64_t recv_octets_ = 0;
  std::uint64_t recv_count_ = 0;
  std::uint64_t send_octets_ = 0;
  std::uint64_t send_count_ = 0;

  std::string user_;
  std::string vhost_;
  std::uint32_t frame_max_;
  std::uint32_t channel_max_;
  std::uint16_t heartbeat_s_ = 0;
  ClientCapabilities client_;

  bool registered_ = false;      // the connection registry has been asked to admit it
  bool refusal_held_ = false;    // counted by BrokerShard::hold_refusal()
  bool channels_dirty_ = false;  // the registry is to hear how many there are
  std::uint32_t live_channels_ = 0;

  int consumers_ = 0;
  int full_links_ = 0;
  std::size_t pending_frames_ = 0;
  bool blocked_by_alarm_ = false;
  bool told_blocked_ = false;

  std::unique_ptr<runtime::Timer> timer_;
  void (Connection::*timer_fired_)() = nullptr;
  bool received_since_tick_ = false;
  bool sent_since_tick_ = false;
  bool written_since_tick_ = false;  // the peer took some of the output that had to wait
  int silent_ticks_ = 0;

  std::vector<std::shared_ptr<const cluster::metadata::QueueRecord>> exclusive_queues_;
  // Channels closed by the client, by a number of ours: how many queues have still to take back
  // what the channel had. Then close-ok goes, so that whoever hears it finds the messages there.
  std::map<std::uint64_t, Farewell> farewells_;
  std::uint64_t last_farewell_ = 0;
  std::size_t deletes_awaited_ = 0;
};

}  // namespace ringtail::broker
