// A channel's fourth job: transactions (AMQP 0-9-1, 1.9). Publishes and acks are kept until
// tx.commit; commit-ok comes when every queue has settled what it got. Atomic for one queue only,
// as the specification allows.
#include <algorithm>
#include <utility>

#include "broker/channel.h"

namespace ringtail::broker {

void Channel::tx_select(const amqp::TxSelect&) {
  if (mode_ == Mode::kConfirm) {
    fail(amqp::cannot_switch_confirm_to_tx());
    return;
  }
  mode_ = Mode::kTx;
  reply(amqp::TxSelectOk{});
}

void Channel::tx_commit(const amqp::TxCommit&) {
  if (mode_ != Mode::kTx) {
    fail(amqp::channel_not_transactional());
    return;
  }
  std::vector<TxPublish> publishes;
  publishes.swap(tx_publishes_);
  std::vector<TxAck> acks;
  acks.swap(tx_acks_);
  for (const TxAck& one : acks) finish(one.entry, one.what);
  for (const TxPublish& one : publishes) {
    // An exchange that was deleted since the publish routes to nothing.
    if (!find_targets(*one.message, one.further_keys, false)) targets_.clear();
    distribute(one.message, one.mandatory);
  }
  tx_committing_ = true;
  tx_commit_if_settled();
}

void Channel::tx_commit_if_settled() {
  for (const auto& [qid, link] : links_) {
    if (link->messages.outstanding() > 0) return;
  }
  tx_committing_ = false;
  if (std::exchange(tx_refused_, false)) {
    fail(amqp::precondition_failed("partial tx completion"));
    return;
  }
  reply(amqp::TxCommitOk{});
  if (!kept_frames_.empty()) handle_kept();
}

void Channel::tx_rollback(const amqp::TxRollback&) {
  if (mode_ != Mode::kTx) {
    fail(amqp::channel_not_transactional());
    return;
  }
  tx_publishes_.clear();
  std::vector<TxAck> acks;
  acks.swap(tx_acks_);
  for (const TxAck& one : acks) unacked_.restore(one.entry);
  reply(amqp::TxRollbackOk{});
}

}  // namespace ringtail::broker
