// An Env whose only connection is played by the test: what the program writes is kept, what the
// broker says is fed in. Time stands still unless moved; timers and events fire by hand.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "broker/amqp/frame_reader.h"
#include "broker/amqp/frame_writer.h"
#include "broker/amqp/methods.h"
#include "broker/runtime/env.h"
#include "broker/runtime/limits.h"

namespace ringtail::perf {

// A read takes it all.
inline constexpr std::size_t kWhole = std::size_t{1} << 24;

struct FakeEnv final : runtime::Env, runtime::Clock, runtime::Timers, runtime::Rng, runtime::Net {
  struct FakeStream final : runtime::Stream {
    explicit FakeStream(FakeEnv& fake) : env(fake) {}
    ~FakeStream() override { env.stream = nullptr; }
    void start(runtime::StreamEvents& to) override { events = &to; }
    void pause_reading() override {}
    void resume_reading() override {}
    bool write(runtime::OutChain& chain) override {
      while (!chain.empty()) {
        runtime::OutChain::Piece piece[1];
        chain.peek(piece);
        env.written.insert(env.written.end(), piece[0].data, piece[0].data + piece[0].size);
        chain.consume(piece[0].size);
      }
      blocked = env.block_writes;
      return !blocked;
    }
    bool pending_write() const override { return blocked; }
    void close() override { closed = true; }
    std::unique_ptr<runtime::AcceptedSocket> detach() override { return nullptr; }
    std::string peer_name() const override { return "fake"; }
    std::string local_name() const override { return "fake"; }
    bool peer_is_loopback() const override { return true; }

    FakeEnv& env;
    runtime::StreamEvents* events = nullptr;
    bool blocked = false;
    bool closed = false;
  };
  struct FakeTimer final : runtime::Timer {
    void start(std::uint64_t delay, std::uint64_t) override { delay_ms = delay; }
    void stop() override { delay_ms = 0; }
    std::uint64_t delay_ms = 0;
  };

  runtime::Clock& clock() override { return *this; }
  runtime::Timers& timers() override { return *this; }
  runtime::Rng& rng() override { return *this; }
  runtime::Net& net() override { return *this; }
  runtime::Disk& disk() override {
    RT_CHECK(false, "the load tool has no business with disks");
    return *static_cast<runtime::Disk*>(nullptr);
  }
  std::uint64_t monotonic_ms() const override { return now_ns / 1000000; }
  std::uint64_t monotonic_ns() const override { return now_ns; }
  std::uint64_t boot_ms() const override { return 0; }
  std::uint64_t wall_ms() const override { return 0; }
  std::unique_ptr<runtime::Timer> make(std::function<void()> fired) override {
    fire = std::move(fired);
    return std::make_unique<FakeTimer>();
  }
  std::uint64_t next() override { return 42; }
  void fill_secure(std::span<std::uint8_t> bytes) override {
    std::fill(bytes.begin(), bytes.end(), std::uint8_t{1});
  }
  runtime::Result<std::unique_ptr<runtime::Listener>> listen(
      const std::string&, std::uint16_t,
      std::function<void(std::unique_ptr<runtime::AcceptedSocket>)>, int) override {
    return runtime::Status(runtime::Code::kInvalid, "no");
  }
  runtime::Result<std::unique_ptr<runtime::Stream>> adopt(
      std::unique_ptr<runtime::AcceptedSocket>) override {
    return runtime::Status(runtime::Code::kInvalid, "no");
  }
  void resolve(const std::string& host,
               std::function<void(runtime::Result<std::vector<std::string>>)> done) override {
    done(std::vector<std::string>{host});
  }
  void connect(const std::string&, std::uint16_t,
               std::function<void(runtime::Result<std::unique_ptr<runtime::Stream>>)> done,
               std::uint64_t) override {
    connecting = std::move(done);
  }

  // --- for the test ---

  void accept() {
    auto made = std::make_unique<FakeStream>(*this);
    stream = made.get();
    connecting(runtime::Result<std::unique_ptr<runtime::Stream>>(std::move(made)));
  }
  // The broker sends this, in reads of at most `part` bytes.
  void feed(std::span<const std::uint8_t> bytes, std::size_t part = kWhole) {
    while (!bytes.empty() && stream != nullptr && !stream->closed) {
      const std::size_t size = std::min(part, bytes.size());
      std::vector<std::uint8_t> buffer(runtime::kReadHeadroom);
      const std::span<const std::uint8_t> now = bytes.first(size);
      buffer.insert(buffer.end(), now.begin(), now.end());
      stream->events->on_read(std::span(buffer).subspan(runtime::kReadHeadroom));
      bytes = bytes.subspan(size);
    }
  }
  template <typename Method>
  void say(std::uint16_t channel, const Method& method, std::size_t part = kWhole) {
    runtime::OutChain out;
    amqp::write_method(out, channel, method);
    feed(bytes_of(out), part);
  }
  static std::vector<std::uint8_t> bytes_of(runtime::OutChain& out) {
    std::vector<std::uint8_t> bytes;
    while (!out.empty()) {
      runtime::OutChain::Piece piece[1];
      out.peek(piece);
      bytes.insert(bytes.end(), piece[0].data, piece[0].data + piece[0].size);
      out.consume(piece[0].size);
    }
    return bytes;
  }
  // What was written since the last call, as the methods in it.
  std::vector<std::uint32_t> methods_written() {
    std::vector<std::uint32_t> methods;
    std::span<const std::uint8_t> left = written;
    if (left.size() >= 8 && std::memcmp(left.data(), amqp::kProtocolHeader, 8) == 0) {
      left = left.subspan(8);
    }
    amqp::FrameReader reader;
    reader.set_payload_max(1 << 20);
    amqp::Frame frame;
    while (reader.next(left, frame) == amqp::FrameReader::Outcome::kFrame) {
      if (frame.type == amqp::FrameType::kMethod) {
        methods.push_back(amqp::load_u32(frame.payload.data()));
      }
    }
    written.clear();
    return methods;
  }
  // The handshake up to an open channel.
  void open(std::size_t part = kWhole) {
    accept();
    say(0, amqp::ConnectionStart{0, 9, {}, "PLAIN", "en_US"}, part);
    say(0, amqp::ConnectionTune{2047, 131072, 60}, part);
    say(0, amqp::ConnectionOpenOk{}, part);
    say(1, amqp::ChannelOpenOk{}, part);
  }
  void end(const runtime::Status& status = {}) { stream->events->on_closed(status); }

  std::uint64_t now_ns = 1000000000;
  bool block_writes = false;
  std::vector<std::uint8_t> written;
  std::function<void()> fire;  // the last timer made
  std::function<void(runtime::Result<std::unique_ptr<runtime::Stream>>)> connecting;
  FakeStream* stream = nullptr;
};

}  // namespace ringtail::perf
