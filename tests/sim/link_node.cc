#include "tests/sim/link_node.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "broker/runtime/sim/sim_net.h"
#include "cluster/wire_numbers.h"

namespace ringtail::sim {

using cluster::NodeLife;
using runtime::Address;
using runtime::LetterPtr;
using runtime::NodeId;
using runtime::ShardId;

namespace {

void encode(const runtime::Letter& letter, runtime::EncodedLetter& out) {
  const auto& talk = static_cast<const Talk&>(letter);
  cluster::append_number(out.header, talk.from_life);
  cluster::append_number(out.header, talk.to_life);
  cluster::append_number(out.header, talk.number);
  out.body.append_copy(talk.text.data(), talk.text.size());
}

runtime::Result<LetterPtr> decode(std::string_view header, std::span<const std::uint8_t> body) {
  if (header.size() != 24) return runtime::Status(runtime::Code::kCorrupt, "no talk");
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(header.data());
  auto talk = std::make_unique<Talk>();
  talk->from_life = cluster::get_number<std::uint64_t>(bytes);
  talk->to_life = cluster::get_number<std::uint64_t>(bytes + 8);
  talk->number = cluster::get_number<std::uint64_t>(bytes + 16);
  talk->text = std::string(runtime::as_text(body));
  return LetterPtr(std::move(talk));
}

}  // namespace

runtime::LetterCodecs& talk_codecs() {
  static runtime::LetterCodecs codecs = [] {
    runtime::LetterCodecs made;
    made.add(kTalk, {encode, decode});
    return made;
  }();
  return codecs;
}

std::string talk_text(std::uint64_t number, std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(number * 31 + i * 7 + i / 256);
  return text;
}

// --- a shard ---

class LinkShard::Talker final : public runtime::Actor {
 public:
  Talker(LinkShard& home, std::size_t number)
      : home_(home), address_(home.shard_.add(actor(number), *this)) {}
  ~Talker() override { home_.shard_.remove(address_.actor); }
  const Address& address() const { return address_; }

  void receive(LetterPtr letter) noexcept override {
    const auto& talk = static_cast<const Talk&>(*letter);
    LinkCounts& counts = home_.node_.counts();
    ++counts.received;
    if (talk.from_life != home_.life_of(talk.from.node)) ++counts.wrong_life;
    if (talk.number != ++home_.received_[{talk.from, address_}]) ++counts.wrong_order;
    if (talk.text != talk_text(talk.number, talk.text.size())) ++counts.wrong_text;
  }

 private:
  LinkShard& home_;
  const Address address_;
};

LinkShard::LinkShard(LinkNode& node, std::uint16_t shard)
    : node_(node), shard_(node.node().shard(shard)) {
  bus_ = std::make_unique<cluster::MessageBus>(shard_, node.shards(), node.cookie(), talk_codecs(),
                                               node.tls());
  bus_->add_watcher(*this);
  shard_.set_remote(bus_.get());
  for (std::size_t i = 0; i < kActors; ++i) talkers_.push_back(std::make_unique<Talker>(*this, i));
}

LinkShard::~LinkShard() { shard_.set_remote(nullptr); }

NodeLife LinkShard::life_of(NodeId node) const {
  const auto found = up_.find(node);
  return found == up_.end() ? 0 : found->second;
}

void LinkShard::talk(std::size_t from, NodeId node, std::uint16_t shard, std::size_t to,
                     std::size_t size) {
  const NodeLife life = life_of(node);
  if (life == 0) return;
  const Address sender = talkers_[from]->address();
  const Address receiver{node, ShardId{shard}, actor(to)};
  auto talk = std::make_unique<Talk>();
  talk->from_life = node_.life();
  talk->to_life = life;
  talk->number = ++sent_[{sender, receiver}];
  talk->text = talk_text(talk->number, size);
  ++node_.counts().sent;
  shard_.post(sender, receiver, std::move(talk));
}

void LinkShard::peer_up(NodeId node, NodeLife life) noexcept {
  CHECK(life_of(node) == 0);
  up_[node] = life;
}

void LinkShard::peer_down(NodeId node, NodeLife life) noexcept {
  CHECK(life_of(node) == life);
  up_.erase(node);
  congested_.erase(node);
  std::erase_if(sent_, [&](const auto& way) { return way.first.second.node == node; });
  std::erase_if(received_, [&](const auto& way) { return way.first.first.node == node; });
}

void LinkShard::peer_congested(NodeId node, bool congested) noexcept {
  CHECK(congested != congested_.contains(node));
  if (congested) {
    congested_[node] = true;
  } else {
    congested_.erase(node);
  }
}

// --- a node ---

LinkNode::LinkNode(runtime::SimHost& host, NodeId id, std::uint16_t shards, LinkCounts& counts,
                   const std::string& cookie, const cluster::LinkTls* tls)
    : host_(host),
      id_(id),
      data_shards_(shards),
      cookie_(cookie),
      tls_(tls),
      counts_(counts),
      node_(host, id, shards + std::size_t{1}) {
  for (std::uint16_t i = 0; i < shards; ++i) {
    on_shard(i, [&] { shards_.push_back(std::make_unique<LinkShard>(*this, i)); });
  }
  on_control([&] {
    hub_ = std::make_unique<cluster::LinkHub>(node_.shard(shards), shards, cookie_,
                                              cluster::ControlOptions{}, *this, tls_);
    hub_->set_own(identity(0));
    REQUIRE(hub_->listener().listen(host.addresses().front(), kPort).ok());
  });
}

LinkNode::~LinkNode() {
  hub_.reset();
  shards_.clear();
}

cluster::LinkIdentity LinkNode::identity(NodeLife life) const {
  cluster::LinkIdentity made;
  made.cluster.fill(1);
  made.node = id_;
  made.name = "rabbit@" + host_.addresses().front();
  made.life = life;
  made.shards = data_shards_;
  made.tls = tls_ != nullptr;
  return made;
}

cluster::PeerNode LinkNode::as_peer(NodeLife life) const {
  return {id_,
          "rabbit@" + host_.addresses().front(),
          life,
          data_shards_,
          {{host_.addresses().front(), kPort}}};
}

void LinkNode::set_life(NodeLife life) {
  life_ = life;
  on_control([&] { hub_->set_own(identity(life)); });
}

void LinkNode::control_received(NodeId from, NodeLife life, cluster::ControlKind kind,
                                std::string_view header,
                                std::span<const std::uint8_t> body) noexcept {
  messages.push_back({from, life, kind, std::string(header), std::string(runtime::as_text(body)),
                      host_.world().now_ns()});
}

void LinkNode::control_asked(cluster::QuestionId id, const cluster::LinkIdentity& from,
                             std::string_view question) noexcept {
  questions.push_back(from.name + ": " + std::string(question));
  std::string answer(question);
  std::reverse(answer.begin(), answer.end());
  hub_->control().answer(id, answer);
}

}  // namespace ringtail::sim
