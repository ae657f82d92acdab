// Producer and consumer against a broker played by the test.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/unit/perf/fake_env.h"
#include "tools/perf/consumer.h"
#include "tools/perf/producer.h"

namespace traffic_test {

using namespace ringtail;
using namespace ringtail::perf;

namespace {

struct Events final : LoadEvents {
  void ready() noexcept override { ++readies; }
  void may_publish(std::size_t) noexcept override { ++chances; }
  void lost(const std::string& reason) noexcept override { losses.push_back(reason); }
  void note(const std::string&) noexcept override {}

  int readies = 0;
  int chances = 0;
  std::vector<std::string> losses;
};

// The messages in what was written: their stamps and body sizes.
struct Published {
  Stamp stamp;
  std::uint64_t size;
};
std::vector<Published> published(FakeEnv& env) {
  std::vector<Published> messages;
  std::span<const std::uint8_t> left = env.written;
  amqp::FrameReader reader;
  reader.set_payload_max(131072 - 8);
  amqp::Frame frame;
  StampCollector collector;
  while (reader.next(left, frame) == amqp::FrameReader::Outcome::kFrame) {
    if (frame.type == amqp::FrameType::kHeader) {
      collector.begin(amqp::load_u64(frame.payload.data() + 4));
    }
    if (frame.type == amqp::FrameType::kBody && collector.add(frame.payload)) {
      messages.push_back({collector.stamp(), collector.body_size()});
    }
  }
  CHECK(left.empty());
  env.written.clear();
  return messages;
}

struct ProducerFixture {
  FakeEnv env;
  Options options;
  Tally tally;
  Events events;
  std::unique_ptr<Producer> producer;

  void make(std::uint64_t quota = UINT64_MAX) {
    options.producer_targets = {Target{}};
    producer = std::make_unique<Producer>(env, options, 0, 9, quota, tally, events);
    producer->open();
    env.open();
    if (options.confirm_window != 0) env.say(1, amqp::ConfirmSelectOk{});
    CHECK(events.readies == 1);
    env.written.clear();
    producer->start(env.now_ns);
  }
};

// A delivery of one message.
std::vector<std::uint8_t> delivery(std::uint64_t tag, const Identity& identity,
                                   std::uint64_t due_ns, std::size_t size = 16) {
  std::vector<std::uint8_t> body(size);
  write_stamp(body.data(), identity, due_ns);
  const std::string route = std::string("\0\4perf", 6);
  amqp::Deliver deliver;
  deliver.channel = 1;
  deliver.delivery_tag = tag;
  deliver.consumer_tag = "0";
  deliver.route = runtime::as_bytes(route);
  deliver.content.body = body;
  deliver.frame_max = 4096;
  runtime::OutChain out;
  amqp::write_deliver(out, deliver);
  return FakeEnv::bytes_of(out);
}

struct ConsumerFixture {
  FakeEnv env;
  Options options;
  Tally tally;
  Events events;
  std::unique_ptr<Verifier> verifier;
  std::unique_ptr<Consumer> consumer;

  void make() {
    options.consumer_targets = {Target{}};
    verifier = std::make_unique<Verifier>(options, std::uint16_t{9});
    consumer = std::make_unique<Consumer>(env, options, 0, tally, *verifier, events);
    consumer->open();
    env.open();
    if (options.prefetch != 0) env.say(1, amqp::BasicQosOk{});
    env.say(1, amqp::BasicConsumeOk{"0"});
    CHECK(events.readies == 1);
    env.written.clear();
  }
};

}  // namespace

TEST_CASE_FIXTURE(ProducerFixture, "a quota is published in batches, numbered and stamped") {
  make(1500);
  env.now_ns = 5000000000;
  CHECK(producer->publish(env.now_ns));
  CHECK(tally.published < 1500);
  CHECK_FALSE(producer->publish(env.now_ns));
  CHECK(producer->is_finished());
  const std::vector<Published> messages = published(env);
  REQUIRE(messages.size() == 1500);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    CHECK(messages[i].stamp.identity == Identity{9, 0, i});
    CHECK(messages[i].stamp.due_ns == 5000000000);
    CHECK(messages[i].size == 16);
  }
}

TEST_CASE_FIXTURE(ProducerFixture, "large bodies go out whole, over several frames") {
  for (const std::size_t size : {std::size_t{4200}, std::size_t{131056}, std::size_t{300000}}) {
    options.body_size = size;
    events.readies = 0;
    tally = Tally();
    make(3);
    while (producer->publish(env.now_ns)) {
    }
    const std::vector<Published> messages = published(env);
    REQUIRE(messages.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(messages[i].stamp.identity.number == i);
      CHECK(messages[i].size == size);
    }
  }
}

TEST_CASE_FIXTURE(ProducerFixture, "at a rate the stamp is the time due, however late it goes") {
  options.rate = 1000;
  make();
  const std::uint64_t start_ns = env.now_ns;
  producer->publish(start_ns);
  CHECK(published(env).size() == 1);
  producer->publish(start_ns + 999999);
  CHECK(published(env).empty());
  // The broker holds us up for 5 ms: what was due meanwhile goes out with its own times.
  producer->publish(start_ns + 5000000);
  const std::vector<Published> late = published(env);
  REQUIRE(late.size() == 5);
  for (std::size_t i = 0; i < 5; ++i) CHECK(late[i].stamp.due_ns == start_ns + (i + 1) * 1000000);
}

TEST_CASE_FIXTURE(ProducerFixture, "the confirm window opens with confirms, timed from when due") {
  options.confirm_window = 10;
  make();
  CHECK_FALSE(producer->publish(env.now_ns));
  CHECK(tally.published == 10);
  env.now_ns += 3000000;
  env.say(1, amqp::BasicAck{4, true});
  CHECK(events.chances == 1);
  CHECK(tally.answered == 4);
  CHECK(tally.confirm_latency.interval().count() == 4);
  CHECK(tally.confirm_latency.interval().min() == 3000000);
  env.say(1, amqp::BasicNack{5, false, false});
  CHECK(tally.nacked == 1);
  CHECK(producer->is_confirmed(3));
  CHECK_FALSE(producer->is_confirmed(4));
  CHECK(producer->is_refused(4));
  producer->publish(env.now_ns);
  CHECK(tally.published == 15);
  CHECK_FALSE(producer->is_settled());
  env.say(1, amqp::BasicAck{15, true});
  CHECK(producer->is_settled());
}

TEST_CASE_FIXTURE(ProducerFixture, "without confirms the queue's answer settles it") {
  make(1);
  producer->publish(env.now_ns);
  CHECK_FALSE(producer->is_settled());
  producer->sync();
  CHECK_FALSE(producer->is_settled());
  env.say(1, amqp::QueueDeclareOk{"perf", 0, 0});
  CHECK(producer->is_settled());
}

TEST_CASE_FIXTURE(ProducerFixture, "nothing is published while the socket is full") {
  make();
  env.block_writes = true;
  CHECK_FALSE(producer->publish(env.now_ns));
  const std::uint64_t before = tally.published;
  CHECK_FALSE(producer->publish(env.now_ns));
  CHECK(tally.published == before);
  env.stream->blocked = false;
  env.stream->events->on_written();
  CHECK(events.chances == 1);
}

TEST_CASE_FIXTURE(ProducerFixture, "a returned message is refused") {
  make(2);
  producer->publish(env.now_ns);
  std::vector<std::uint8_t> body(16);
  write_stamp(body.data(), {9, 0, 1}, 0);
  const std::string route = std::string("\0\4perf", 6);
  amqp::Return returned;
  returned.channel = 1;
  returned.route = runtime::as_bytes(route);
  returned.content.body = body;
  runtime::OutChain out;
  amqp::write_return(out, returned);
  env.feed(FakeEnv::bytes_of(out));
  CHECK(tally.returned == 1);
  CHECK(producer->is_refused(1));
  CHECK_FALSE(producer->is_refused(0));
}

TEST_CASE_FIXTURE(ConsumerFixture, "deliveries are measured, verified and acknowledged singly") {
  make();
  env.now_ns = 2000000000;
  for (std::uint64_t n = 0; n < 3; ++n) env.feed(delivery(n + 1, {9, 0, n}, 1999000000));
  CHECK(tally.consumed == 3);
  CHECK(verifier->unique() == 3);
  CHECK(tally.latency.interval().count() == 3);
  CHECK(tally.latency.interval().min() == 1000000);
  CHECK(env.methods_written() == std::vector<std::uint32_t>(3, amqp::kMethodKey<amqp::BasicAck>));
}

TEST_CASE_FIXTURE(ConsumerFixture, "a body in many frames and reads is one message") {
  options.body_size = 20000;
  make();
  env.feed(delivery(1, {9, 0, 0}, 1, 20000), 3);
  env.feed(delivery(2, {9, 0, 1}, 1, 20000), 1000);
  CHECK(tally.consumed == 2);
  CHECK(verifier->unique() == 2);
  CHECK(verifier->faults().damaged == 0);
}

TEST_CASE_FIXTURE(ConsumerFixture, "a batch is acknowledged with one multiple, the rest at once") {
  options.ack_batch = 4;
  make();
  std::vector<std::uint8_t> six;
  for (std::uint64_t n = 0; n < 6; ++n) {
    const std::vector<std::uint8_t> one = delivery(n + 1, {9, 0, n}, 1);
    six.insert(six.end(), one.begin(), one.end());
  }
  env.feed(six);
  REQUIRE(env.written.size() == 2 * 21);
  const std::uint8_t* first = env.written.data() + 11;
  CHECK(amqp::load_u64(first) == 4);
  CHECK(first[8] == 1);
  const std::uint8_t* second = first + 21;
  CHECK(amqp::load_u64(second) == 6);
  CHECK(second[8] == 1);
}

TEST_CASE_FIXTURE(ConsumerFixture, "auto-ack sends nothing") {
  options.auto_ack = true;
  make();
  env.feed(delivery(1, {9, 0, 0}, 1));
  CHECK(tally.consumed == 1);
  CHECK(env.written.empty());
}

TEST_CASE_FIXTURE(ConsumerFixture, "a cancelled consumer subscribes again where asked") {
  options.resubscribe = true;
  make();
  env.say(1, amqp::BasicCancel{"0", true});
  CHECK(tally.cancels == 1);
  CHECK(env.methods_written() == std::vector<std::uint32_t>{amqp::kMethodKey<amqp::BasicConsume>});
}

}  // namespace traffic_test
