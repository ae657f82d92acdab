#include "cluster/control_bus.h"

#include <utility>

#include "broker/runtime/check.h"
#include "broker/runtime/log.h"
#include "cluster/control_bus_links.h"
#include "cluster/link_limits.h"

namespace ringtail::cluster {

using runtime::Code;
using runtime::log;
using runtime::LogLevel;
using runtime::NodeId;
using runtime::OutChain;
using runtime::Result;
using runtime::Status;

void ControlBus::Burial::turn_end() noexcept {
  // The dead may bury others.
  while (!dead_.empty()) {
    const Grave grave = dead_.back();
    dead_.pop_back();
    grave.destroy(grave.dead);
  }
}

ControlBus::ControlBus(runtime::Shard& shard, std::string_view cookie,
                       const ControlOptions& options, ControlReceiver& receiver, const LinkTls* tls)
    : shard_(shard),
      security_(shard.env(), cookie, tls),
      options_(options),
      receiver_(receiver),
      ticks_(shard.env().timers().make([this] { tick(); })),
      ticked_ms_(now_ms()),
      burial_(shard) {
  ticks_->start(options_.ping_ms, options_.ping_ms);
}

ControlBus::~ControlBus() = default;

void ControlBus::set_own(const LinkIdentity& own) {
  const bool other_cluster =
      own.cluster != own_.cluster || own.force_generation != own_.force_generation;
  own_ = own;
  for (auto& [node, peer] : peers_) {
    LinkHello hello = peer->link().setup().hello;
    hello.identity = own_;
    peer->link().set_hello(hello);
  }
  if (!other_cluster) return;
  std::vector<NodeId> nodes;
  for (auto& [node, peer] : peers_) nodes.push_back(node);
  for (const NodeId node : nodes) {
    const auto found = peers_.find(node);
    if (found == peers_.end()) continue;
    found->second->link().fail(LinkEnd::kClosed, Status(Code::kClosed, "this node has changed"));
    found->second->link().retry_now();
  }
}

void ControlBus::add_peer(NodeId node, const std::string& name,
                          std::vector<PeerAddress> addresses) {
  std::unique_ptr<Peer>& peer = peers_[node];
  if (peer != nullptr) return peer->link().set_addresses(std::move(addresses));
  LinkSetup setup;
  setup.hello.kind = LinkKind::kControl;
  setup.hello.identity = own_;
  setup.hello.to_node = node;
  setup.peer_name = name;
  setup.addresses = std::move(addresses);
  setup.timeout_ms = options_.connect_timeout_ms;
  setup.silence_ms = options_.silence_ms;
  peer = std::make_unique<Peer>(*this, node, std::move(setup));
  peer->link().start();
}

void ControlBus::remove_peer(NodeId node) {
  const auto found = peers_.find(node);
  if (found == peers_.end()) return;
  std::unique_ptr<Peer> peer = std::move(found->second);
  peers_.erase(found);
  peer->stop();
  burial_.bury(std::move(peer));
}

void ControlBus::end_inbound(NodeId node) {
  const auto found = inbound_.find(node);
  if (found == inbound_.end()) return;
  found->second->end();
  burial_.bury(std::move(found->second));
  inbound_.erase(found);
}

bool ControlBus::is_connected(NodeId node) const {
  const auto found = peers_.find(node);
  return found != peers_.end() && found->second->link().is_open();
}

std::string ControlBus::peer_name(NodeId node) const {
  const auto found = peers_.find(node);
  return found == peers_.end() ? std::string() : found->second->link().setup().peer_name;
}

bool ControlBus::send(NodeId to, ControlKind kind, std::string_view header, OutChain& body) {
  const auto found = peers_.find(to);
  if (found != peers_.end()) return found->second->send(kind, header, body);
  body.clear();
  return false;
}

void ControlBus::ask(const PeerAddress& address, std::string question, std::uint64_t timeout_ms,
                     std::function<void(Result<ControlAnswer>)> done) {
  LinkSetup setup;
  setup.hello.kind = LinkKind::kJoin;
  setup.hello.identity = own_;
  setup.peer_name = to_text(address);
  setup.addresses = {address};
  setup.timeout_ms = timeout_ms;
  setup.again = false;
  const QuestionId id = ++last_question_;
  auto made =
      std::make_unique<Question>(*this, id, std::move(setup), std::move(question), std::move(done));
  Question& asked = *made;
  questions_[id] = std::move(made);
  asked.start();
}

void ControlBus::answer(QuestionId id, std::string_view text) {
  const auto found = asked_.find(id);
  if (found != asked_.end()) found->second->answer(text);
}

void ControlBus::link_arrived(IncomingLink link) {
  const LinkHello& hello = link.handshake.hello();
  Result<std::unique_ptr<runtime::Stream>> stream =
      shard_.env().net().adopt(std::move(link.socket));
  if (!stream.ok()) return note(stream.status().text());
  LinkWelcome welcome;
  welcome.identity = own_;
  if (hello.kind == LinkKind::kJoin) {
    if (asked_.size() >= kQuestionsMax) return note("too many questions of other nodes at once");
    const QuestionId id = ++last_question_;
    auto asked = std::make_unique<Asked>(*this, id, hello.identity, std::move(stream).value());
    asked->start(link.handshake.answer(security_.cookie(), welcome));
    asked_[id] = std::move(asked);
    return;
  }
  const NodeId node = hello.identity.node;
  auto inbound = std::make_unique<Inbound>(*this, node, std::move(stream).value());
  inbound->start(link.handshake.answer(security_.cookie(), welcome));
  std::unique_ptr<Inbound>& place = inbound_[node];
  if (place != nullptr) {
    place->end();
    burial_.bury(std::move(place));
  }
  place = std::move(inbound);
  // It is there, so it will take a link of ours.
  if (const auto found = peers_.find(node); found != peers_.end()) {
    found->second->link().retry_now();
  }
}

void ControlBus::tick() {
  const std::uint64_t now = now_ms();
  // This process has stood still, and so has not read what may lie in its sockets: nobody is
  // called silent for that before the next tick.
  const bool late = now - ticked_ms_ >= 4 * options_.ping_ms;
  ticked_ms_ = now;
  if (late) return;
  std::vector<NodeId> nodes;
  for (auto& [node, peer] : peers_) nodes.push_back(node);
  for (const NodeId node : nodes) {  // the receiver, when told, may change them
    if (const auto found = peers_.find(node); found != peers_.end()) found->second->tick(now);
  }
  // It sends at least a ping in every interval: a connection that is silent is half open.
  std::erase_if(inbound_, [&](const auto& entry) {
    return now - entry.second->heard_ms() >= 2 * (options_.silence_ms + options_.ping_ms);
  });
  std::erase_if(asked_, [&](const auto& entry) { return entry.second->over(now); });
}

void ControlBus::note(const std::string& line) {
  if (quiet_.due(line, now_ms())) log(LogLevel::kWarning, "link", "{}", line);
}

}  // namespace ringtail::cluster
