#include <doctest/doctest.h>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "broker/http/shard_gateway.h"

namespace http_gateway_test {

namespace http = ringtail::broker::http;
using http::ShardGateway;
using ringtail::broker::BrokerShard;
using ringtail::runtime::Code;
using ringtail::runtime::ShardId;

namespace {

// No call of these tests looks at it.
BrokerShard& no_shard() {
  alignas(16) static char place[16];
  return *reinterpret_cast<BrokerShard*>(place);
}

// A shard's line of calls, run by hand or by a thread.
class Line {
 public:
  ShardGateway::Post post() {
    return [this](ShardId shard, ShardGateway::ShardCall call) {
      const std::lock_guard lock(mutex_);
      last_shard_ = shard;
      call_ = std::move(call);
      changed_.notify_all();
    };
  }
  ShardGateway::ShardCall take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return call_.has_value(); });
    ShardGateway::ShardCall call = std::move(*call_);
    call_.reset();
    return call;
  }
  ShardId last_shard() const { return last_shard_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<ShardGateway::ShardCall> call_;
  ShardId last_shard_{0};
};

}  // namespace

TEST_CASE("a call runs on the shard's thread, and the caller waits for it") {
  Line line;
  ShardGateway gateway(2, line.post(), 10000);
  std::thread::id ran_on;
  std::thread shard([&] { line.take()(no_shard()); });
  const std::thread::id shard_thread = shard.get_id();
  CHECK(gateway.on_shard(ShardId{1}, [&](BrokerShard&) { ran_on = std::this_thread::get_id(); })
            .ok());
  CHECK(ran_on == shard_thread);
  CHECK(line.last_shard() == ShardId{1});
  shard.join();
}

TEST_CASE("a shard that stops drops its calls: nobody hangs") {
  Line line;
  ShardGateway gateway(1, line.post(), 60000);
  std::thread shard([&] { line.take() = nullptr; });
  bool ran = false;
  CHECK(gateway.on_shard(ShardId{0}, [&](BrokerShard&) { ran = true; }).code() == Code::kClosed);
  CHECK_FALSE(ran);
  shard.join();
  std::thread again([&] { line.take() = nullptr; });
  CHECK(gateway.on_shard_later(ShardId{0}, [&](BrokerShard&, const auto&) { ran = true; }).code() ==
        Code::kClosed);
  CHECK_FALSE(ran);
  again.join();
}

TEST_CASE("a call that was not taken in time does not run later") {
  Line line;
  ShardGateway gateway(1, line.post(), 1);
  int ran = 0;
  const auto late = gateway.on_shard(ShardId{0}, [&](BrokerShard&) { ++ran; });
  CHECK(late.code() == Code::kTimeout);
  CHECK(late.text() == "shard 0 did not answer in time");
  line.take()(no_shard());
  CHECK(gateway.on_shard_later(ShardId{0}, [&](BrokerShard&, const auto&) { ++ran; }).code() ==
        Code::kTimeout);
  line.take()(no_shard());
  CHECK(ran == 0);
}

TEST_CASE("an answer that comes later ends the wait") {
  Line line;
  ShardGateway gateway(1, line.post(), 60000);
  std::function<void()> answer;
  std::thread shard([&] {
    line.take()(no_shard());
    answer();
    answer();  // once more is harmless
    answer = nullptr;
  });
  CHECK(gateway
            .on_shard_later(ShardId{0},
                            [&](BrokerShard&, const std::function<void()>& done) { answer = done; })
            .ok());
  shard.join();
}

TEST_CASE("an answer that can never come ends the wait, too") {
  Line line;
  ShardGateway gateway(1, line.post(), 60000);
  std::function<void()> answer;
  std::thread shard([&] {
    line.take()(no_shard());
    answer = nullptr;  // whoever was to answer is gone
  });
  CHECK(gateway
            .on_shard_later(ShardId{0},
                            [&](BrokerShard&, const std::function<void()>& done) { answer = done; })
            .code() == Code::kClosed);
  shard.join();
}

TEST_CASE("an answer after the caller gave up is nobody's") {
  Line line;
  ShardGateway gateway(1, line.post(), 20);
  std::function<void()> answer;
  std::thread shard([&] { line.take()(no_shard()); });
  CHECK(gateway
            .on_shard_later(ShardId{0},
                            [&](BrokerShard&, const std::function<void()>& done) { answer = done; })
            .code() == Code::kTimeout);
  shard.join();
  answer();
}

}  // namespace http_gateway_test
