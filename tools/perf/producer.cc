#include "tools/perf/producer.h"

#include <algorithm>
#include <cstring>

namespace ringtail::perf {

namespace {

// What one turn of the loop gives to a socket: enough to make the system call cheap, little enough
// that other connections have their turn.
constexpr std::size_t kBatchBytes = runtime::kOutBlockSize;
// Bodies whose unchanging part is larger go out as slices.
constexpr std::size_t kCopyMax = runtime::kCopyOutMax;

std::vector<std::uint8_t> flatten(runtime::OutChain& chain) {
  std::vector<std::uint8_t> bytes;
  while (!chain.empty()) {
    runtime::OutChain::Piece piece[1];
    if (chain.peek(piece) == 0) break;
    bytes.insert(bytes.end(), piece[0].data, piece[0].data + piece[0].size);
    chain.consume(piece[0].size);
  }
  return bytes;
}

}  // namespace

Producer::Producer(runtime::Env& env, const Options& options, int index, std::uint16_t run,
                   std::uint64_t quota, Tally& tally, LoadEvents& events)
    : options_(options),
      index_(index),
      run_(run),
      quota_(quota),
      share_(index, options.producers, options.queues),
      tally_(tally),
      events_(events),
      client_(
          env,
          options
              .producer_targets[static_cast<std::size_t>(index) % options.producer_targets.size()],
          options.heartbeat_s) {
  if (options.confirm_window != 0) window_.emplace(options.confirm_window);
  if (options.rate > 0) {
    interval_ns_ = 1e9 * options.producers / options.rate;
    offset_ns_ = 1e9 * index / options.rate;
  }
}

void Producer::open() {
  client_.open(*this, [this] { opened(); });
}

void Producer::opened() {
  make_templates();
  if (!window_) {
    events_.ready();
    return;
  }
  client_.call<amqp::ConfirmSelectOk>(amqp::ConfirmSelect{},
                                      [this](std::span<const std::uint8_t>) { events_.ready(); });
}

void Producer::make_templates() {
  // One key for all queues needs one template only.
  const int keys =
      options_.routing_key.empty() && options_.spread != Spread::kAll ? share_.count : 1;
  for (int i = 0; i < keys; ++i) templates_.push_back(make_template(options_.key_at(share_.at(i))));
}

Producer::Template Producer::make_template(const std::string& key) const {
  runtime::OutChain out;
  amqp::BasicPublish publish;
  publish.exchange = options_.exchange;
  publish.routing_key = key;
  publish.mandatory = options_.mandatory;
  amqp::write_method(out, kChannel, publish);
  amqp::BasicProperties properties;
  properties.delivery_mode = options_.persistent ? 2 : 1;
  const std::string encoded = properties.encode();
  std::vector<std::uint8_t> body(options_.body_size);
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<std::uint8_t>('a' + i % 26);
  amqp::Content content;
  content.properties = runtime::as_bytes(encoded);
  content.body = body;
  // The stamp begins the first body frame; the two frames before it are small.
  const std::size_t method_size = out.size();
  amqp::write_content(out, kChannel, content, client_.frame_max());
  const std::size_t header_size =
      amqp::kFrameEnvelope + amqp::ContentHeader::kFixedSize + encoded.size();
  Template result;
  result.stamp_at = method_size + header_size + amqp::kFrameHeaderSize;
  result.head = flatten(out);
  const std::size_t cut = result.stamp_at + kStampSize;
  if (result.head.size() - cut > kCopyMax) {
    result.rest = runtime::Bytes::copy(std::span(result.head).subspan(cut));
    result.head.resize(cut);
  }
  return result;
}

// --- publishing ---

std::uint64_t Producer::due_ns(std::uint64_t number) const {
  return start_ns_ +
         static_cast<std::uint64_t>(static_cast<double>(number) * interval_ns_ + offset_ns_);
}

std::uint64_t Producer::allowance(std::uint64_t now_ns) const {
  std::uint64_t allowed = quota_ - published_;
  if (window_) allowed = std::min(allowed, window_->room());
  if (interval_ns_ > 0 && allowed > 0) {
    const std::uint64_t first = due_ns(0);
    if (now_ns < first) return 0;
    const auto due =
        static_cast<std::uint64_t>(static_cast<double>(now_ns - first) / interval_ns_) + 1;
    allowed = std::min(allowed, due - std::min(due, published_));
  }
  return allowed;
}

bool Producer::publish(std::uint64_t now_ns) {
  if (!client_.is_open() || !client_.idle()) return false;
  const std::uint64_t allowed = allowance(now_ns);
  if (allowed == 0) return false;
  const std::uint64_t sent = write_batch(allowed, now_ns);
  tally_.published += sent;
  tally_.last_publish_ns = now_ns;
  client_.flush();
  return client_.is_open() && client_.idle() && allowance(now_ns) != 0;
}

std::uint64_t Producer::write_batch(std::uint64_t wanted, std::uint64_t now_ns) {
  runtime::OutChain& out = client_.out();
  std::uint64_t sent = 0;
  while (sent < wanted && out.size() < kBatchBytes) {
    const Template& message = templates_[turn_];
    if (++turn_ == templates_.size()) turn_ = 0;
    const std::uint64_t due = interval_ns_ > 0 ? due_ns(published_) : now_ns;
    write_message(out.reserve(message.head.size()), message, due);
    out.advance(message.head.size());
    if (!message.rest.empty()) out.append(message.rest);
    if (window_) window_->sent(due);
    ++published_;
    ++sent;
  }
  return sent;
}

void Producer::write_message(std::uint8_t* at, const Template& message, std::uint64_t due) {
  std::memcpy(at, message.head.data(), message.head.size());
  const Identity identity{run_, static_cast<std::uint16_t>(index_), published_};
  write_stamp(at + message.stamp_at, identity, due);
}

void Producer::sync() {
  // Declared passively a queue answers when it has what was published before.
  syncs_awaited_ = 0;
  if (!client_.is_open()) return;
  const auto answered = [this](std::span<const std::uint8_t>) {
    --syncs_awaited_;
    tally_.last_sync_ns = client_.read_ns();
    tally_.last_progress_ns = client_.read_ns();
  };
  const bool all = options_.spread != Spread::kOneKnown;
  const int queues = all ? options_.queues : share_.count;
  for (int i = 0; i < queues; ++i) {
    const std::string queue = options_.queue_at(all ? i : share_.at(i));
    amqp::QueueDeclare declare;
    declare.queue = queue;
    declare.passive = true;
    ++syncs_awaited_;
    client_.call<amqp::QueueDeclareOk>(declare, answered);
  }
  client_.flush();
}

bool Producer::is_settled() const {
  if (!client_.is_open()) return true;
  return window_ ? window_->unanswered() == 0 : syncs_awaited_ == 0;
}

// --- what comes back ---

bool Producer::on_frame(const amqp::Frame& frame) noexcept {
  switch (frame.type) {
    case amqp::FrameType::kMethod:
      return on_method(frame.payload);
    case amqp::FrameType::kHeader:
      if (frame.payload.size() < amqp::ContentHeader::kFixedSize) return true;
      content_.begin(amqp::load_u64(frame.payload.data() + 4));
      return true;
    case amqp::FrameType::kBody:
      if (content_.add(frame.payload)) {
        ++tally_.returned;
        tally_.last_progress_ns = client_.read_ns();
        const Identity identity = content_.stamp().identity;
        if (identity.number < published_) returned_.add(identity.number);
      }
      return true;
    case amqp::FrameType::kHeartbeat:
      return true;
  }
  return false;
}

bool Producer::on_method(std::span<const std::uint8_t> payload) {
  if (payload.size() < 4) return false;
  switch (amqp::load_u32(payload.data())) {
    case amqp::kMethodKey<amqp::BasicAck>:
      on_answer(payload.subspan(4), true);
      return true;
    case amqp::kMethodKey<amqp::BasicNack>:
      on_answer(payload.subspan(4), false);
      return true;
    case amqp::kMethodKey<amqp::BasicReturn>:
      return true;
    default:
      return false;
  }
}

void Producer::on_answer(std::span<const std::uint8_t> arguments, bool ack) {
  // ack and nack: the tag, then the bit `multiple` in the lowest place.
  if (arguments.size() < 9 || !window_) return;
  const std::uint64_t tag = amqp::load_u64(arguments.data());
  const bool multiple = (arguments[8] & 1) != 0;
  const std::uint64_t now_ns = client_.read_ns();
  const std::uint64_t settled =
      window_->answer(tag, multiple, ack, [this, now_ns](std::uint64_t due) {
        tally_.confirm_latency.record(now_ns > due ? now_ns - due : 0);
      });
  tally_.answered += settled;
  if (!ack) tally_.nacked += settled;
  answered_in_read_ = true;
}

void Producer::on_read_done() noexcept {
  if (!answered_in_read_) return;
  answered_in_read_ = false;
  tally_.confirms.event(client_.read_ns());
  tally_.last_progress_ns = client_.read_ns();
  events_.may_publish(static_cast<std::size_t>(index_));
}

void Producer::on_writable() noexcept { events_.may_publish(static_cast<std::size_t>(index_)); }

void Producer::on_blocked(bool blocked, const std::string& reason) noexcept {
  if (blocked) ++tally_.blocked;
  events_.note(client_.name() +
               (blocked ? ": connection.blocked: " + reason : ": connection.unblocked"));
}

void Producer::on_lost(const std::string& reason) noexcept {
  events_.lost("producer at " + client_.name() + ": " + reason);
}

}  // namespace ringtail::perf
