// One real node of Raft among peers whose words are the test's.
#pragma once

#include <doctest/doctest.h>

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cluster/raft/raft_node.h"
#include "tests/unit/cluster/raft_store_fixture.h"

namespace ringtail::cluster::raft {

inline Configuration voters(std::uint32_t count) {
  Configuration configuration;
  for (std::uint32_t id = 1; id <= count; ++id) {
    configuration.push_back({{id}, "node" + std::to_string(id), Role::kVoter});
  }
  return configuration;
}

struct PuppetMachine final : RaftMachine {
  void apply(Index index, Term, std::string_view payload) override {
    applied.emplace_back(index, payload);
  }
  void snapshot(std::function<void(runtime::BytesChain)> done) override {
    runtime::BytesChain chain;
    chain.append(runtime::Bytes::copy(runtime::as_bytes("state")));
    ++snapshots;
    done(std::move(chain));
  }
  runtime::Status restore(std::string_view bytes) override {
    restored = std::string(bytes);
    return {};
  }
  std::vector<std::string> texts() const {
    std::vector<std::string> out;
    for (const auto& [index, text] : applied) out.push_back(text);
    return out;
  }
  std::vector<std::pair<Index, std::string>> applied;
  std::string restored;
  int snapshots = 0;
};

// Writes what a former life left; node 1's.
inline void leave(runtime::SimHost& host, Term term, const std::vector<StoredEntry>& entries) {
  StoreLife life(host, {});
  REQUIRE(life.status.ok());
  std::vector<EntryView> views;
  for (const StoredEntry& entry : entries) {
    views.push_back({entry.term, entry.kind, entry.payload});
  }
  REQUIRE(life.store.set_term(term).ok());
  life.env.enter([&] { life.store.append(1, views, [] {}); });
  REQUIRE(life.settle());
  life.close();
}
inline StoredEntry conf(Term term, std::uint32_t count) {
  return {term, EntryKind::kChange, encode_configuration(voters(count))};
}
inline StoredEntry text(Term term, std::string payload) {
  return {term, EntryKind::kCommand, std::move(payload)};
}

class Puppet final : public Transport {
 public:
  struct Sent {
    runtime::NodeId to;
    Received message;
    std::size_t bytes;
  };

  explicit Puppet(runtime::SimHost& host, RaftNodeOptions options = {}) : host_(host), env(host) {
    env.set_after_callback([this] {
      while (std::exchange(turn_end_, false)) node->turn_end();
    });
    options.id = {1};
    options.address = "node1";
    options.directory = "/data/raft";
    RaftNode::Callbacks callbacks;
    callbacks.lost = [this](const runtime::Status& why) { lost = why; };
    callbacks.turn_end_wanted = [this] { turn_end_ = true; };
    callbacks.leader = [this](runtime::NodeId leader, Term) { told_leader = leader; };
    node = std::make_unique<RaftNode>(env, machine, *this, options, callbacks);
    bool up = false;
    env.enter([&] {
      node->open([&](runtime::Result<bool> pristine) {
        REQUIRE_MESSAGE(pristine.ok(), pristine.status().text());
        REQUIRE(node->start().ok());
        up = true;
      });
    });
    REQUIRE(host.world().run_until([&] { return up; }));
  }
  ~Puppet() override { host_.drive().kill_processes(); }

  void send(runtime::NodeId to, std::string header, runtime::Bytes body) override {
    auto decoded = decode_message({1}, header, runtime::as_text(body.span()));
    REQUIRE_MESSAGE(decoded.ok(), decoded.status().text());
    sent.push_back({to, std::move(decoded).value(), body.size()});
  }

  void say(std::uint32_t from, const raft_message& message) {
    std::size_t count = 0;
    const Encoded encoded = encode_message(message, 1000, 1 << 30, &count);
    env.enter(
        [&] { node->received({from}, encoded.header, runtime::as_text(encoded.body.span())); });
  }
  void say_append(std::uint32_t from, Term term, Index before, Term before_term, Index commit,
                  std::vector<StoredEntry> entries = {}) {
    std::vector<raft_entry> list(entries.size());
    for (std::size_t i = 0; i < entries.size(); ++i) {
      list[i] = {};
      list[i].term = entries[i].term;
      list[i].type = static_cast<unsigned short>(entries[i].kind);
      list[i].buf = {entries[i].payload.data(), entries[i].payload.size()};
    }
    raft_message message{};
    message.type = RAFT_IO_APPEND_ENTRIES;
    message.append_entries = {term,   before,      before_term,
                              commit, list.data(), static_cast<unsigned>(list.size())};
    say(from, message);
  }
  void say_result(std::uint32_t from, Term term, Index rejected, Index last) {
    raft_message message{};
    message.type = RAFT_IO_APPEND_ENTRIES_RESULT;
    message.append_entries_result = {term, rejected, last};
    say(from, message);
  }
  void say_vote(std::uint32_t from, Term term, bool pre_vote) {
    raft_message message{};
    message.type = RAFT_IO_REQUEST_VOTE_RESULT;
    message.request_vote_result = {term, true, pre_vote ? raft_tribool_true : raft_tribool_false};
    say(from, message);
  }
  void ask_vote(std::uint32_t from, Term term, Index last, Term last_term, bool disrupt = false) {
    raft_message message{};
    message.type = RAFT_IO_REQUEST_VOTE;
    message.request_vote = {term, from, last, last_term, disrupt, false};
    say(from, message);
  }

  // The next message of this type that was sent; what was sent before it is forgotten.
  raft_message* next(unsigned short type) {
    while (!sent.empty()) {
      last_ = std::make_unique<Sent>(std::move(sent.front()));
      sent.pop_front();
      auto* const incoming = std::get_if<Incoming>(&last_->message);
      if (incoming != nullptr && incoming->message().type == type) return &incoming->message();
    }
    return nullptr;
  }
  raft_message* await(unsigned short type) {
    raft_message* found = nullptr;
    host_.world().run_until([&] { return (found = next(type)) != nullptr; });
    return found;
  }
  runtime::NodeId last_to() const { return last_->to; }
  bool settle() { return host_.world().run_until_idle(); }

  // This node becomes the leader of `term` by the votes of these, before its barrier is stored.
  void win(Term term, std::vector<std::uint32_t> voters) {
    REQUIRE(await(RAFT_IO_REQUEST_VOTE) != nullptr);
    for (const std::uint32_t voter : voters) say_vote(voter, term, true);
    for (const std::uint32_t voter : voters) say_vote(voter, term, false);
    REQUIRE(node->library().state == RAFT_LEADER);
    REQUIRE(node->term() == term);
  }

 private:
  runtime::SimHost& host_;
  bool turn_end_ = false;
  std::unique_ptr<Sent> last_;

 public:
  runtime::SimEnv env;
  PuppetMachine machine;
  std::deque<Sent> sent;
  runtime::Status lost;
  runtime::NodeId told_leader;
  std::unique_ptr<RaftNode> node;
};

}  // namespace ringtail::cluster::raft
