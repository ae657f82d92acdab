// Publishes on a connection of its own: to its queues in turn, as fast as allowed by the count, the
// rate, the confirm window and the socket.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tools/perf/client.h"
#include "tools/perf/confirm_window.h"
#include "tools/perf/tally.h"
#include "tools/perf/verify.h"

namespace ringtail::perf {

// What a producer or consumer tells the job. Called from the loop.
class LoadEvents {
 public:
  // Set up: confirms selected, consumers registered.
  virtual void ready() noexcept = 0;
  // Something has changed that may let this producer publish more.
  virtual void may_publish(std::size_t producer) noexcept = 0;
  virtual void lost(const std::string& reason) noexcept = 0;
  virtual void note(const std::string& text) noexcept = 0;

 protected:
  ~LoadEvents() = default;
};

class Producer final : private ClientUser {
 public:
  // `quota`: messages to publish in all; UINT64_MAX for no end.
  Producer(runtime::Env& env, const Options& options, int index, std::uint16_t run,
           std::uint64_t quota, Tally& tally, LoadEvents& events);

  // Connects; ready() or lost() follows.
  void open();
  // The time from which a rate counts.
  void start(std::uint64_t start_ns) { start_ns_ = start_ns; }
  // Publishes what may go at this time, at most one batch. True: more could go at once.
  bool publish(std::uint64_t now_ns);
  // Asks the broker about each queue used; the answers come behind everything published.
  void sync();
  void close(std::function<void()> closed) { client_.close(std::move(closed)); }
  void abort() { client_.abort(); }

  bool is_open() const { return client_.is_open(); }
  std::uint64_t published() const { return published_; }
  // Published all of its quota and written it.
  bool is_finished() const { return published_ >= quota_ && client_.idle(); }
  // Every message is answered (confirms) or known to be taken (sync()).
  bool is_settled() const;
  // The broker has said that it does not have it: by a nack, or by sending it back as unroutable.
  bool is_refused(std::uint64_t number) const {
    return (window_ && window_->is_refused(number)) || returned_.contains(number);
  }
  bool is_confirmed(std::uint64_t number) const {
    return window_ && window_->is_answered(number) && !window_->is_refused(number);
  }

 private:
  // The frames of a publish to one queue. The stamp lies at stamp_at within `head`; what follows
  // of a large body is the same for all messages and goes out without a copy.
  struct Template {
    std::vector<std::uint8_t> head;
    runtime::Bytes rest;
    std::size_t stamp_at = 0;
  };

  bool on_frame(const amqp::Frame& frame) noexcept override;
  bool on_method(std::span<const std::uint8_t> payload);
  void on_read_done() noexcept override;
  void on_writable() noexcept override;
  void on_blocked(bool blocked, const std::string& reason) noexcept override;
  void on_lost(const std::string& reason) noexcept override;

  void opened();
  void make_templates();
  Template make_template(const std::string& key) const;
  std::uint64_t allowance(std::uint64_t now_ns) const;
  std::uint64_t due_ns(std::uint64_t number) const;
  std::uint64_t write_batch(std::uint64_t wanted, std::uint64_t now_ns);
  void write_message(std::uint8_t* at, const Template& message, std::uint64_t due);
  void on_answer(std::span<const std::uint8_t> arguments, bool ack);

  const Options& options_;
  const int index_;
  const std::uint16_t run_;
  const std::uint64_t quota_;
  const QueueShare share_;
  Tally& tally_;
  LoadEvents& events_;
  Client client_;
  std::vector<Template> templates_;
  std::size_t turn_ = 0;  // the next template
  std::optional<ConfirmWindow> window_;
  std::uint64_t start_ns_ = 0;
  double interval_ns_ = 0;  // between two messages of this producer; 0 without a rate
  double offset_ns_ = 0;    // the producers take turns
  std::uint64_t published_ = 0;
  bool answered_in_read_ = false;
  StampCollector content_;  // of a message that comes back
  SequenceSet returned_;
  int syncs_awaited_ = -1;  // -1: not asked
};

}  // namespace ringtail::perf
