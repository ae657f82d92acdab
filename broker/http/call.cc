#include "broker/http/call.h"

#include <algorithm>

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
  return answered ? *result : CommandResult{};
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
    outcomes.insert(outcomes.end(), batch->outcomes.begin(), batch->outcomes.end());
  }
  return outcomes;
}

QueueAnswer Call::ask_queue(const cluster::metadata::QueueRecord& queue,
                            const QueueQuestion& question) {
  if (failed()) return {};
  const auto result = std::make_shared<QueueAnswer>();
  const bool answered = keep(gateway_.on_shard_later(
      queue.shard,
      [result, queue, question](BrokerShard& shard, const std::function<void()>& done) {
        shard.queue_calls().ask(queue, question, [result, done](const QueueAnswer& answer) {
          *result = answer;
          done();
        });
      }));
  return answered ? *result : QueueAnswer{};
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
