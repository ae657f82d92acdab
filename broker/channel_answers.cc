// What a channel asks for its client, and the answers to it.
#include <utility>

#include "broker/amqp/wire.h"
#include "broker/channel.h"
#include "broker/direct_reply.h"

namespace ringtail::broker {

using amqp::kMethodKey;
using cluster::metadata::CommandResult;

namespace {

bool declares_exchange(std::span<const std::uint8_t> arguments) {
  amqp::ExchangeDeclare method;
  return method.decode(arguments) && !method.passive;
}

bool declares_queue(std::span<const std::uint8_t> arguments) {
  amqp::QueueDeclare method;
  return method.decode(arguments) && !method.passive && !names_reply_to(method.queue);
}

// Methods of this kind may be handled while those before them, of the same kind, are awaited: none
// of them looks at what the others change before they are agreed on, in their order.
bool goes_behind_its_kind(std::uint32_t key, std::span<const std::uint8_t> arguments) {
  switch (key) {
    case kMethodKey<amqp::ExchangeDeclare>:
      return declares_exchange(arguments);
    case kMethodKey<amqp::QueueDeclare>:
      return declares_queue(arguments);
    case kMethodKey<amqp::ExchangeDelete>:
    case kMethodKey<amqp::ExchangeBind>:
    case kMethodKey<amqp::ExchangeUnbind>:
    case kMethodKey<amqp::QueueBind>:
    case kMethodKey<amqp::QueueUnbind>:
    case kMethodKey<amqp::QueueDelete>:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool Channel::may_handle(const amqp::Frame& frame) const {
  if (connection_.output_overflows()) return false;
  if (!awaits()) return true;
  if (tx_committing_ || broken_ || awaited_.size() >= runtime::kPipelinedMethods) return false;
  if (frame.type != amqp::FrameType::kMethod || expect_ != Expect::kMethod) return false;
  if (frame.payload.size() < 4) return false;
  // method_class_ and method_id_ are those of what is awaited: nothing else came in between.
  const std::uint32_t key = amqp::load_u32(frame.payload.data());
  return key == (std::uint32_t{method_class_} << 16 | method_id_) &&
         goes_behind_its_kind(key, frame.payload.subspan(4));
}

void Channel::handle_behind(const amqp::Frame& frame) {
  behind_ = !awaited_.empty();
  handle_now(frame);
  behind_ = false;
}

void Channel::in_turn(std::function<void()> what) {
  if (behind_) {
    awaited_.add_turn(std::move(what));
  } else {
    what();
  }
}

void Channel::answered(std::uint64_t request, runtime::LetterPtr letter) {
  awaited_.answer(request, std::move(letter));
  if (!ended_ && !kept_frames_.empty()) handle_kept();
}

void Channel::propose(cluster::metadata::Command command,
                      std::function<void(const CommandResult&)> done) {
  auto letter = std::make_unique<cluster::metadata::Propose>();
  letter->request = next_request_++;
  letter->command = std::move(command);
  const std::uint64_t request = letter->request;
  ask_owner(request, std::move(letter), std::move(done));
}

void Channel::await_in_force(std::function<void()> done) {
  auto letter = std::make_unique<cluster::metadata::AwaitInForce>();
  letter->request = next_request_++;
  const std::uint64_t request = letter->request;
  ask_owner(request, std::move(letter), [done = std::move(done)](const CommandResult&) { done(); });
}

void Channel::ask_owner(std::uint64_t request, runtime::LetterPtr letter,
                        std::function<void(const CommandResult&)> done) {
  awaited_.add(request, shard_.node(), [this, done = std::move(done)](runtime::Letter& answer) {
    const CommandResult& result = runtime::letter_cast<cluster::metadata::Proposed>(answer).result;
    if (result.outcome == cluster::metadata::Outcome::kUnavailable) {
      // The whole connection: its client may do better on another node.
      return fail(amqp::internal_error(std::string(amqp::kNoMajority)));
    }
    done(result);
  });
  shard_.post(address_, connection_.broker_shard().metadata().owner(), std::move(letter));
}

}  // namespace ringtail::broker
