#include "cluster/metadata/service.h"

#include <algorithm>
#include <deque>
#include <utility>

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

struct Proposer {
  Address from;
  std::uint64_t request = 0;
};

// Applied by the owner, not yet by every replica.
struct Batch {
  std::uint64_t index = 0;
  std::vector<Proposer> proposers;
  std::vector<CommandResult> results;
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

  Address service_on(std::size_t shard_number) const {
    return {self.node, runtime::ShardId{static_cast<std::uint16_t>(shard_number)}, kServiceActor};
  }

  void propose(Propose& letter);
  void apply(Apply& letter);
  void applied_by(const Applied& letter);
  void turn_end() noexcept override;
  void answer_applied();
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
  batch.proposers = std::exchange(proposers, {});
  for (std::size_t other = 1; other < shards; ++other) {
    auto letter = std::make_unique<Apply>();
    letter->index = batch.index;
    letter->commands = shared;
    shard.post(self, service_on(other), std::move(letter));
  }
  batch.results.reserve(shared->size());
  for (const Command& command : *shared) batch.results.push_back(store.apply(command));
  applied[0] = batch.index;
  waiting.push_back(std::move(batch));
  answer_applied();
}

void Service::State::answer_applied() {
  const std::uint64_t everywhere = *std::min_element(applied.begin(), applied.end());
  while (!waiting.empty() && waiting.front().index <= everywhere) {
    Batch batch = std::move(waiting.front());
    waiting.pop_front();
    for (std::size_t i = 0; i < batch.proposers.size(); ++i) {
      auto answer = std::make_unique<Proposed>();
      answer->request = batch.proposers[i].request;
      answer->result = std::move(batch.results[i]);
      shard.post(self, batch.proposers[i].from, std::move(answer));
    }
  }
}

}  // namespace ringtail::cluster::metadata
