#include "broker/recent_history.h"

#include <algorithm>

#include "broker/routing/recent_history_rules.h"
#include "broker/routing/stable_hash.h"
#include "broker/runtime/check.h"
#include "broker/runtime/limits.h"

namespace ringtail::broker {

using cluster::metadata::BindingRecord;
using cluster::metadata::DestinationKind;
using cluster::metadata::ExchangeRecord;
using cluster::metadata::QueueRecord;
using runtime::Address;
using runtime::ShardId;

namespace {

constexpr runtime::ActorId kRecentHistoryActor{(1ULL << 62) + 0x140};

constexpr std::string_view kType = "x-recent-history";

std::uint64_t length_of(const ExchangeRecord& exchange) {
  return std::min(history_length(exchange.arguments), runtime::kHistoryMessagesMax);
}

}  // namespace

void History::add(queue::MessageRef message) {
  bytes_ += message->footprint();
  messages_.push_back(std::move(message));
  // A message that is too large by itself is not kept either.
  while (messages_.size() > length_ || (bytes_ > runtime::kHistoryBytesMax && !messages_.empty())) {
    bytes_ -= messages_.front()->footprint();
    messages_.pop_front();
  }
}

RecentHistory::RecentHistory(runtime::Shard& shard, cluster::metadata::View& view,
                             const RouteTable& routes, std::uint16_t shards)
    : shard_(shard), view_(view), routes_(routes), publisher_(shard), outgoing_(shards) {
  shard_.add(kRecentHistoryActor, *this);
  view.add_observer(*this);
  observing_ = true;
}

RecentHistory::~RecentHistory() { shard_.remove(kRecentHistoryActor); }

ShardId RecentHistory::owner_of(const Name& exchange) const {
  const std::uint64_t hash = mix_hash(stable_hash(exchange.first) ^ stable_hash(exchange.second));
  return ShardId{static_cast<std::uint16_t>(hash % outgoing_.size())};
}

Address RecentHistory::owner_address(const std::string& vhost, const std::string& exchange) const {
  return address_on(owner_of({vhost, exchange}));
}

bool RecentHistory::remembers(const std::string& vhost, const std::string& exchange) const {
  const Exchange* found = routes_.find(vhost, exchange);
  return found != nullptr && RouteTable::record(*found).type == kType;
}

Address RecentHistory::address_on(ShardId shard) const {
  return {shard_.node(), shard, kRecentHistoryActor};
}

// --- at whoever routes
// ----------------------------------------------------------------------------

void RecentHistory::remember(const std::vector<const Exchange*>& exchanges,
                             const queue::MessageRef& message) {
  if (!may_be_remembered(message->properties())) return;
  for (const Exchange* exchange : exchanges) {
    const ExchangePtr& record = RouteTable::shared_record(*exchange);
    const Name name{record->vhost, record->name};
    Outgoing& outgoing = outgoing_[owner_of(name).value];
    auto found = outgoing.gathered.find(name);
    if (found == outgoing.gathered.end()) {
      found = outgoing.gathered.emplace(name, std::pair{record, History(length_of(*record))}).first;
    }
    found->second.second.add(message);
    outgoing.due = true;
  }
  shard_.flush_batches_at_turn_end(*this);
}

void RecentHistory::turn_end() noexcept {
  for (std::size_t owner = 0; owner < outgoing_.size(); ++owner) {
    if (!outgoing_[owner].due || outgoing_[owner].waiting) continue;
    send(ShardId{static_cast<std::uint16_t>(owner)}, true);
  }
}

void RecentHistory::send(ShardId owner, bool answer) {
  Outgoing& outgoing = outgoing_[owner.value];
  outgoing.due = false;
  if (outgoing.gathered.empty()) return;
  auto letter = std::make_unique<Remember>();
  letter->answer = answer;
  for (auto& [name, one] : outgoing.gathered) letter->exchanges.push_back(std::move(one));
  outgoing.gathered.clear();
  if (answer) outgoing.waiting = true;
  shard_.post(address_on(shard_.id()), address_on(owner), std::move(letter));
}

void RecentHistory::binding_added(const BindingRecord& record) {
  if (!observing_) return;
  if (!remembers(record.vhost, record.source)) return;
  const ShardId owner = owner_of({record.vhost, record.source});
  send(owner, false);
  auto mark = std::make_unique<HistoryMark>();
  mark->version = view_.version();
  mark->binding = record;
  shard_.post(address_on(shard_.id()), address_on(owner), std::move(mark));
}

void RecentHistory::exchange_removed(const ExchangeRecord& record) {
  if (record.type != kType) return;
  const Name name{record.vhost, record.name};
  histories_.erase(name);
  outgoing_[owner_of(name).value].gathered.erase(name);
}

void RecentHistory::queue_removed(const QueueRecord& record) { publisher_.forget(record.qid); }

// --- at the owner
// ---------------------------------------------------------------------------------

void RecentHistory::receive(runtime::LetterPtr letter) noexcept {
  switch (letter->kind) {
    case kRemember:
      on_remember(runtime::letter_cast<Remember>(*letter));
      break;
    case kRemembered: {
      Outgoing& outgoing = outgoing_[letter->from.shard.value];
      outgoing.waiting = false;
      if (outgoing.due) shard_.flush_batches_at_turn_end(*this);
      break;
    }
    case kHistoryMark:
      on_mark(runtime::letter_cast<HistoryMark>(*letter));
      break;
    case kAwaitHistory:
      on_await(runtime::letter_cast<AwaitHistory>(*letter));
      break;
    default:
      RT_CHECK(false, "a letter that RecentHistory does not know");
  }
}

void RecentHistory::on_remember(const Remember& letter) {
  for (const auto& [record, news] : letter.exchanges) {
    const Exchange* exchange = routes_.find(record->vhost, record->name);
    if (exchange == nullptr || RouteTable::record(*exchange).type != kType) continue;
    const Name name{record->vhost, record->name};
    const auto known = histories_.try_emplace(name, length_of(*record)).first;
    for (const queue::MessageRef& message : news.messages()) known->second.add(message);
    for (auto& [version, pending] : pending_) {
      if (pending.marked[letter.from.shard.value] || pending.binding.vhost != name.first ||
          pending.binding.source != name.second) {
        continue;
      }
      for (const queue::MessageRef& message : news.messages()) pending.history.add(message);
    }
  }
  if (letter.answer) {
    shard_.post(address_on(shard_.id()), letter.from, std::make_unique<Remembered>());
  }
}

void RecentHistory::on_mark(const HistoryMark& letter) {
  drop_overdue(letter.from.shard.value, letter.version);
  auto found = pending_.find(letter.version);
  if (found == pending_.end()) {
    const auto known = histories_.find({letter.binding.vhost, letter.binding.source});
    Pending fresh{letter.binding,
                  known == histories_.end() ? History(0) : known->second,
                  std::vector<bool>(outgoing_.size(), false),
                  0,
                  {}};
    if (known == histories_.end()) {
      const auto record = view_.exchange(letter.binding.vhost, letter.binding.source);
      if (record != nullptr) fresh.history = History(length_of(*record));
    }
    found = pending_.emplace(letter.version, std::move(fresh)).first;
  }
  Pending& pending = found->second;
  pending.marked[letter.from.shard.value] = true;
  if (++pending.marks < outgoing_.size()) return;
  deliver(pending);
  for (const auto& [to, request] : pending.awaited) tell_when_settled(to, request);
  pending_.erase(found);
}

// A shard's marks come in order: one that has not come before a later one never will (its shard
// began after that binding). Nothing may wait for it for ever.
void RecentHistory::drop_overdue(std::size_t shard, std::uint64_t version) {
  for (auto at = pending_.begin(); at != pending_.end() && at->first < version;) {
    if (at->second.marked[shard]) {
      ++at;
      continue;
    }
    for (const auto& [to, request] : at->second.awaited) tell_when_settled(to, request);
    at = pending_.erase(at);
  }
}

// The binding that the asker waits for is known to every shard, but marks of it may be under way.
// Those of a later binding come behind them, so the last one answers.
void RecentHistory::on_await(const AwaitHistory& letter) {
  for (auto at = pending_.rbegin(); at != pending_.rend(); ++at) {
    if (at->second.binding.vhost != letter.vhost || at->second.binding.source != letter.exchange) {
      continue;
    }
    at->second.awaited.emplace_back(letter.from, letter.request);
    return;
  }
  tell_when_settled(letter.from, letter.request);
}

void RecentHistory::tell_when_settled(const Address& to, std::uint64_t request) {
  publisher_.when_settled([this, to, request] {
    auto answer = std::make_unique<HistoryDelivered>();
    answer->request = request;
    shard_.post(address_on(shard_.id()), to, std::move(answer));
  });
}

void RecentHistory::deliver(const Pending& pending) {
  const BindingRecord& binding = pending.binding;
  const auto& messages = pending.history.messages();
  if (binding.kind == DestinationKind::kQueue) {
    const auto queue = view_.queue(binding.vhost, binding.destination);
    if (queue == nullptr) return;
    for (const queue::MessageRef& message : messages) publisher_.publish(*queue, message);
    return;
  }
  // An exchange gets the newest first, as from RabbitMQ's plug-in.
  const Exchange* exchange = routes_.find(binding.vhost, binding.destination);
  if (exchange == nullptr) return;
  for (auto message = messages.rbegin(); message != messages.rend(); ++message) {
    deliver_through(*exchange, *message);
  }
}

void RecentHistory::deliver_through(const Exchange& exchange, const queue::MessageRef& message) {
  std::vector<const QueueRecord*> targets;
  std::vector<const Exchange*> remembering;
  routes_.route(exchange,
                {.routing_key = message->routing_key(),
                 .properties = message->properties(),
                 .chance = shard_.env().rng().next()},
                targets, &remembering);
  for (const QueueRecord* target : targets) publisher_.publish(*target, message);
  if (!remembering.empty()) remember(remembering, message);
}

}  // namespace ringtail::broker
