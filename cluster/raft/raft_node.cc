#include "cluster/raft/raft_node.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "broker/runtime/check.h"
#include "broker/runtime/log.h"

namespace ringtail::cluster::raft {

using runtime::Code;
using runtime::NodeId;
using runtime::Result;
using runtime::Status;

namespace {

// Of the proposals that become one append and one message; with a larger one alone.
constexpr std::size_t kSubmitBytes = 512 * 1024;
constexpr std::size_t kSubmitEntries = 4096;
// How often a survivor of a dead leader tries, and how many of them move in turn between.
constexpr int kHurries = 3;
constexpr unsigned kHurryRanks = 7;
constexpr unsigned kNever = std::numeric_limits<unsigned>::max();

RaftNode& node_of(struct ::raft_fsm* fsm) { return *static_cast<RaftNode*>(fsm->data); }

}  // namespace

RaftNode::RaftNode(runtime::Env& env, RaftMachine& machine, Transport& transport,
                   RaftNodeOptions options, Callbacks callbacks)
    : env_(env),
      machine_(machine),
      options_(std::move(options)),
      callbacks_(std::move(callbacks)),
      store_(env, options_.directory, options_.log, [this](const Status& why) { fail(why); }),
      io_(env, store_, transport, options_.io, raft_,
          {[this] { called(); }, [this](const Status& why) { fail(why); },
           [this](std::function<void()> done) { make_snapshot(std::move(done)); }}),
      timer_(env.timers().make([this] { tick(); })),
      hurry_timer_(env.timers().make([this] { hurry_election(); })) {
  RT_CHECK(options_.id.value != 0, "a node of Raft needs an id");
  fill_machine();
}

RaftNode::~RaftNode() {
  if (!started_ || ended_) return;
  failed_ = true;  // nobody is told anything any more
  io_.abandon();
  closed_ = nullptr;
  if (closing_) {
    io_.finish_close();
  } else {
    closing_ = true;
    io_.call([this] { raft_close(&raft_, nullptr); });
  }
}

// --- the beginning -------------------------------------------------------------------------------

void RaftNode::open(std::function<void(Result<bool>)> done) {
  store_.open([this, done = std::move(done)](Result<LoadedLog> loaded) {
    opened(std::move(loaded), done);
  });
}

void RaftNode::opened(Result<LoadedLog> loaded, std::function<void(Result<bool>)> done) {
  if (!loaded.ok()) return done(loaded.status());
  loaded_ = std::move(loaded).value();
  done(!loaded_.snapshot && loaded_.entries.empty() && loaded_.ballot.term == 0);
}

void RaftNode::bootstrap(Done done) {
  const Configuration alone = {{options_.id, options_.address, Role::kVoter}};
  store_.bootstrap(alone, [this, alone, done = std::move(done)](const Status& status) {
    loaded_.ballot = store_.ballot();
    loaded_.entries = {{1, EntryKind::kChange, encode_configuration(alone)}};
    done(status);
  });
}

void RaftNode::force_alone(Done done) {
  const Configuration alone = {{options_.id, options_.address, Role::kVoter}};
  const Index next = loaded_.first + loaded_.entries.size();
  loaded_.entries.push_back({loaded_.ballot.term, EntryKind::kChange, encode_configuration(alone)});
  const StoredEntry& entry = loaded_.entries.back();
  const EntryView view{entry.term, entry.kind, entry.payload};
  store_.append(next, {&view, 1}, [done = std::move(done)] { done({}); });
}

Status RaftNode::start() {
  RT_CHECK(!started_ && !closing_, "Raft is started twice");
  raft_.data = this;
  const int made = raft_init(&raft_, io_.io(), &fsm_, options_.id.value, options_.address.c_str());
  RT_CHECK(made == 0, "no memory for Raft");
  raft_set_election_timeout(&raft_, options_.election_timeout_ms);
  raft_set_heartbeat_timeout(&raft_, options_.heartbeat_ms);
  raft_set_install_snapshot_timeout(&raft_, options_.install_timeout_ms);
  raft_set_snapshot_threshold(&raft_, kNever);
  raft_set_snapshot_trailing(&raft_, static_cast<unsigned>(options_.log.trailing));
  raft_set_pre_vote(&raft_, true);
  if (const Status begun = begin_own_term(); !begun.ok()) return begun;
  io_.set_loaded(std::exchange(loaded_, {}));
  int begun = 0;
  io_.call([&] { begun = raft_start(&raft_); });
  started_ = true;
  if (begun != 0) {
    return {Code::kCorrupt, std::string("Raft cannot start: ") + raft_strerror(begun)};
  }
  called();
  timer_->start(options_.tick_ms, options_.tick_ms);
  return {};
}

Result<Configuration> RaftNode::servers_in_log() const {
  std::string encoded = loaded_.snapshot ? loaded_.snapshot->configuration : "";
  for (const StoredEntry& entry : loaded_.entries) {
    if (entry.kind == EntryKind::kChange) encoded = entry.payload;
  }
  if (encoded.empty()) return Configuration{};
  auto last = decode_configuration(encoded);
  if (!last.ok()) return last.status().within("the last configuration of Raft's log");
  return last;
}

// Fault 13: the only voter leads when libraft has started, in the term that it finds. Its former
// life may have led in that.
Status RaftNode::begin_own_term() {
  const Result<Configuration> servers = servers_in_log();
  if (!servers.ok()) return servers.status();
  if (servers.value().empty()) return {};
  for (const Server& server : servers.value()) {
    if ((server.role == Role::kVoter) != (server.id == options_.id)) return {};
  }
  RT_TRY(store_.set_term(loaded_.ballot.term + 1));
  RT_TRY(store_.set_vote(options_.id));
  loaded_.ballot = store_.ballot();
  return {};
}

void RaftNode::close(std::function<void()> done) {
  RT_CHECK(!closing_, "Raft is closed twice");
  leader_ = {};  // who asks hears no more of this node
  timer_->stop();
  hurry_timer_->stop();
  if (!started_) {
    closing_ = true;
    return store_.close(std::move(done));
  }
  closed_ = std::move(done);
  closing_ = true;
  io_.call([this] {
    raft_close(&raft_,
               [](struct ::raft* raft) { static_cast<RaftNode*>(raft->data)->library_closed(); });
  });
}

void RaftNode::library_closed() {
  ended_ = true;
  if (failed_ && closed_ == nullptr) return;  // it is being destroyed
  for (Batch& batch : std::exchange(proposed_, {})) finish(std::move(batch), Proposed::kLost);
  for (Batch& batch : std::exchange(waiting_, {})) finish(std::move(batch), Proposed::kNotLeader);
  if (change_) end_change({Code::kClosed, "the node is stopping"});
  run_finished();
  const auto closed = std::move(closed_);
  closed();
}

void RaftNode::fail(const Status& why) {
  if (failed_ || closing_) return;
  failed_ = true;
  timer_->stop();
  hurry_timer_->stop();
  callbacks_.lost(why);
}

// --- the machine ---------------------------------------------------------------------------------

void RaftNode::fill_machine() {
  fsm_.version = 3;
  fsm_.data = this;
  fsm_.apply = [](struct ::raft_fsm* fsm, const struct ::raft_buffer* payload, void** result) {
    *result = nullptr;
    return node_of(fsm).applying({static_cast<const char*>(payload->base), payload->len});
  };
  fsm_.snapshot = [](struct ::raft_fsm* fsm, struct ::raft_buffer** pieces, unsigned* count) {
    *pieces = nullptr;
    *count = 0;
    return node_of(fsm).begin_snapshot();
  };
  fsm_.snapshot_async = [](struct ::raft_fsm* fsm, struct ::raft_buffer** pieces, unsigned* count) {
    node_of(fsm).give_snapshot(pieces, count);
    return 0;
  };
  fsm_.snapshot_finalize = [](struct ::raft_fsm* fsm, struct ::raft_buffer** pieces,
                              unsigned* count) {
    raft_free(*pieces);
    *pieces = nullptr;
    *count = 0;
    node_of(fsm).snapshot_ = {};
    return 0;
  };
  fsm_.restore = [](struct ::raft_fsm* fsm, struct ::raft_buffer* bytes) {
    return node_of(fsm).restoring(*bytes);
  };
}

int RaftNode::applying(std::string_view payload) {
  const Index index = raft_.last_applied + 1;
  const Term term = term_at(raft_, index);
  machine_.apply(index, term, payload);
  settle(index, term);
  bytes_since_snapshot_ += payload.size() + 32;
  // libraft looks at its threshold when it has applied what there is.
  if (snapshot_due()) raft_set_snapshot_threshold(&raft_, 1);
  return 0;
}

int RaftNode::restoring(struct ::raft_buffer& bytes) {
  const Status restored = machine_.restore({static_cast<const char*>(bytes.base), bytes.len});
  if (!restored.ok() && raft_.state == RAFT_UNAVAILABLE) return RAFT_MALFORMED;  // start() fails
  if (!restored.ok()) fail(restored.within("a snapshot of another node"));
  snapshot_size_ = bytes.len;
  bytes_since_snapshot_ = 0;
  raft_free(bytes.base);
  return 0;
}

bool RaftNode::snapshot_due() const {
  const Index entries = raft_.last_applied + 1 - raft_.log.snapshot.last_index;
  return entries >= options_.snapshot_entries ||
         bytes_since_snapshot_ >= std::max(options_.snapshot_bytes, snapshot_size_) ||
         store_.log_files() >= options_.snapshot_log_files;
}

// Fault 6: libraft 0.15 writes the configuration into a snapshot that is in force, even one behind
// its end, which may be cut off again. There will be a better moment.
int RaftNode::begin_snapshot() {
  if (io_.configuration_open() || failed_) return RAFT_BUSY;
  raft_set_snapshot_threshold(&raft_, kNever);
  bytes_since_snapshot_ = 0;
  return 0;
}

void RaftNode::make_snapshot(std::function<void()> done) {
  machine_.snapshot([this, done = std::move(done)](runtime::BytesChain bytes) {
    snapshot_ = std::move(bytes);
    done();
  });
}

void RaftNode::give_snapshot(struct ::raft_buffer** pieces, unsigned* count) {
  snapshot_size_ = snapshot_.size();
  *count = static_cast<unsigned>(snapshot_.pieces().size());
  *pieces = reinterpret_cast<struct ::raft_buffer*>(
      make_raft_buffer(*count * sizeof(struct ::raft_buffer)).release());
  for (unsigned i = 0; i < *count; ++i) {
    const runtime::Bytes& piece = snapshot_.pieces()[i];
    // libraft only reads it.
    (*pieces)[i] = {const_cast<std::uint8_t*>(piece.data()), piece.size()};
  }
}

// --- after each call of libraft ------------------------------------------------------------------

void RaftNode::received(NodeId from, std::string_view header, std::string_view body) {
  if (started_ && !failed_ && !closing_) io_.received(from, header, body);
}

void RaftNode::tick() {
  if (failed_ || closing_) return;
  io_.tick();
}

void RaftNode::called() {
  if (!started_ || failed_ || closing_) return;
  if (raft_.state == RAFT_UNAVAILABLE) {
    return fail({Code::kCorrupt, std::string("Raft has given up: ") + raft_errmsg(&raft_)});
  }
  notice_end_of_leadership();
  begin_leadership();
  notice_leader();
  if (raft_.last_applied != applied_told_) {
    applied_told_ = raft_.last_applied;
    if (callbacks_.applied) callbacks_.applied(applied_told_);
  }
  const bool commit_moved = leading_ != 0 && raft_.commit_index > commit_pushed_;
  if (!finished_.empty() || commit_moved || (change_ && change_->due)) want_turn_end();
}

void RaftNode::notice_end_of_leadership() {
  const bool leads_now = raft_.state == RAFT_LEADER;
  if (leading_ != 0 && (!leads_now || raft_.current_term != leading_)) {
    leading_ = 0;
    for (Batch& batch : std::exchange(proposed_, {})) finish(std::move(batch), Proposed::kLost);
    for (Batch& batch : std::exchange(waiting_, {})) {
      finish(std::move(batch), Proposed::kNotLeader);
    }
  }
  if (leads_now && leading_ == 0) leading_ = raft_.current_term;
}

// Fault 1 (Raft paper 5.4.2, 8): an entry of the own term at once, so that those before it can be
// committed with it and never by themselves.
void RaftNode::begin_leadership() {
  if (leading_ == 0 || barrier_asked_ == leading_ || raft_.transfer != nullptr) return;
  barrier_asked_ = leading_;
  commit_pushed_ = raft_.commit_index;
  barrier_.data = this;
  int asked = 0;
  io_.call([&] {
    asked = raft_barrier(&raft_, &barrier_, [](struct ::raft_barrier* barrier, int status) {
      auto& me = *static_cast<RaftNode*>(barrier->data);
      if (status == 0) me.barrier_committed_ = me.barrier_asked_;
    });
  });
  if (asked != 0) barrier_asked_ = 0;
}

void RaftNode::notice_leader() {
  raft_id id = 0;
  const char* address = nullptr;
  raft_leader(&raft_, &id, &address);
  NodeId now{static_cast<std::uint32_t>(id)};
  if (leading_ != 0 && (barrier_committed_ != leading_ || raft_.transfer != nullptr)) now = {};
  if (now == leader_ && (now.value == 0 || leader_term_ == raft_.current_term)) return;
  leader_ = now;
  leader_term_ = raft_.current_term;
  if (callbacks_.leader) callbacks_.leader(leader_, leader_term_);
}

void RaftNode::want_turn_end() { callbacks_.turn_end_wanted(); }

void RaftNode::turn_end() {
  run_finished();
  if (!started_ || failed_ || closing_) return;
  submit_proposals();
  change_step();
  push_commit();
  run_finished();
}

// The followers hear of a commit now, and not with the next heartbeat: by one, if no entries carry
// it to them.
void RaftNode::push_commit() {
  if (leading_ == 0 || raft_.commit_index <= commit_pushed_) return;
  commit_pushed_ = raft_.commit_index;
  if (!io_.commit_unknown_to_others(commit_pushed_)) return;
  raft_set_heartbeat_timeout(&raft_, 0);
  io_.heartbeat();
  raft_set_heartbeat_timeout(&raft_, options_.heartbeat_ms);
}

// --- proposals -----------------------------------------------------------------------------------

void RaftNode::propose(std::vector<std::string> payloads, ProposedDone done) {
  RT_CHECK(!payloads.empty(), "an empty proposal");
  if (failed_ || closing_ || !leads()) return done(Proposed::kNotLeader, 0);
  if (proposed_bytes_ >= options_.most_proposed_bytes) return done(Proposed::kBusy, 0);
  Batch batch;
  for (const std::string& payload : payloads) batch.bytes += payload.size() + 64;
  batch.payloads = std::move(payloads);
  batch.done = std::move(done);
  proposed_bytes_ += batch.bytes;
  waiting_.push_back(std::move(batch));
  want_turn_end();
}

void RaftNode::submit_proposals() {
  while (!waiting_.empty() && leads() && !failed_) {
    std::size_t batches = 0;
    std::size_t bytes = 0;
    std::size_t entries = 0;
    while (batches < waiting_.size() &&
           (batches == 0 || (bytes + waiting_[batches].bytes <= kSubmitBytes &&
                             entries + waiting_[batches].payloads.size() <= kSubmitEntries))) {
      bytes += waiting_[batches].bytes;
      entries += waiting_[batches].payloads.size();
      ++batches;
    }
    submit(batches);
  }
}

void RaftNode::submit(std::size_t batches) {
  std::vector<struct ::raft_buffer> buffers;
  Index last = raft_last_index(&raft_);
  std::vector<Batch> submitted;
  for (std::size_t i = 0; i < batches; ++i) {
    Batch batch = std::move(waiting_.front());
    waiting_.pop_front();
    for (const std::string& payload : batch.payloads) {
      RaftBuffer bytes = make_raft_buffer(payload.size());
      std::memcpy(bytes.get(), payload.data(), payload.size());
      buffers.push_back({bytes.release(), payload.size()});
    }
    last += batch.payloads.size();
    batch.last = last;
    batch.term = raft_.current_term;
    batch.payloads.clear();
    submitted.push_back(std::move(batch));
  }
  // libraft answers when the first of several is applied: the batches are settled without it.
  auto request = std::make_unique<struct ::raft_apply>();
  int asked = 0;
  io_.call([&] {
    asked = raft_apply(&raft_, request.get(), buffers.data(), static_cast<unsigned>(buffers.size()),
                       [](struct ::raft_apply* done, int, void*) { delete done; });
    if (asked == 0) {
      (void)request.release();
      for (Batch& batch : submitted) proposed_.push_back(std::move(batch));
    }
  });
  if (asked == 0) return;
  for (const struct ::raft_buffer& buffer : buffers) raft_free(buffer.base);
  for (Batch& batch : submitted) finish(std::move(batch), Proposed::kNotLeader);
}

void RaftNode::settle(Index index, Term term) {
  while (!proposed_.empty() && proposed_.front().last <= index) {
    const bool ours = proposed_.front().last == index && proposed_.front().term == term;
    finish(std::move(proposed_.front()), ours ? Proposed::kApplied : Proposed::kLost);
    proposed_.pop_front();
  }
}

void RaftNode::finish(Batch batch, Proposed outcome) {
  proposed_bytes_ -= batch.bytes;
  finished_.emplace_back(std::move(batch), outcome);
}

void RaftNode::run_finished() {
  while (!finished_.empty()) {
    auto finished = std::exchange(finished_, {});
    for (auto& [batch, outcome] : finished) batch.done(outcome, batch.last);
  }
}

// --- a dead leader -------------------------------------------------------------------------------

void RaftNode::leader_seen_dead(NodeId leader, unsigned rank) {
  if (!started_ || failed_ || closing_ || leader == options_.id || leader_ != leader) return;
  dead_leader_ = leader;
  dead_leader_term_ = raft_.current_term;
  // Again if its last words were still on their way: they make a follower of a candidate.
  hurries_left_ = kHurries;
  hurry_timer_->start(std::uint64_t{rank} * options_.stagger_ms,
                      std::uint64_t{kHurryRanks} * options_.stagger_ms);
}

void RaftNode::hurry_election() {
  // Somebody was faster, or leads again.
  const bool over = failed_ || closing_ || raft_.state == RAFT_LEADER ||
                    raft_.current_term != dead_leader_term_ ||
                    (raft_.state == RAFT_FOLLOWER && leader_ != dead_leader_);
  if (over || hurries_left_ == 0) return hurry_timer_->stop();
  --hurries_left_;
  io_.expire_election_timer();
}

}  // namespace ringtail::cluster::raft
