// All links of a node, as its control shard has them: where other nodes connect, the control bus,
// and the directory of those that data goes to. Owned by whoever owns the control shard's parts;
// each data shard has a MessageBus beside it.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "cluster/control_bus.h"
#include "cluster/peer_directory.h"
#include "cluster/peer_listener.h"

namespace ringtail::cluster {

class LinkHub final : private PeerListenerOwner {
 public:
  // On the control shard, whose id is data_shards. The rest outlives this.
  LinkHub(runtime::Shard& shard, std::uint16_t data_shards, std::string_view cookie,
          const ControlOptions& options, ControlReceiver& receiver, const LinkTls* tls = nullptr);

  // Before listening: who this node is; again when its cluster, life or name changes.
  void set_own(const LinkIdentity& own);
  const LinkIdentity& own() const { return own_; }
  // Who may have a control link, beyond those of the same cluster and force generation; none: all
  // of them.
  void set_control_admission(std::function<Refusal(const LinkHello&, std::string& reason)> admit) {
    admit_control_ = std::move(admit);
  }

  PeerListener& listener() { return listener_; }
  ControlBus& control() { return control_; }
  PeerDirectory& directory() { return directory_; }

 private:
  const LinkIdentity& own_identity() const noexcept override { return own_; }
  Refusal admit(const LinkHello& hello, std::string& reason) noexcept override;
  void link_arrived(IncomingLink link) noexcept override;

  LinkIdentity own_;
  std::function<Refusal(const LinkHello&, std::string& reason)> admit_control_;
  PeerDirectory directory_;
  ControlBus control_;
  PeerListener listener_;
};

}  // namespace ringtail::cluster
