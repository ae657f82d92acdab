#include "cluster/metadata/owner.h"

#include <algorithm>
#include <utility>

#include "broker/runtime/check.h"
#include "broker/runtime/limits.h"
#include "broker/runtime/log.h"

namespace ringtail::cluster::metadata {

using runtime::Address;
using runtime::kProposalAgainMs;
using runtime::kProposalTickMs;
using runtime::kProposalTimeoutMs;
using runtime::Result;
using runtime::ShardId;
using runtime::Status;

Owner::Owner(runtime::Shard& control, std::uint16_t data_shards, ProposalLog& log,
             LifeWatcher& watcher)
    : shard_(control),
      data_shards_(data_shards),
      log_(log),
      watcher_(watcher),
      applied_(data_shards, 0) {
  shard_.add(kServiceActor, *this);
  timer_ = shard_.env().timers().make([this] { tick(); });
  timer_->start(kProposalTickMs, kProposalTickMs);
}

Owner::~Owner() { shard_.remove(kServiceActor); }

void Owner::receive(runtime::LetterPtr letter) noexcept {
  switch (letter->kind) {
    case kPropose: {
      auto& propose = runtime::letter_cast<Propose>(*letter);
      return add({propose.from, propose.request, nullptr}, std::move(propose.command),
                 propose.patient);
    }
    case kApplied:
      return applied_by(runtime::letter_cast<Applied>(*letter));
    case kAwaitInForce: {
      const auto& await = runtime::letter_cast<AwaitInForce>(*letter);
      return await_in_force({await.from, await.request, nullptr});
    }
    default:
      RT_CHECK(false, "a letter that the owner of the metadata does not know");
  }
}

void Owner::propose(Command command, std::function<void(const CommandResult&)> done, bool patient) {
  add({{}, 0, std::move(done)}, std::move(command), patient);
}

// --- to the log ----------------------------------------------------------------------------------

void Owner::add(Proposer proposer, Command command, bool patient) {
  Pending pending;
  pending.number = ++last_number_;
  pending.proposer = std::move(proposer);
  pending.command = std::make_shared<const Command>(std::move(command));
  if (!patient) pending.deadline_ms = new_deadline_ms();
  pending_.push_back(std::move(pending));
  shard_.flush_batches_at_turn_end(*this);
}

std::uint64_t Owner::new_deadline_ms() const {
  return shard_.env().clock().monotonic_ms() + kProposalTimeoutMs;
}

void Owner::await_in_force(Proposer proposer) {
  answers_.push_back(
      {index_, std::move(proposer), {Outcome::kUnchanged, nullptr, nullptr}, new_deadline_ms()});
  shard_.flush_batches_at_turn_end(*this);
}

void Owner::turn_end() noexcept {
  send_batch();
  submit_new();
  answer_applied();
}

void Owner::submit_new() {
  if (life_ == 0) return;
  if (submitted_ == 0) progress_ms_ = shard_.env().clock().monotonic_ms();
  while (submitted_ < pending_.size() && submitted_ < runtime::kProposalsUnderWay) {
    submitted_ = submit(submitted_);
  }
}

void Owner::submit_again() {
  submitted_ = 0;
  submit_new();
}

// Gives the log a part of what is pending, from there on; returns where the rest begins.
std::uint64_t Owner::submit(std::size_t from) {
  Proposal proposal{shard_.node(), life_, pending_[from].number, pending_.front().number, {}};
  std::size_t at = from;
  for (; at < pending_.size() && proposal.commands.size() < runtime::kProposalCommands; ++at) {
    // What was given up in between leaves a gap, which only a proposal of its own can explain.
    if (pending_[at].number != proposal.first_request + (at - from)) break;
    proposal.commands.push_back(*pending_[at].command);
  }
  log_.submit(encode(proposal));
  return at;
}

void Owner::leader_changed() {
  if (wanted_.boot != 0) submit_life();
  submit_again();
}

void Owner::begin_life(NodeRecord record) {
  RT_CHECK(record.boot != 0 && record.id == shard_.node(), "a life without a name");
  wanted_ = std::move(record);
  submit_life();
}

void Owner::forget(NodeId id) {
  log_.submit(encode(Proposal{shard_.node(), 0, 0, 0, {ForgetNode{id}}}));
}

void Owner::submit_life() {
  log_.submit(encode(Proposal{shard_.node(), 0, 0, 0, {NodeUp{wanted_}}}));
}

// Time has passed: what was lost is sent again, what has waited too long is given up.
void Owner::tick() {
  const std::uint64_t now = shard_.env().clock().monotonic_ms();
  if (wanted_.boot != 0) submit_life();
  if (submitted_ > 0 && now - progress_ms_ >= kProposalAgainMs) {
    progress_ms_ = now;
    submit_again();
  }
  give_up(now);
  tell_in_force();
}

void Owner::give_up(std::uint64_t now_ms) {
  std::vector<Answer> given_up;
  const auto late = [&](auto& one, Proposer& who) {
    if (now_ms < one.deadline_ms) return false;
    given_up.push_back({0, std::move(who), {Outcome::kUnavailable, nullptr, nullptr}});
    return true;
  };
  std::deque<Pending> kept;
  std::size_t submitted = 0;
  for (std::size_t at = 0; at < pending_.size(); ++at) {
    if (late(pending_[at], pending_[at].proposer)) continue;
    submitted += at < submitted_ ? 1 : 0;
    kept.push_back(std::move(pending_[at]));
  }
  pending_ = std::move(kept);
  submitted_ = submitted;
  std::deque<Answer> waiting;
  for (Answer& one : answers_) {
    if (!late(one, one.to)) waiting.push_back(std::move(one));
  }
  answers_ = std::move(waiting);
  for (Answer& one : given_up) answer(one);
}

// --- from the log --------------------------------------------------------------------------------

Status Owner::commit(std::uint64_t index, std::uint64_t term, std::string_view bytes) {
  Result<Proposal> proposal = decode_proposal(bytes);
  if (!proposal.ok()) return proposal.status();
  apply(index, term, proposal.value());
  return {};
}

void Owner::apply(std::uint64_t index, std::uint64_t term, const Proposal& proposal) {
  RT_CHECK(index > index_, "an entry of the log was applied twice");
  index_ = index;
  const bool own = proposal.node == shard_.node() && proposal.life != 0 && proposal.life == life_;
  std::uint64_t number = proposal.first_request;
  std::uint64_t oldest = proposal.oldest_request;  // it is known of the first alone
  for (const Command& command : proposal.commands) {
    if (store_.accept(proposal.node, proposal.life, number, std::exchange(oldest, 0))) {
      CommandResult result{Outcome::kUnavailable, nullptr, nullptr};
      if (!is_void(command, term)) {
        result = store_.apply(command);
        if (published_) commands_.push_back(command);
      }
      if (own) resolve(index, number, std::move(result));
    }
    ++number;
  }
  look_at_own_life();
  lead_queues();
  shard_.flush_batches_at_turn_end(*this);
}

// A proposal of this node has been applied. It is the first of those that wait (Store::accept), or
// was given up.
void Owner::resolve(std::uint64_t index, std::uint64_t number, CommandResult result) {
  progress_ms_ = shard_.env().clock().monotonic_ms();
  if (pending_.empty() || pending_.front().number != number) return;
  Pending& first = pending_.front();
  answers_.push_back({index, std::move(first.proposer), std::move(result), first.deadline_ms});
  pending_.pop_front();
  if (submitted_ > 0) --submitted_;
}

void Owner::look_at_own_life() {
  if (store_.is_forgotten(shard_.node())) {
    wanted_ = {};
    life_ = 0;
    submitted_ = 0;
    return watcher_.own_node_forgotten();
  }
  const std::shared_ptr<const NodeRecord> own = store_.node(shard_.node());
  const bool up = own != nullptr && own->up;
  if (life_ != 0 && (!up || own->life != life_)) {
    life_ = 0;
    submitted_ = 0;
    watcher_.life_ended();
  }
  if (life_ == 0 && up && wanted_.boot != 0 && own->boot == wanted_.boot) {
    wanted_ = {};
    life_ = own->life;
    last_number_ = 0;
    for (Pending& one : pending_) one.number = ++last_number_;
    watcher_.life_begun(*own);
  }
}

// A master that has members in sync whose life has ended may itself have gone without anybody's
// knowing; then one of those has to lead. So it says, after it has become what it is, that it
// lives; nothing is committed in those queues before. Once is enough: what was proposed is not
// lost.
void Owner::lead_queues() {
  const std::uint64_t mark = store_.last_mark();
  if (life_ == 0 || led_up_to_ >= mark || !store_.awaits_lead(shard_.node())) return;
  led_up_to_ = mark;
  propose(
      LeadQueues{shard_.node(), life_, mark}, [](const CommandResult&) {}, true);
}

Status Owner::restore(std::string_view snapshot) {
  Result<SavedState> saved = decode_state(snapshot);
  if (!saved.ok()) return saved.status();
  send_batch();
  index_ = saved.value().index;
  store_.restore(saved.value());
  if (published_) {
    const auto shared = std::make_shared<const SavedState>(std::move(saved).value());
    begin_batch();
    for (std::uint16_t each = 0; each < data_shards_; ++each) {
      auto letter = std::make_unique<Restore>();
      letter->batch = last_batch_;
      letter->saved = shared;
      shard_.post({shard_.node(), shard_.id(), kServiceActor},
                  {shard_.node(), ShardId{each}, kServiceActor}, std::move(letter));
    }
  }
  look_at_own_life();
  lead_queues();
  shard_.flush_batches_at_turn_end(*this);
  return {};
}

// --- to the data shards --------------------------------------------------------------------------

void Owner::publish(std::function<void()> done) {
  RT_CHECK(!published_, "the metadata is published once");
  published_ = true;
  published_done_ = std::move(done);
  const auto shared = std::make_shared<const SavedState>(store_.save());
  begin_batch();
  for (std::uint16_t each = 0; each < data_shards_; ++each) {
    auto letter = std::make_unique<Restore>();
    letter->batch = last_batch_;
    letter->saved = shared;
    shard_.post({shard_.node(), shard_.id(), kServiceActor},
                {shard_.node(), ShardId{each}, kServiceActor}, std::move(letter));
  }
}

// The data shards are sent all up to the present index.
void Owner::begin_batch() {
  batches_.push_back({++last_batch_, index_});
  known_.push_back({index_, store_.next_qid()});
}

void Owner::send_batch() {
  if (!published_) {
    // Nobody uses what there is yet, so nobody has to wait for its use.
    if (applied_here_ != index_) log_.applied_here(applied_here_ = index_);
    return;
  }
  const std::uint64_t sent = batches_.empty() ? applied_here_ : batches_.back().index;
  if (sent == index_) return;
  const auto shared = std::make_shared<const std::vector<Command>>(std::exchange(commands_, {}));
  begin_batch();
  for (std::uint16_t each = 0; each < data_shards_; ++each) {
    auto letter = std::make_unique<Apply>();
    letter->batch = last_batch_;
    letter->commands = shared;
    shard_.post({shard_.node(), shard_.id(), kServiceActor},
                {shard_.node(), ShardId{each}, kServiceActor}, std::move(letter));
  }
}

void Owner::applied_by(const Applied& letter) {
  applied_[letter.from.shard.value] = letter.batch;
  const std::uint64_t everywhere = *std::min_element(applied_.begin(), applied_.end());
  const std::uint64_t before = applied_here_;
  while (!batches_.empty() && batches_.front().number <= everywhere) {
    applied_here_ = batches_.front().index;
    batches_.pop_front();
  }
  if (everywhere > 0 && published_done_) std::exchange(published_done_, nullptr)();
  if (applied_here_ == before) return;
  log_.applied_here(applied_here_);
  answer_applied();
}

void Owner::applied_everywhere(std::uint64_t index) {
  if (index <= applied_everywhere_) return;
  applied_everywhere_ = index;
  answer_applied();
}

void Owner::answer_applied() {
  const std::uint64_t ready = std::min(applied_here_, applied_everywhere_);
  while (!answers_.empty() && answers_.front().index <= ready) {
    Answer next = std::move(answers_.front());
    answers_.pop_front();
    answer(next);
  }
  for (; !known_.empty() && known_.front().index <= ready; known_.pop_front()) {
    in_force_below_ = known_.front().below;
  }
}

// The data shards do without the latest: they ask when it matters.
void Owner::tell_in_force() {
  if (told_in_force_ == in_force_below_) return;
  told_in_force_ = in_force_below_;
  for (std::uint16_t each = 0; each < data_shards_; ++each) {
    auto letter = std::make_unique<InForce>();
    letter->below = in_force_below_;
    shard_.post({shard_.node(), shard_.id(), kServiceActor},
                {shard_.node(), ShardId{each}, kServiceActor}, std::move(letter));
  }
}

void Owner::answer(Answer& ready) {
  if (ready.to.done) return ready.to.done(ready.result);
  if (ready.to.request == 0) return;
  auto letter = std::make_unique<Proposed>();
  letter->request = ready.to.request;
  letter->result = std::move(ready.result);
  shard_.post({shard_.node(), shard_.id(), kServiceActor}, ready.to.from, std::move(letter));
}

}  // namespace ringtail::cluster::metadata
