// Messages between the control shards of nodes: Raft, heartbeats, leases. Small, unreliable, in no
// particular order between small and large ones; who needs an answer asks again. One connection
// each way per pair of nodes, apart from all data. Also the question that a node asks another one
// before it is a member.
//
// Lifecycle: made on the control shard, destroyed before it. Calls to the receiver come from the
// loop, never from inside a call to this; from there everything may be called.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "broker/runtime/shard.h"
#include "cluster/link_identity.h"
#include "cluster/peer_link.h"
#include "cluster/peer_listener.h"

namespace ringtail::cluster {

// What a message is; numbered by those who send them. 0 is not used.
using ControlKind = std::uint16_t;

struct ControlOptions {
  // A link on which nothing else is sent gets a sign of life this often.
  std::uint64_t ping_ms = 250;
  // A link whose other end has acknowledged nothing for so long has ended (LinkEnd::kTimeout).
  std::uint64_t silence_ms = 2000;
  // An attempt to connect, all of it.
  std::uint64_t connect_timeout_ms = 2000;
};

// A question of a node that may not be a member, to be answered with ControlBus::answer().
using QuestionId = std::uint64_t;

class ControlReceiver {
 public:
  virtual ~ControlReceiver() = default;
  // The bytes are valid during the call. `life`: the sender's when it sent this.
  virtual void control_received(runtime::NodeId from, NodeLife life, ControlKind kind,
                                std::string_view header,
                                std::span<const std::uint8_t> body) noexcept = 0;
  // Messages to it go out from now on.
  virtual void control_connected(runtime::NodeId node) noexcept = 0;
  // They do not: the link was lost, or another attempt has failed. After a loss an attempt follows
  // at once, so that kClosed and then kRefused is a process that has ended, kTimeout anything.
  virtual void control_disconnected(runtime::NodeId node, LinkEnd end,
                                    const runtime::Status& status) noexcept = 0;
  // `from` is what the other node says of itself; it holds the cookie.
  virtual void control_asked(QuestionId id, const LinkIdentity& from,
                             std::string_view question) noexcept = 0;
};

struct ControlAnswer {
  LinkIdentity from;
  std::string text;
};

class ControlBus {
 public:
  // `cookie` and `tls` (null: links are not encrypted) outlive this.
  ControlBus(runtime::Shard& shard, std::string_view cookie, const ControlOptions& options,
             ControlReceiver& receiver, const LinkTls* tls = nullptr);
  ~ControlBus();
  ControlBus(const ControlBus&) = delete;
  ControlBus& operator=(const ControlBus&) = delete;

  // Who this node is. Links begin anew when it changes cluster or force generation.
  void set_own(const LinkIdentity& own);
  // Keep a link to this node; again when its addresses change.
  void add_peer(runtime::NodeId node, const std::string& name, std::vector<PeerAddress> addresses);
  void remove_peer(runtime::NodeId node);
  // Ends the connection that this node has made to us, if there is one.
  void end_inbound(runtime::NodeId node);
  bool is_connected(runtime::NodeId node) const;
  // As add_peer() has it; empty: it is no peer.
  std::string peer_name(runtime::NodeId node) const;
  // Whether its connection to us stands.
  bool is_heard(runtime::NodeId node) const { return inbound_.contains(node); }

  // Sends at the end of the turn; takes all of `body`. False: there is no link, or too much waits
  // for it: dropped. True promises nothing.
  bool send(runtime::NodeId to, ControlKind kind, std::string_view header, runtime::OutChain& body);
  bool send(runtime::NodeId to, ControlKind kind, std::string_view header) {
    runtime::OutChain none;
    return send(to, kind, header, none);
  }

  // Asks whoever listens there. `done` gets the answer, or why there is none; within the time.
  void ask(const PeerAddress& address, std::string question, std::uint64_t timeout_ms,
           std::function<void(runtime::Result<ControlAnswer>)> done);
  // Once per question; one that is not answered in time (10 s) or whose asker is gone has ended.
  void answer(QuestionId id, std::string_view text);

  // A control or join link that was admitted.
  void link_arrived(IncomingLink link);

 private:
  class Peer;      // a node that messages go to
  class Inbound;   // the connection that messages of a node come on
  class Question;  // asked by this node
  class Asked;     // asked of this node
  friend class Peer;
  friend class Inbound;
  friend class Question;
  friend class Asked;

  // Destroys what may be on the stack now, at the end of the turn.
  class Burial final : private runtime::TurnTask {
   public:
    explicit Burial(runtime::Shard& shard) : shard_(shard) {}
    template <typename Dead>
    void bury(std::unique_ptr<Dead> dead) {
      dead_.push_back({dead.release(), [](void* one) { delete static_cast<Dead*>(one); }});
      shard_.write_output_at_turn_end(*this);
    }
    ~Burial() { turn_end(); }

   private:
    struct Grave {
      void* dead;
      void (*destroy)(void*);
    };
    void turn_end() noexcept override;
    runtime::Shard& shard_;
    std::vector<Grave> dead_;
  };

  void tick();
  void note(const std::string& line);
  std::uint64_t now_ms() const { return shard_.env().clock().monotonic_ms(); }

  runtime::Shard& shard_;
  LinkSecurity security_;
  const ControlOptions options_;
  ControlReceiver& receiver_;
  LinkIdentity own_;
  std::map<runtime::NodeId, std::unique_ptr<Peer>> peers_;
  std::map<runtime::NodeId, std::unique_ptr<Inbound>> inbound_;
  std::map<QuestionId, std::unique_ptr<Question>> questions_;
  std::map<QuestionId, std::unique_ptr<Asked>> asked_;
  QuestionId last_question_ = 0;
  std::unique_ptr<runtime::Timer> ticks_;
  std::uint64_t ticked_ms_;
  Burial burial_;
  QuietLog quiet_;
};

}  // namespace ringtail::cluster
