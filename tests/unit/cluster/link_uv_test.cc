// The links of two nodes on real threads and sockets, over loopback.
#include <doctest/doctest.h>
#include <signal.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "broker/runtime/uv/uv_shard.h"
#include "cluster/link_hub.h"
#include "cluster/message_bus.h"

namespace link_uv_test {

using namespace ringtail;
using namespace ringtail::cluster;
using runtime::Address;
using runtime::LetterPtr;
using runtime::NodeId;
using runtime::Shard;
using runtime::ShardId;

namespace {

constexpr std::uint16_t kShards = 2;
constexpr runtime::ActorId kActor{77};
constexpr runtime::LetterKind kNote = runtime::kRuntimeLetters + 0x7e;
constexpr std::size_t kLetters = 2000;

struct Note final : runtime::Letter {
  explicit Note(std::string note_text) : Letter(kNote), text(std::move(note_text)) {}
  std::string text;
};

void encode(const runtime::Letter& letter, runtime::EncodedLetter& out) {
  const std::string& text = static_cast<const Note&>(letter).text;
  out.body.append_copy(text.data(), text.size());
}

runtime::Result<LetterPtr> decode(std::string_view, std::span<const std::uint8_t> body) {
  return LetterPtr(std::make_unique<Note>(std::string(runtime::as_text(body))));
}

const runtime::LetterCodecs& codecs() {
  static const runtime::LetterCodecs made = [] {
    runtime::LetterCodecs filled;
    filled.add(kNote, {encode, decode});
    return filled;
  }();
  return made;
}

std::string text(std::size_t number) {
  return std::string(1 + number * 37 % 60'000, static_cast<char>('a' + number % 26));
}

// Sends everything to the same actor of the peer's other shard when the peer is up, and waits for
// what that sends.
class Correspondent final : public runtime::Actor, public PeerWatcher {
 public:
  Correspondent(Shard& shard, MessageBus& bus) : shard_(shard), bus_(bus) {
    shard_.add(kActor, *this);
    bus_.add_watcher(*this);
  }
  ~Correspondent() override {
    bus_.remove_watcher(*this);
    shard_.remove(kActor);
  }
  void peer_up(NodeId node, NodeLife) noexcept override {
    const Address to{node, ShardId{static_cast<std::uint16_t>(1 - shard_.id().value)}, kActor};
    for (std::size_t i = 0; i < kLetters; ++i) {
      shard_.post({shard_.node(), shard_.id(), kActor}, to, std::make_unique<Note>(text(i)));
    }
  }
  void peer_down(NodeId, NodeLife) noexcept override { down.set_value(); }
  void receive(LetterPtr letter) noexcept override {
    right_ = right_ && static_cast<Note&>(*letter).text == text(received_);
    if (++received_ == kLetters) all.set_value(right_);
  }

  std::promise<bool> all;
  std::promise<void> down;

 private:
  Shard& shard_;
  MessageBus& bus_;
  std::size_t received_ = 0;
  bool right_ = true;
};

class Node final : public ControlReceiver {
 public:
  explicit Node(std::uint32_t id) : id_(id), mailboxes_(kShards + 1) {
    for (std::uint16_t i = 0; i <= kShards; ++i) {
      parts_.push_back(std::make_unique<Parts>());
      Parts& parts = *parts_.back();
      shards_.emplace_back(
          id_, ShardId{i}, mailboxes_, [this, &parts](Shard& shard) { build(parts, shard); },
          [&parts](Shard& shard) {
            shard.set_remote(nullptr);
            parts.correspondent.reset();
            parts.bus.reset();
            parts.hub.reset();
          });
    }
    for (runtime::UvShard& shard : shards_) REQUIRE(shard.start().ok());
  }
  ~Node() override {
    for (runtime::UvShard& shard : shards_) shard.stop();
    for (runtime::UvShard& shard : shards_) shard.join();
  }
  void on_control(const std::function<void(LinkHub&)>& code) {
    shards_[kShards].call_and_wait([&](Shard&) { code(*parts_[kShards]->hub); });
  }
  Correspondent& correspondent(std::size_t shard) { return *parts_[shard]->correspondent; }
  PeerNode as_peer() {
    PeerNode peer{id_, "node" + std::to_string(id_.value), 1, kShards, {}};
    on_control([&](LinkHub& hub) { peer.addresses = {{"localhost", hub.listener().port()}}; });
    return peer;
  }

  std::promise<std::string> heard;
  std::promise<void> connected;

 private:
  struct Parts {
    std::unique_ptr<LinkHub> hub;
    std::unique_ptr<MessageBus> bus;
    std::unique_ptr<Correspondent> correspondent;
  };
  void build(Parts& parts, Shard& shard) {
    if (shard.id().value < kShards) {
      parts.bus = std::make_unique<MessageBus>(shard, kShards, "cookie", codecs());
      shard.set_remote(parts.bus.get());
      parts.correspondent = std::make_unique<Correspondent>(shard, *parts.bus);
      return;
    }
    parts.hub = std::make_unique<LinkHub>(shard, kShards, "cookie", ControlOptions{}, *this);
    LinkIdentity own;
    own.cluster.fill(3);
    own.node = id_;
    own.name = "node" + std::to_string(id_.value);
    own.life = 1;
    own.shards = kShards;
    parts.hub->set_own(own);
    CHECK(parts.hub->listener().listen("127.0.0.1", 0).ok());
  }

  void control_received(NodeId, NodeLife, ControlKind, std::string_view header,
                        std::span<const std::uint8_t>) noexcept override {
    heard.set_value(std::string(header));
  }
  void control_connected(NodeId) noexcept override { connected.set_value(); }
  void control_disconnected(NodeId, LinkEnd, const runtime::Status&) noexcept override {}
  void control_asked(QuestionId, const LinkIdentity&, std::string_view) noexcept override {}

  const NodeId id_;
  runtime::Mailboxes mailboxes_;
  std::vector<std::unique_ptr<Parts>> parts_;
  std::vector<runtime::UvShard> shards_;
};

template <typename Value>
bool comes(std::future<Value>& future) {
  return future.wait_for(std::chrono::seconds(60)) == std::future_status::ready;
}

}  // namespace

TEST_CASE("links on real sockets: letters both ways, a control message, the end of a peer") {
  signal(SIGPIPE, SIG_IGN);
  Node a(1);
  auto b = std::make_unique<Node>(2);
  std::vector<std::future<bool>> all;
  std::vector<std::future<void>> down;
  for (std::size_t shard = 0; shard < kShards; ++shard) {
    all.push_back(a.correspondent(shard).all.get_future());
    all.push_back(b->correspondent(shard).all.get_future());
    down.push_back(a.correspondent(shard).down.get_future());
  }
  std::future<void> connected = a.connected.get_future();
  std::future<std::string> heard = b->heard.get_future();
  const PeerNode peer_a = a.as_peer();
  const PeerNode peer_b = b->as_peer();
  a.on_control([&](LinkHub& hub) {
    hub.control().add_peer(peer_b.node, peer_b.name, peer_b.addresses);
    hub.directory().peer_up(peer_b);
  });
  b->on_control([&](LinkHub& hub) { hub.directory().peer_up(peer_a); });
  for (std::future<bool>& one : all) {
    REQUIRE(comes(one));
    CHECK(one.get());
  }
  REQUIRE(comes(connected));
  a.on_control([&](LinkHub& hub) { CHECK(hub.control().send(peer_b.node, 1, "hello")); });
  REQUIRE(comes(heard));
  CHECK(heard.get() == "hello");
  b.reset();
  a.on_control([&](LinkHub& hub) { hub.directory().peer_down(peer_b.node); });
  for (std::future<void>& one : down) CHECK(comes(one));
}

}  // namespace link_uv_test
