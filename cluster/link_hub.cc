#include "cluster/link_hub.h"

#include <utility>

namespace ringtail::cluster {

LinkHub::LinkHub(runtime::Shard& shard, std::uint16_t data_shards, std::string_view cookie,
                 const ControlOptions& options, ControlReceiver& receiver, const LinkTls* tls)
    : directory_(shard, data_shards),
      control_(shard, cookie, options, receiver, tls),
      listener_(shard.env(), cookie, *this) {}

void LinkHub::set_own(const LinkIdentity& own) {
  own_ = own;
  directory_.set_own(own);
  control_.set_own(own);
}

Refusal LinkHub::admit(const LinkHello& hello, std::string& reason) noexcept {
  switch (hello.kind) {
    case LinkKind::kData:
      return directory_.admit(hello, reason);
    case LinkKind::kControl:
      return admit_control_ ? admit_control_(hello, reason) : Refusal::kNone;
    case LinkKind::kJoin:
      return Refusal::kNone;
  }
  return Refusal::kUnknownNode;
}

void LinkHub::link_arrived(IncomingLink link) noexcept {
  if (link.handshake.hello().kind == LinkKind::kData) {
    directory_.link_arrived(std::move(link));
  } else {
    control_.link_arrived(std::move(link));
  }
}

}  // namespace ringtail::cluster
