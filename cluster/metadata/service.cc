#include "cluster/metadata/service.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "cluster/metadata/durable_log.h"
#include "cluster/metadata/saved_codec.h"

namespace ringtail::cluster::metadata {

using runtime::ActorId;
using runtime::Address;

namespace {

// The service of every shard; above every qid and below every invented id.
constexpr ActorId kServiceActor{1ULL << 62};

// Answered by Applied once the replica has applied the commands, in order. Index counts batches.
struct Apply : runtime::Letter {
  Apply() : Letter(kApply) {}
  std::uint64_t index = 0;
  std::shared_ptr<const std::vector<Command>> commands;
};

struct Applied : runtime::Letter {
  Applied() : Letter(kApplied) {}
  std::uint64_t index = 0;
};

// Answered by Restored.
struct Restore : runtime::Letter {
  Restore() : Letter(kRestore) {}
  std::shared_ptr<const SavedState> saved;
};

struct Restored : runtime::Letter {
  Restored() : Letter(kRestored) {}
};

struct Proposer {
  Address from;
  std::uint64_t request = 0;
};

// An answer that is ready to leave, once the journal has kept that many changes.
struct Answer {
  Proposer to;
  std::uint64_t needs_kept = 0;  // 0: it concerns nothing that is kept
  CommandResult result;
};

// A record that does not outlive a restart: its declaration waits for no disk.
bool is_transient(const Command& command) {
  if (const auto* queue = std::get_if<DeclareQueue>(&command)) {
    return !queue->record.durable || queue->record.exclusive();
  }
  const auto* exchange = std::get_if<DeclareExchange>(&command);
  return exchange != nullptr && !exchange->record.durable;
}

// Applied by the owner, not yet by every replica.
struct Batch {
  std::uint64_t index = 0;
  std::vector<Answer> answers;
};

}  // namespace

struct Service::State final : runtime::TurnTask {
  State(runtime::Shard& on, std::uint16_t count)
      : shard(on),
        shards(count),
        self{on.node(), on.id(), kServiceActor},
        store(count),
        applied(count, 0) {}

  runtime::Shard& shard;
  const std::uint16_t shards;
  const Address self;
  Store store;

  // The replica's: the last batch that it applied.
  std::uint64_t last_applied = 0;

  // The owner's: what this turn brought, and what waits for the replicas.
  std::vector<Command> commands;
  std::vector<Proposer> proposers;
  std::uint64_t last_index = 0;
  std::deque<Batch> waiting;
  std::vector<std::uint64_t> applied;  // by shard: the last batch that it has reported
  ChangeEncoder encoder;
  std::unique_ptr<DurableLog> log;  // null: nothing is kept
  std::deque<Answer> unkept;        // applied everywhere; waiting for the journal, in its order
  std::function<void(const Opened&)> opened;
  bool empty = false;
  std::size_t restored = 0;  // shards that have what was saved

  Address service_on(std::size_t shard_number) const {
    return {self.node, runtime::ShardId{static_cast<std::uint16_t>(shard_number)}, kServiceActor};
  }

  void propose(Propose& letter);
  void apply(Apply& letter);
  void applied_by(const Applied& letter);
  void turn_end() noexcept override;
  std::uint64_t keep(const Command& command, const CommandResult& result);
  void answer_applied();
  void answer_kept();
  void answer(Answer& answer);
  void log_opened(runtime::Result<SavedState> saved);
  void restore(const Restore& letter);
  void restored_by_one();
};

Service::Service(runtime::Shard& shard, std::uint16_t shards)
    : state_(std::make_unique<State>(shard, shards)) {
  shard.add(kServiceActor, *this);
}

Service::~Service() { state_->shard.remove(kServiceActor); }

Store& Service::store() { return state_->store; }

Address Service::owner(runtime::NodeId node) { return {node, runtime::ShardId{0}, kServiceActor}; }

void Service::receive(runtime::LetterPtr letter) noexcept {
  switch (letter->kind) {
    case kPropose:
      state_->propose(runtime::letter_cast<Propose>(*letter));
      return;
    case kApply:
      state_->apply(runtime::letter_cast<Apply>(*letter));
      return;
    case kApplied:
      state_->applied_by(runtime::letter_cast<Applied>(*letter));
      return;
    case kRestore:
      state_->restore(runtime::letter_cast<Restore>(*letter));
      return;
    case kRestored:
      state_->restored_by_one();
      return;
    default:
      RT_CHECK(false, "a letter that the metadata service does not know");
  }
}

void Service::State::propose(Propose& letter) {
  RT_CHECK(shard.id().value == 0, "a proposal to a shard that is not the owner");
  commands.push_back(std::move(letter.command));
  proposers.push_back({letter.from, letter.request});
  shard.flush_batches_at_turn_end(*this);
}

void Service::State::apply(Apply& letter) {
  RT_CHECK(letter.index == last_applied + 1, "a batch of metadata was lost or came twice");
  for (const Command& command : *letter.commands) store.apply(command);
  last_applied = letter.index;
  auto answer = std::make_unique<Applied>();
  answer->index = letter.index;
  shard.post(self, letter.from, std::move(answer));
}

void Service::State::applied_by(const Applied& letter) {
  applied[letter.from.shard.value] = letter.index;
  answer_applied();
}

// The batch leaves for the replicas before this shard applies it, so that whatever this shard's
// observers send about it to another shard arrives behind it.
void Service::State::turn_end() noexcept {
  const auto shared = std::make_shared<const std::vector<Command>>(std::exchange(commands, {}));
  Batch batch;
  batch.index = ++last_index;
  const std::vector<Proposer> from = std::exchange(proposers, {});
  for (std::size_t other = 1; other < shards; ++other) {
    auto letter = std::make_unique<Apply>();
    letter->index = batch.index;
    letter->commands = shared;
    shard.post(self, service_on(other), std::move(letter));
  }
  batch.answers.reserve(shared->size());
  for (std::size_t i = 0; i < shared->size(); ++i) {
    const Command& command = (*shared)[i];
    Answer ready{from[i], 0, store.apply(command)};
    ready.needs_kept = keep(command, ready.result);
    batch.answers.push_back(std::move(ready));
  }
  if (log) log->flush();
  applied[0] = batch.index;
  waiting.push_back(std::move(batch));
  answer_applied();
}

// Gives the journal what the command has changed. The answer waits for that; and where the command
// found its work done already, for the changes before it, which may not be on the disk yet.
std::uint64_t Service::State::keep(const Command& command, const CommandResult& result) {
  if (log == nullptr) return 0;
  if (!encoder.bytes().empty()) {
    log->append(encoder.take());
    return log->appended();
  }
  if (result.outcome == Outcome::kDone || is_transient(command)) return 0;
  return log->appended();
}

void Service::State::answer_applied() {
  const std::uint64_t everywhere = *std::min_element(applied.begin(), applied.end());
  while (!waiting.empty() && waiting.front().index <= everywhere) {
    Batch batch = std::move(waiting.front());
    waiting.pop_front();
    for (Answer& ready : batch.answers) {
      if (ready.needs_kept == 0 || ready.needs_kept <= log->kept()) {
        answer(ready);
      } else {
        unkept.push_back(std::move(ready));
      }
    }
  }
}

void Service::State::answer_kept() {
  while (!unkept.empty() && unkept.front().needs_kept <= log->kept()) {
    answer(unkept.front());
    unkept.pop_front();
  }
}

void Service::State::answer(Answer& ready) {
  auto letter = std::make_unique<Proposed>();
  letter->request = ready.to.request;
  letter->result = std::move(ready.result);
  shard.post(self, ready.to.from, std::move(letter));
}

// --- what is kept --------------------------------------------------------------------------------

void Service::open(const std::string& data_dir, std::function<void(const Opened&)> done,
                   std::function<void(const runtime::Status&)> lost) {
  State& state = *state_;
  RT_CHECK(state.shard.id().value == 0 && state.log == nullptr && state.last_index == 0,
           "the metadata is opened once, by its owner, before it is used");
  state.opened = std::move(done);
  state.log = std::make_unique<DurableLog>(
      state.shard.env(), state.store, data_dir,
      DurableLog::Callbacks{[&state] { state.answer_kept(); }, std::move(lost)});
  state.log->open(
      [&state](runtime::Result<SavedState> saved) { state.log_opened(std::move(saved)); });
}

void Service::close(std::function<void()> done) {
  if (state_->log == nullptr) return done();
  state_->log->close(std::move(done));
}

// Every shard's replica begins with the same, this one's too.
void Service::State::log_opened(runtime::Result<SavedState> saved) {
  if (!saved.ok()) {
    const auto done = std::exchange(opened, nullptr);
    return done({saved.status(), false});
  }
  empty = saved.value().empty();
  const auto shared = std::make_shared<const SavedState>(std::move(saved).value());
  for (std::size_t each = 0; each < shards; ++each) {
    auto letter = std::make_unique<Restore>();
    letter->saved = shared;
    shard.post(self, service_on(each), std::move(letter));
  }
}

void Service::State::restore(const Restore& letter) {
  store.restore(*letter.saved);
  shard.post(self, letter.from, std::make_unique<Restored>());
}

void Service::State::restored_by_one() {
  if (++restored < shards) return;
  store.set_sink(&encoder);
  const auto done = std::exchange(opened, nullptr);
  done({{}, empty});
}

}  // namespace ringtail::cluster::metadata
