// Raft's messages: what is encoded is decoded, and nothing that a peer sends does harm.
#include "cluster/raft/raft_codec.h"

#include <doctest/doctest.h>

#include <random>

#include "cluster/raft/log_format.h"

namespace raft_codec_test {

using namespace ringtail;
using namespace ringtail::cluster::raft;

namespace {

std::vector<std::pair<std::string, std::string>> samples() {
  std::vector<std::pair<std::string, std::string>> out;
  const auto add = [&](const raft_message& message) {
    std::size_t sent = 0;
    const Encoded encoded = encode_message(message, 100, 1 << 20, &sent);
    out.emplace_back(encoded.header, std::string(runtime::as_text(encoded.body.span())));
  };
  std::string first = "payload";
  std::string second = encode_configuration({{{3}, "three", Role::kStandby}});
  raft_entry entries[3] = {};
  entries[0].term = 4;
  entries[0].type = RAFT_COMMAND;
  entries[0].buf = {first.data(), first.size()};
  entries[1].term = 5;
  entries[1].type = RAFT_CHANGE;
  entries[1].buf = {second.data(), second.size()};
  entries[2].term = 5;
  entries[2].type = RAFT_BARRIER;
  raft_message message{};
  message.type = RAFT_IO_APPEND_ENTRIES;
  message.append_entries = {6, 10, 4, 12, entries, 3};
  add(message);
  message.type = RAFT_IO_APPEND_ENTRIES_RESULT;
  message.append_entries_result = {6, 3, 9};
  add(message);
  message.type = RAFT_IO_REQUEST_VOTE;
  message.request_vote = {6, 2, 10, 5, true, false};
  add(message);
  message.type = RAFT_IO_REQUEST_VOTE_RESULT;
  message.request_vote_result = {6, true, raft_tribool_true};
  add(message);
  message.type = RAFT_IO_TIMEOUT_NOW;
  message.timeout_now = {6, 10, 5};
  add(message);
  out.emplace_back(encode_part({7, 6, 100, 5, 90, second, 20, 10}), "0123456789");
  out.emplace_back(encode_progress({7, 20}), "");
  return out;
}

}  // namespace

TEST_CASE("raft codec: messages come back as they were") {
  const auto all = samples();
  const auto append = decode_message({2}, all[0].first, all[0].second);
  REQUIRE_MESSAGE(append.ok(), append.status().text());
  const raft_message& message = std::get<Incoming>(append.value()).message();
  CHECK(message.server_id == 2);
  CHECK(message.append_entries.term == 6);
  CHECK(message.append_entries.prev_log_index == 10);
  CHECK(message.append_entries.leader_commit == 12);
  REQUIRE(message.append_entries.n_entries == 3);
  for (unsigned i = 0; i < 3; ++i) {
    const raft_entry& entry = message.append_entries.entries[i];
    CHECK(reinterpret_cast<std::uintptr_t>(entry.buf.base) % 8 == 0);
    CHECK(entry.batch == message.append_entries.entries[0].batch);
  }
  CHECK(std::string(static_cast<const char*>(message.append_entries.entries[0].buf.base), 7) ==
        "payload");
  for (const auto& [header, body] : all) CHECK(decode_message({2}, header, body).ok());
  const auto part = decode_message({2}, all[5].first, all[5].second);
  CHECK(std::get<SnapshotPart>(part.value()).offset == 10);
}

TEST_CASE("raft codec: an AppendEntries is cut to what fits, and to at least one entry") {
  std::string payload(100, 'p');
  std::vector<raft_entry> entries(10);
  for (raft_entry& entry : entries) {
    entry = {};
    entry.term = 1;
    entry.type = RAFT_COMMAND;
    entry.buf = {payload.data(), payload.size()};
  }
  raft_message message{};
  message.type = RAFT_IO_APPEND_ENTRIES;
  message.append_entries = {1, 5, 1, 5, entries.data(), 10};
  std::size_t sent = 0;
  CHECK(encode_message(message, 100, 350, &sent).body.size() == 300);
  CHECK(sent == 3);
  encode_message(message, 100, 10, &sent);
  CHECK(sent == 1);
  CHECK(encode_message(message, 0, 1000, &sent).body.empty());
  CHECK(sent == 0);
}

TEST_CASE("raft codec: the leader's commit index reaches no further than the message shows") {
  raft_message message{};
  message.type = RAFT_IO_APPEND_ENTRIES;
  message.append_entries = {3, 5, 1, 50, nullptr, 0};
  std::size_t sent = 0;
  const Encoded encoded = encode_message(message, 100, 100, &sent);
  const auto decoded = decode_message({2}, encoded.header, {});
  REQUIRE(decoded.ok());
  CHECK(std::get<Incoming>(decoded.value()).message().append_entries.leader_commit == 5);
}

TEST_CASE("raft codec: rubbish and mutilated messages are refused or harmless") {
  std::mt19937 random(1);
  const auto all = samples();
  int refused = 0;
  for (int i = 0; i < 40000; ++i) {
    auto [header, body] = all[random() % all.size()];
    const unsigned cuts = 1 + random() % 4;
    for (unsigned cut = 0; cut < cuts; ++cut) {
      std::string& target = random() % 3 == 0 ? body : header;
      switch (random() % 4) {
        case 0:
          if (!target.empty()) target[random() % target.size()] = static_cast<char>(random());
          break;
        case 1:
          target.resize(random() % (target.size() + 1));
          break;
        case 2:
          target += static_cast<char>(random());
          break;
        default:
          if (!target.empty())
            target[random() % target.size()] ^= static_cast<char>(1 << random() % 8);
      }
    }
    const auto decoded = decode_message({2}, header, body);
    if (!decoded.ok()) ++refused;
    (void)decode_configuration(body);
  }
  CHECK(refused > 1000);
  for (int i = 0; i < 10000; ++i) {
    std::string rubbish(random() % 200, '\0');
    for (char& byte : rubbish) byte = static_cast<char>(random());
    (void)decode_message({2}, rubbish, rubbish);
    (void)decode_configuration(rubbish);
    (void)visit_operations(rubbish, {[](Index, const EntryView&) { return runtime::Status(); },
                                     [](Index) { return runtime::Status(); },
                                     [](Index, Term) { return runtime::Status(); }});
  }
}

TEST_CASE("raft codec: configurations are libraft's own") {
  const Configuration configuration = {{{1}, "a:1", Role::kVoter}, {{9}, "b", Role::kSpare}};
  raft_configuration library;
  fill_configuration(configuration, &library);
  raft_buffer encoded{};
  REQUIRE(raft_configuration_encode(&library, &encoded) == 0);
  // But for the bytes that fill it up to a multiple of 8: libraft leaves them as they are.
  const std::string ours = encode_configuration(configuration);
  CHECK(ours.size() == encoded.len);
  CHECK(decode_configuration({static_cast<const char*>(encoded.base), encoded.len}).value() ==
        configuration);
  CHECK(decode_configuration(encode_configuration(configuration)).value() == configuration);
  CHECK(configuration_of(library) == configuration);
  raft_configuration_close(&library);
  raft_free(encoded.base);
  CHECK_FALSE(decode_configuration({}).ok());
  CHECK_FALSE(decode_configuration(
                  encode_configuration({{{1}, "a", Role::kVoter}, {{1}, "b", Role::kVoter}}))
                  .ok());
}

TEST_CASE("raft codec: the example of docs/FORMATS.md") {
  const LogHeader header{1, 0, 7};
  std::string operations;
  append_entry(operations, 2, {3, EntryKind::kCommand, "hi"});
  std::string file = encode_header(header);
  append_record(file, header, 1, operations);
  std::string hex;
  for (const char byte : file) {
    const char* const digits = "0123456789abcdef";
    hex += digits[static_cast<unsigned char>(byte) >> 4];
    hex += digits[byte & 15];
  }
  CHECK(hex ==
        "52545246544c4f4700000001000000000000000100000000000000000000000000000007"
        "00f6ed2a000000181300bd88000000000000000101000000000000000200000000000000"
        "0301000000026869");
}

}  // namespace raft_codec_test
