// Consumes from its queues on a connection of its own, verifies and measures what comes, and
// acknowledges it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tools/perf/client.h"
#include "tools/perf/producer.h"
#include "tools/perf/tally.h"
#include "tools/perf/verify.h"

namespace ringtail::perf {

class Consumer final : private ClientUser {
 public:
  Consumer(runtime::Env& env, const Options& options, int index, Tally& tally, Verifier& verifier,
           LoadEvents& events);

  // Connects and subscribes; ready() or lost() follows.
  void open();
  void close(std::function<void()> closed) { client_.close(std::move(closed)); }
  void abort() { client_.abort(); }
  bool is_open() const { return client_.is_open(); }

 private:
  bool on_frame(const amqp::Frame& frame) noexcept override;
  void on_read_done() noexcept override;
  bool on_channel_closed(const std::string& reason) noexcept override;
  void on_lost(const std::string& reason) noexcept override;

  void subscribe();
  void consume(std::size_t slot);
  bool on_method(std::span<const std::uint8_t> payload);
  void on_deliver(std::span<const std::uint8_t> arguments);
  void on_cancel(std::span<const std::uint8_t> arguments);
  void on_message();
  void acknowledge();

  runtime::Env& env_;
  const Options& options_;
  const std::string consumer_arguments_;  // encoded
  Tally& tally_;
  Verifier& verifier_;
  LoadEvents& events_;
  Client client_;
  std::vector<Subscription> subscriptions_;  // the consumer tag is the index
  std::size_t subscribed_ = 0;
  bool ready_told_ = false;
  std::unique_ptr<runtime::Timer> reopen_timer_;

  // The message that is coming in.
  std::uint64_t delivery_tag_ = 0;
  bool redelivered_ = false;
  std::size_t slot_ = 0;
  StampCollector content_;

  std::uint32_t unacked_ = 0;  // complete messages not acknowledged, the last with last_tag_
  std::uint64_t last_tag_ = 0;
  std::uint64_t consumed_in_read_ = 0;
};

}  // namespace ringtail::perf
