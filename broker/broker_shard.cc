#include "broker/broker_shard.h"

#include <fmt/format.h>

#include <array>

#include "broker/channel.h"
#include "broker/connection.h"
#include "broker/direct_reply.h"
#include "broker/memory_monitor.h"
#include "broker/placement.h"
#include "broker/runtime/allocator.h"
#include "broker/runtime/log.h"

namespace ringtail::broker {

using cluster::metadata::Command;
using cluster::metadata::CommandResult;
using cluster::metadata::DeleteQueue;
using cluster::metadata::Proposed;
using cluster::metadata::QueueRecord;
using runtime::Address;
using runtime::ShardId;

namespace {

// Beside the metadata service's well-known id; invented ids have the highest bit, qids are small.
constexpr runtime::ActorId kBrokerShardActor{(1ULL << 62) + 0x100};

// A connection's id is its shard's number above its number there.
constexpr int kConnectionShardShift = 48;

// Base 64 for URLs (RFC 4648, section 5) of 16 random bytes, without padding: 22 characters.
std::string random_text(runtime::Rng& rng) {
  static constexpr char kAlphabet[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::array<std::uint8_t, 22> bytes;
  rng.fill_secure(bytes);
  std::string text;
  for (const std::uint8_t byte : bytes) text += kAlphabet[byte & 63];
  return text;
}

}  // namespace

BrokerShard::BrokerShard(runtime::Shard& shard, const runtime::Config& config, std::uint16_t shards)
    : shard_(shard),
      config_(config),
      metadata_(shard, ShardId{shards}),
      store_(metadata_.store()),
      routes_(metadata_.store()),
      access_(metadata_.store()),
      recent_history_(shard, metadata_.store(), routes_, shards),
      dead_letters_(shard, metadata_.store(), routes_, recent_history_),
      stores_(shard, config.data_dir),
      queues_(
          shard, metadata_.store(),
          [this](std::shared_ptr<const QueueRecord> record, std::function<void()> done) {
            propose(
                DeleteQueue{record->vhost, record->name, record->qid},
                [done = std::move(done)](const CommandResult&) { done(); }, true);
          },
          dead_letters_, &stores_),
      recovery_(shard, shards, metadata_.store(), queues_, stores_),
      queue_calls_(shard),
      departures_(shard, metadata_.store(), peers_),
      chance_(shard.env().rng().next()),
      memory_limit_(config.memory_high_watermark),
      tls_handshakes_(shard.env(), config.tls.handshake_timeout_ms, runtime::kTlsHandshakesMax),
      shards_(shards) {
  shard_.add(kBrokerShardActor, *this);
  peers_.set_name(shard_.node(), config.node_name);
  metadata_.store().add_observer(*this);
  if (shard.id().value == 0) {
    registry_ = std::make_unique<ConnectionRegistry>(shard, config, metadata_.store());
  }
}

BrokerShard::~BrokerShard() {
  connections_.clear();
  ended_.clear();
  registry_.reset();
  shard_.remove(kBrokerShardActor);
}

Address BrokerShard::address_of(runtime::NodeId node, ShardId shard) {
  return {node, shard, kBrokerShardActor};
}

void BrokerShard::propose(Command command, std::function<void(const CommandResult&)> done,
                          bool patient) {
  auto letter = std::make_unique<cluster::metadata::Propose>();
  letter->request = next_request_++;
  if (auto* declared = std::get_if<cluster::metadata::DeclareQueue>(&command)) {
    command = placed(*this, std::move(declared->record));
  }
  letter->command = std::move(command);
  letter->patient = patient;
  proposals_[letter->request] = std::move(done);
  shard_.post(address_of(shard_.node(), shard_.id()), metadata_.owner(), std::move(letter));
}

std::uint64_t BrokerShard::next_connection_id() {
  return (std::uint64_t{shard_.id().value} << kConnectionShardShift) | next_connection_++;
}

// --- connections ---------------------------------------------------------------------------------

void BrokerShard::channels_changed(Connection& connection) {
  channels_changed_.push_back(connection.id());
  shard_.flush_batches_at_turn_end(channel_count_task_);
}

void BrokerShard::report_channels() {
  auto letter = std::make_unique<ChannelCounts>();
  letter->counts.reserve(channels_changed_.size());
  for (const std::uint64_t id : channels_changed_) {
    if (Connection* changed = connection(id)) {
      letter->counts.push_back({id, changed->report_channel_count()});
    }
  }
  channels_changed_.clear();
  shard_.post(address_of(shard_.node(), shard_.id()), ConnectionRegistry::address(shard_.node()),
              std::move(letter));
}

bool BrokerShard::hold_refusal() {
  if (refusals_held_ >= runtime::kRefusalsHeldMax) return false;
  ++refusals_held_;
  return true;
}

void BrokerShard::close_connections(const std::function<bool(const Connection&)>& which,
                                    const std::string& text) {
  for (auto& [id, connection] : connections_) {
    if (which(*connection)) connection->close_forced(text);
  }
}

void BrokerShard::vhost_removed(const cluster::metadata::VhostRecord& record) {
  close_connections([&](const Connection& one) { return one.vhost() == record.name; },
                    fmt::format("vhost '{}' is deleted", record.name));
}

void BrokerShard::user_removed(const cluster::metadata::UserRecord& record) {
  close_connections([&](const Connection& one) { return one.user() == record.name; },
                    fmt::format("user '{}' is deleted", record.name));
}

void BrokerShard::for_each_connection(const std::function<void(Connection&)>& visit) {
  for (auto& [id, connection] : connections_) visit(*connection);
}

Connection* BrokerShard::connection(std::uint64_t id) {
  const auto found = connections_.find(id);
  return found == connections_.end() ? nullptr : found->second.get();
}

// --- exclusive queues
// -----------------------------------------------------------------------------

Connection* BrokerShard::exclusive_owner(const QueueRecord& record) {
  const auto found = connections_.find(record.exclusive_owner);
  return found == connections_.end() ? nullptr : found->second.get();
}

// Here and not in the answer to the channel: the channel may be gone before its answer comes.
void BrokerShard::queue_added(const std::shared_ptr<const QueueRecord>& record) {
  if (!record->exclusive() || record->home != shard_.node() ||
      record->exclusive_owner >> kConnectionShardShift != shard_.id().value) {
    return;
  }
  Connection* owner = exclusive_owner(*record);
  if (owner != nullptr && owner->own_queue(record)) return;
  propose(
      DeleteQueue{record->vhost, record->name, record->qid}, [](const CommandResult&) {}, true);
}

void BrokerShard::queue_removed(const QueueRecord& record) {
  queue_gone(record);
  if (!record.exclusive() || record.home != shard_.node()) return;
  if (Connection* owner = exclusive_owner(record)) owner->disown_queue(record.qid);
}

std::string BrokerShard::generate_name(std::string_view prefix) {
  return std::string(prefix) + random_text(shard_.env().rng());
}

void BrokerShard::receive(runtime::LetterPtr letter) noexcept {
  switch (letter->kind) {
    case kAdopt:
      adopt(runtime::letter_cast<Adopt>(*letter));
      break;
    case kUseCertificate:
      tls_context_ = std::move(runtime::letter_cast<UseCertificate>(*letter).context);
      break;
    case kConnectionEnded:
      if (count_ended_) count_ended_(letter->from.shard);
      break;
    case kMemoryAlarm:
      memory_alarm_ = runtime::letter_cast<MemoryAlarm>(*letter).on;
      memory_limit_ = runtime::letter_cast<MemoryAlarm>(*letter).limit;
      alarm_changed();
      break;
    case kDiskAlarm:
      disk_alarm_ = runtime::letter_cast<DiskAlarm>(*letter).on;
      alarm_changed();
      break;
    case kDirectReply:
      pass_reply(std::move(letter));
      break;
    case kProbeReply:
      answer_probe(std::move(letter));
      break;
    case kPeerDown:
    case kPeerUp:
      peer_changed(runtime::letter_cast<PeerChanged>(*letter).node, letter->kind == kPeerUp);
      break;
    case kPeerReached:
    case kPeerUnreached:
      reach_changed(runtime::letter_cast<PeerChanged>(*letter).node, letter->kind == kPeerReached);
      break;
    case kPeerCongested:
    case kPeerRelieved:
      congestion_changed(runtime::letter_cast<PeerChanged>(*letter).node,
                         letter->kind == kPeerCongested);
      break;
    case kCheckMemory:
      if (memory_monitor_ != nullptr) memory_monitor_->raised_by(letter->from.shard);
      break;
    case kTrimMemory:
      runtime::release_free_memory();
      break;
    case kShutDown:
      shut_down();
      break;
    case kShutDownDone:
      if (++shards_shut_down_ == shards_ && shut_down_done_) shut_down_done_();
      break;
    case cluster::metadata::kProposed: {
      auto& answer = runtime::letter_cast<Proposed>(*letter);
      auto proposal = proposals_.extract(answer.request);
      if (!proposal.empty()) proposal.mapped()(answer.result);
      break;
    }
    default:
      RT_CHECK(false, "a letter that a BrokerShard does not know");
  }
}

void BrokerShard::alarm_changed() {
  for (auto& [id, connection] : connections_) connection->alarm_changed();
}

std::string_view BrokerShard::alarm_reason() const {
  if (memory_alarm_ && disk_alarm_) return "low on memory & disk";
  return disk_alarm_ ? "low on disk" : "low on memory";
}

void BrokerShard::raise_memory_alarm() {
  memory_alarm_ = true;
  shard_.post(address_of(shard_.node(), shard_.id()), address_of(shard_.node(), ShardId{0}),
              std::make_unique<CheckMemory>());
}

void BrokerShard::pass_reply(runtime::LetterPtr letter) {
  const auto found = reply_consumers_.find(runtime::letter_cast<DirectReply>(*letter).name);
  if (found == reply_consumers_.end()) return;  // the asker is gone
  shard_.post(address_of(shard_.node(), shard_.id()), found->second, std::move(letter));
}

// Another node asks shard 0, which knows whether the shard that the name leads to is there.
void BrokerShard::answer_probe(runtime::LetterPtr letter) {
  const auto& probe = runtime::letter_cast<ProbeReply>(*letter);
  const auto place = place_of_reply_name(probe.name);
  if (place && place->shard != shard_.id() && place->shard.value < shards_) {
    const Address from = letter->from;
    shard_.post(from, address_of(shard_.node(), place->shard), std::move(letter));
    return;
  }
  auto answer = std::make_unique<ReplyProbed>();
  answer->request = probe.request;
  answer->exists = reply_consumers_.contains(probe.name);
  shard_.post(address_of(shard_.node(), shard_.id()), probe.from, std::move(answer));
}

void BrokerShard::adopt(Adopt& letter) {
  auto stream = shard_.env().net().adopt(std::move(letter.socket));
  if (!stream || shutting_down_) {
    if (!stream) {
      runtime::log(runtime::LogLevel::kError, "listener", "cannot take a connection: {}",
                   stream.status().text());
    }
    shard_.post(address_of(shard_.node(), shard_.id()), address_of(shard_.node(), ShardId{0}),
                std::make_unique<ConnectionEnded>());
    return;
  }
  if (letter.tls) {
    stream.value() =
        std::make_unique<runtime::TlsStream>(std::move(stream.value()), tls_context_,
                                             tls_handshakes_, runtime::TlsStream::Side::kServer);
  }
  auto connection = std::make_unique<Connection>(*this, std::move(stream).value());
  Connection& added = *connection;
  connections_.emplace(added.id(), std::move(connection));
  added.start();
}

void BrokerShard::connection_ended(Connection& connection) {
  const auto found = connections_.find(connection.id());
  if (found == connections_.end()) return;
  ended_.push_back(std::move(found->second));
  connections_.erase(found);
  shard_.flush_batches_at_turn_end(bury_task_);
  shard_.post(address_of(shard_.node(), shard_.id()), address_of(shard_.node(), ShardId{0}),
              std::make_unique<ConnectionEnded>());
}

void BrokerShard::bury() {
  ended_.clear();
  report_shut_down_if_done();
}

void BrokerShard::shut_down() {
  shutting_down_ = true;
  for (auto& [id, connection] : connections_) connection->shut_down();
  shut_down_timer_ = shard_.env().timers().make([this] {
    runtime::log(runtime::LogLevel::kWarning, "node", "{} connections did not close in time",
                 connections_.size());
    shard_.post(address_of(shard_.node(), shard_.id()), address_of(shard_.node(), ShardId{0}),
                std::make_unique<ShutDownDone>());
  });
  shut_down_timer_->start(runtime::kShutDownTimeoutMs);
  report_shut_down_if_done();
}

void BrokerShard::report_shut_down_if_done() {
  if (!shutting_down_ || !connections_.empty() || shut_down_timer_ == nullptr) return;
  shut_down_timer_.reset();
  shard_.post(address_of(shard_.node(), shard_.id()), address_of(shard_.node(), ShardId{0}),
              std::make_unique<ShutDownDone>());
}

}  // namespace ringtail::broker
