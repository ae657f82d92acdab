#include "broker/http/call.h"

#include <algorithm>

#include "broker/amqp/errors.h"
#include "broker/broker_shard.h"
#include "broker/http/limits.h"

namespace ringtail::broker::http {

using cluster::metadata::Command;
using cluster::metadata::CommandResult;
using cluster::metadata::Outcome;
using cluster::metadata::View;
using runtime::ShardId;
using runtime::Status;

bool Call::has_tag(std::string_view tag) const {
  return std::find(user_->tags.begin(), user_->tags.end(), tag) != user_->tags.end();
}

bool Call::may_enter(const View& view, std::string_view vhost) const {
  return view.permission(vhost, user_->name) != nullptr;
}

bool Call::may_see(const View& view, std::string_view vhost) const {
  return is_monitor() || may_enter(view, vhost);
}

bool Call::keep(const Status& status) {
  if (failure_.ok() && !status.ok()) failure_ = status;
  return status.ok();
}

bool Call::on_shard(ShardId shard, const std::function<void(BrokerShard&)>& call) {
  if (failed()) return false;
  return keep(gateway_.on_shard(shard, call));
}

bool Call::on_every_shard(const std::function<void(BrokerShard&)>& call) {
  for (std::uint16_t i = 0; i < gateway_.shards(); ++i) {
    if (!on_shard(ShardId{i}, call)) return false;
  }
  return true;
}

bool Call::read(const std::function<void(const View&)>& read) {
  return on_shard(ShardId{0}, [&](BrokerShard& shard) { read(shard.view()); });
}

Call::UserPtr Call::user_named(const std::string& name) {
  UserPtr user;
  read([&](const View& view) { user = view.user(name); });
  return user;
}

CommandResult Call::propose(cluster::metadata::Command command) {
  if (failed()) return {};
  const auto result = std::make_shared<CommandResult>();
  const bool answered = keep(gateway_.on_shard_later(
      ShardId{0}, [result, command = std::move(command)](BrokerShard& shard,
                                                         const std::function<void()>& done) {
        shard.propose(command, [result, done](const CommandResult& outcome) {
          *result = outcome;
          done();
        });
      }));
  if (!answered) return {};
  return agreed(result->outcome) ? *result : CommandResult{};
}

// A route that hears nothing of a missing majority cannot report a success.
bool Call::agreed(Outcome outcome) {
  if (outcome != Outcome::kUnavailable) return true;
  return keep(Status(runtime::Code::kUnavailable, std::string(amqp::kNoMajority)));
}

std::vector<Outcome> Call::propose_all(const std::vector<Command>& commands) {
  std::vector<Outcome> outcomes;
  outcomes.reserve(commands.size());
  while (outcomes.size() < commands.size() && !failed()) {
    struct Batch {
      std::vector<Command> commands;
      std::vector<Outcome> outcomes;
    };
    const auto batch = std::make_shared<Batch>();
    const auto from = commands.begin() + static_cast<std::ptrdiff_t>(outcomes.size());
    const std::size_t size = std::min(kProposalsAtATime, commands.size() - outcomes.size());
    batch->commands.assign(from, from + static_cast<std::ptrdiff_t>(size));
    const bool answered = keep(gateway_.on_shard_later(
        ShardId{0}, [batch](BrokerShard& shard, const std::function<void()>& done) {
          for (Command& command : batch->commands) {
            // Answers come in the order of the proposals.
            shard.propose(std::move(command), [batch, done](const CommandResult& result) {
              batch->outcomes.push_back(result.outcome);
              if (batch->outcomes.size() == batch->commands.size()) done();
            });
          }
        }));
    if (!answered) break;
    for (const Outcome outcome : batch->outcomes) {
      if (!agreed(outcome)) return outcomes;
      outcomes.push_back(outcome);
    }
  }
  return outcomes;
}

ShardId Call::nearest_shard(const cluster::metadata::QueueRecord& queue) const {
  return ShardId{static_cast<std::uint16_t>(queue.shard.value % gateway_.shards())};
}

QueueAnswer Call::ask_queue(const cluster::metadata::QueueRecord& queue,
                            const QueueQuestion& question) {
  if (failed()) return {};
  const auto result = std::make_shared<QueueAnswer>();
  const bool answered = keep(gateway_.on_shard_later(
      nearest_shard(queue),
      [result, queue, question](BrokerShard& shard, const std::function<void()>& done) {
        shard.queue_calls().ask(queue, question, [result, done](const QueueAnswer& answer) {
          *result = answer;
          done();
        });
      }));
  if (!answered) return {};
  if (result->answer == queue::Answer::kUnavailable) (void)agreed(Outcome::kUnavailable);
  return *result;
}

std::vector<QueueAnswer> Call::inspect_queues(const std::vector<QueuePtr>& queues) {
  QueueAnswer unreached;
  unreached.node_down = true;
  std::vector<QueueAnswer> answers;
  answers.reserve(queues.size());
  while (answers.size() < queues.size() && !failed()) {
    struct Batch {
      std::vector<QueuePtr> queues;
      std::vector<QueueAnswer> answers;
      std::size_t open = 0;
    };
    const auto batch = std::make_shared<Batch>();
    const auto from = queues.begin() + static_cast<std::ptrdiff_t>(answers.size());
    const std::size_t size = std::min(kQuestionsAtATime, queues.size() - answers.size());
    batch->queues.assign(from, from + static_cast<std::ptrdiff_t>(size));
    batch->answers.resize(size);
    batch->open = size;
    const Status status = gateway_.on_shard_later(
        ShardId{0}, [batch](BrokerShard& shard, const std::function<void()>& done) {
          QueueQuestion question;
          question.what = QueueQuestion::What::kInspect;
          for (std::size_t i = 0; i < batch->queues.size(); ++i) {
            shard.queue_calls().ask(*batch->queues[i], question,
                                    [batch, done, i](const QueueAnswer& answer) {
                                      batch->answers[i] = answer;
                                      if (--batch->open == 0) done();
                                    });
          }
        });
    // After a time-out the shard may still write into the batch.
    if (!status.ok()) break;
    answers.insert(answers.end(), batch->answers.begin(), batch->answers.end());
  }
  answers.resize(queues.size(), unreached);
  return answers;
}

Response amqp_failure(const amqp::AmqpError& error) {
  switch (error.code) {
    case amqp::ReplyCode::kNotFound:
      return failure(404, "not_found", error.text);
    case amqp::ReplyCode::kAccessRefused:
    case amqp::ReplyCode::kNotAllowed:
      return not_authorised("Access refused.");
    default:
      return bad_request(error.text);
  }
}

}  // namespace ringtail::broker::http
