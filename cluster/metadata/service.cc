#include "cluster/metadata/service.h"

#include "broker/runtime/check.h"

namespace ringtail::cluster::metadata {

Propose::Propose() : Letter(kPropose) {}
Propose::~Propose() = default;

Service::Service(runtime::Shard& shard, runtime::ShardId control)
    : shard_(shard), control_(control) {
  shard.add(kServiceActor, *this);
}

Service::~Service() { shard_.remove(kServiceActor); }

void Service::receive(runtime::LetterPtr letter) noexcept {
  switch (letter->kind) {
    case kApply: {
      const auto& apply = runtime::letter_cast<Apply>(*letter);
      for (const Command& command : *apply.commands) store_.apply(command);
      return done_with(apply.batch, apply.from);
    }
    case kRestore: {
      const auto& restore = runtime::letter_cast<Restore>(*letter);
      store_.restore(*restore.saved);
      return done_with(restore.batch, restore.from);
    }
    case kInForce:
      in_force_below_ = runtime::letter_cast<InForce>(*letter).below;
      return;
    default:
      RT_CHECK(false, "a letter that a replica of the metadata does not know");
  }
}

void Service::done_with(std::uint64_t batch, const runtime::Address& from) {
  RT_CHECK(batch == last_batch_ + 1, "a batch of metadata was lost or came twice");
  last_batch_ = batch;
  auto answer = std::make_unique<Applied>();
  answer->batch = batch;
  shard_.post({shard_.node(), shard_.id(), kServiceActor}, from, std::move(answer));
}

}  // namespace ringtail::cluster::metadata
