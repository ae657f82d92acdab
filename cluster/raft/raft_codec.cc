#include "cluster/raft/raft_codec.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "broker/runtime/check.h"
#include "cluster/raft/raft.pb.h"

namespace ringtail::cluster::raft {

namespace {

using runtime::Bytes;
using runtime::Code;
using runtime::NodeId;
using runtime::Result;
using runtime::Status;

// No term, index or size that comes from outside is so large that adding to it overflows.
constexpr std::uint64_t kMostNumber = 1ULL << 62;
constexpr std::uint64_t kMostSnapshotBytes = 1ULL << 36;
constexpr int kMostEntries = 1 << 20;

Status invalid(const char* how) { return {Code::kInvalid, std::string("Raft: ") + how}; }

std::size_t aligned(std::size_t size) { return (size + 7) / 8 * 8; }

// --- encoding ------------------------------------------------------------------------------------

std::size_t entries_that_fit(const raft_append_entries& append, std::size_t most_entries,
                             std::size_t most_bytes) {
  std::size_t bytes = 0;
  std::size_t count = 0;
  for (; count < std::min<std::size_t>(append.n_entries, most_entries); ++count) {
    bytes += append.entries[count].buf.len + 16;
    if (count > 0 && bytes > most_bytes) break;
  }
  return count;
}

Bytes gather(const raft_append_entries& append, std::size_t count) {
  std::size_t size = 0;
  for (std::size_t i = 0; i < count; ++i) size += append.entries[i].buf.len;
  if (size == 0) return {};
  runtime::Block* const block = runtime::Block::create(size);
  std::uint8_t* at = block->data();
  for (std::size_t i = 0; i < count; ++i) {
    const raft_buffer& payload = append.entries[i].buf;
    if (payload.len == 0) continue;
    std::memcpy(at, payload.base, payload.len);
    at += payload.len;
  }
  return Bytes::adopt(block, block->data(), size);
}

void encode_append(const raft_append_entries& append, std::size_t count, wire::AppendEntries& out) {
  out.set_term(append.term);
  out.set_previous_index(append.prev_log_index);
  out.set_previous_term(append.prev_log_term);
  out.set_leader_commit(append.leader_commit);
  for (std::size_t i = 0; i < count; ++i) {
    const raft_entry& entry = append.entries[i];
    out.add_terms(entry.term);
    out.add_kinds(entry.type);
    out.add_sizes(static_cast<std::uint32_t>(entry.buf.len));
  }
}

void encode_vote(const raft_request_vote& vote, wire::RequestVote& out) {
  out.set_term(vote.term);
  out.set_candidate(static_cast<std::uint32_t>(vote.candidate_id));
  out.set_last_index(vote.last_log_index);
  out.set_last_term(vote.last_log_term);
  out.set_disrupt_leader(vote.disrupt_leader);
  out.set_pre_vote(vote.pre_vote);
}

std::string text_of(const wire::Message& message) {
  std::string text;
  message.AppendToString(&text);
  return text;
}

}  // namespace

Encoded encode_message(const raft_message& message, std::size_t most_entries,
                       std::size_t most_bytes, std::size_t* sent) {
  wire::Message out;
  Encoded encoded;
  *sent = 0;
  switch (message.type) {
    case RAFT_IO_APPEND_ENTRIES:
      *sent = entries_that_fit(message.append_entries, most_entries, most_bytes);
      encode_append(message.append_entries, *sent, *out.mutable_append_entries());
      encoded.body = gather(message.append_entries, *sent);
      break;
    case RAFT_IO_APPEND_ENTRIES_RESULT:
      out.mutable_append_entries_result()->set_term(message.append_entries_result.term);
      out.mutable_append_entries_result()->set_rejected(message.append_entries_result.rejected);
      out.mutable_append_entries_result()->set_last_index(
          message.append_entries_result.last_log_index);
      break;
    case RAFT_IO_REQUEST_VOTE:
      encode_vote(message.request_vote, *out.mutable_request_vote());
      break;
    case RAFT_IO_REQUEST_VOTE_RESULT:
      out.mutable_request_vote_result()->set_term(message.request_vote_result.term);
      out.mutable_request_vote_result()->set_granted(message.request_vote_result.vote_granted);
      out.mutable_request_vote_result()->set_pre_vote(message.request_vote_result.pre_vote ==
                                                      raft_tribool_true);
      break;
    case RAFT_IO_TIMEOUT_NOW:
      out.mutable_timeout_now()->set_term(message.timeout_now.term);
      out.mutable_timeout_now()->set_last_index(message.timeout_now.last_log_index);
      out.mutable_timeout_now()->set_last_term(message.timeout_now.last_log_term);
      break;
    default:
      RT_CHECK(false, "a message of Raft that is sent otherwise");
  }
  encoded.header = text_of(out);
  return encoded;
}

std::string encode_part(const SnapshotPart& part) {
  wire::Message out;
  wire::SnapshotPart& wire = *out.mutable_snapshot_part();
  wire.set_session(part.session);
  wire.set_term(part.term);
  wire.set_last_index(part.last_index);
  wire.set_last_term(part.last_term);
  wire.set_configuration_index(part.configuration_index);
  wire.set_configuration(part.configuration);
  wire.set_size(part.size);
  wire.set_offset(part.offset);
  return text_of(out);
}

std::string encode_progress(const SnapshotProgress& progress) {
  wire::Message out;
  out.mutable_snapshot_progress()->set_session(progress.session);
  out.mutable_snapshot_progress()->set_have(progress.have);
  return text_of(out);
}

// --- incoming ------------------------------------------------------------------------------------

Incoming::Incoming(NodeId from, unsigned short type)
    : from_(from), address_(std::to_string(from.value)) {
  message_.type = type;
  message_.server_id = from.value;
}

Incoming::Incoming(Incoming&& other) noexcept
    : from_(other.from_),
      address_(std::move(other.address_)),
      message_(other.message_),
      owns_(std::exchange(other.owns_, false)) {}

Incoming& Incoming::operator=(Incoming&& other) noexcept {
  if (this == &other) return *this;
  free_memory();
  from_ = other.from_;
  address_ = std::move(other.address_);
  message_ = other.message_;
  owns_ = std::exchange(other.owns_, false);
  return *this;
}

raft_message* Incoming::release() {
  RT_CHECK(owns_, "a message of Raft is handed over twice");
  owns_ = false;
  message_.server_address = address_.c_str();
  return &message_;
}

void Incoming::begin_behind(Index index, Term term) {
  raft_append_entries& append = message_.append_entries;
  if (index <= append.prev_log_index) return;
  const auto cut =
      static_cast<unsigned>(std::min<Index>(append.n_entries, index - append.prev_log_index));
  append.n_entries -= cut;
  append.prev_log_index = index;
  append.prev_log_term = term;
  append.leader_commit = std::min<Index>(append.leader_commit, index + append.n_entries);
  if (cut == 0) return;
  if (append.n_entries == 0) {
    raft_free(append.entries[0].batch);
    raft_free(append.entries);
    append.entries = nullptr;
  } else {
    std::memmove(append.entries, append.entries + cut, append.n_entries * sizeof(raft_entry));
  }
}

void Incoming::free_memory() {
  if (!owns_) return;
  if (message_.type == RAFT_IO_APPEND_ENTRIES && message_.append_entries.entries != nullptr) {
    raft_free(message_.append_entries.entries[0].batch);
    raft_free(message_.append_entries.entries);
  } else if (message_.type == RAFT_IO_INSTALL_SNAPSHOT) {
    raft_configuration_close(&message_.install_snapshot.conf);
    raft_free(message_.install_snapshot.data.base);
  }
}

// --- decoding ------------------------------------------------------------------------------------

namespace {

bool sane(std::uint64_t number) { return number < kMostNumber; }

Status check_entries(const wire::AppendEntries& in, std::string_view body) {
  if (in.terms_size() != in.kinds_size() || in.terms_size() != in.sizes_size() ||
      in.terms_size() > kMostEntries) {
    return invalid("the entries' facts are not of one number");
  }
  std::uint64_t total = 0;
  std::uint64_t term = in.previous_term();
  for (int i = 0; i < in.terms_size(); ++i) {
    if (in.terms(i) < term || in.terms(i) == 0 || in.terms(i) > in.term()) {
      return invalid("an entry's term is out of order");
    }
    term = in.terms(i);
    if (in.kinds(i) < RAFT_COMMAND || in.kinds(i) > RAFT_CHANGE) {
      return invalid("an entry of unknown kind");
    }
    total += in.sizes(i);
    if (total > body.size()) return invalid("the payloads are longer than the body");
    if (in.kinds(i) == RAFT_CHANGE) {
      const auto read = decode_configuration(body.substr(total - in.sizes(i), in.sizes(i)));
      if (!read.ok()) return read.status();
    }
  }
  if (total != body.size()) return invalid("the body is longer than the payloads");
  return {};
}

// One batch for all payloads, at multiples of 8.
raft_entry* make_entries(const wire::AppendEntries& in, std::string_view body) {
  const auto count = static_cast<std::size_t>(in.terms_size());
  std::size_t size = 0;
  for (std::size_t i = 0; i < count; ++i) size += aligned(in.sizes(static_cast<int>(i)));
  std::uint8_t* at = make_raft_buffer(size).release();
  std::uint8_t* const batch = at;
  auto* const entries =
      reinterpret_cast<raft_entry*>(make_raft_buffer(count * sizeof(raft_entry)).release());
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t payload = in.sizes(static_cast<int>(i));
    entries[i] = {};
    entries[i].term = in.terms(static_cast<int>(i));
    entries[i].type = static_cast<unsigned short>(in.kinds(static_cast<int>(i)));
    entries[i].buf = {at, payload};
    entries[i].batch = batch;
    std::memcpy(at, body.data(), payload);
    body.remove_prefix(payload);
    at += aligned(payload);
  }
  return entries;
}

Result<Received> decode_append(NodeId from, const wire::AppendEntries& in, std::string_view body) {
  if (in.term() == 0 || !sane(in.term()) || !sane(in.previous_index()) ||
      in.previous_term() > in.term() || !sane(in.leader_commit()) ||
      (in.previous_index() == 0) != (in.previous_term() == 0)) {
    return invalid("an AppendEntries with impossible numbers");
  }
  RT_TRY(check_entries(in, body));
  Incoming incoming(from, RAFT_IO_APPEND_ENTRIES);
  raft_append_entries& append = incoming.message().append_entries;
  append.term = in.term();
  append.prev_log_index = in.previous_index();
  append.prev_log_term = in.previous_term();
  append.n_entries = static_cast<unsigned>(in.terms_size());
  // No further than to what this message shows to be the same: what lies behind may be a leftover
  // of another term. (The paper's figure 2; libraft 0.15 takes its last entry instead.)
  append.leader_commit =
      std::min<Index>(in.leader_commit(), in.previous_index() + append.n_entries);
  append.entries = append.n_entries == 0 ? nullptr : make_entries(in, body);
  return Received(std::move(incoming));
}

Result<Received> decode_result(NodeId from, const wire::AppendEntriesResult& in) {
  if (in.term() == 0 || !sane(in.term()) || !sane(in.rejected()) || !sane(in.last_index())) {
    return invalid("an AppendEntriesResult with impossible numbers");
  }
  Incoming incoming(from, RAFT_IO_APPEND_ENTRIES_RESULT);
  incoming.message().append_entries_result = {in.term(), in.rejected(), in.last_index()};
  return Received(std::move(incoming));
}

Result<Received> decode_vote(NodeId from, const wire::RequestVote& in) {
  if (in.term() == 0 || !sane(in.term()) || !sane(in.last_index()) || in.last_term() > in.term() ||
      in.candidate() != from.value) {
    return invalid("a RequestVote with impossible numbers, or for somebody else");
  }
  Incoming incoming(from, RAFT_IO_REQUEST_VOTE);
  raft_request_vote& vote = incoming.message().request_vote;
  vote.term = in.term();
  vote.candidate_id = from.value;
  vote.last_log_index = in.last_index();
  vote.last_log_term = in.last_term();
  vote.disrupt_leader = in.disrupt_leader();
  vote.pre_vote = in.pre_vote();
  return Received(std::move(incoming));
}

Result<Received> decode_vote_result(NodeId from, const wire::RequestVoteResult& in) {
  if (in.term() == 0 || !sane(in.term())) return invalid("a vote of an impossible term");
  Incoming incoming(from, RAFT_IO_REQUEST_VOTE_RESULT);
  raft_request_vote_result& result = incoming.message().request_vote_result;
  result.term = in.term();
  result.vote_granted = in.granted();
  result.pre_vote = in.pre_vote() ? raft_tribool_true : raft_tribool_false;
  return Received(std::move(incoming));
}

Result<Received> decode_timeout_now(NodeId from, const wire::TimeoutNow& in) {
  if (in.term() == 0 || !sane(in.term()) || !sane(in.last_index()) || in.last_term() > in.term()) {
    return invalid("a TimeoutNow with impossible numbers");
  }
  Incoming incoming(from, RAFT_IO_TIMEOUT_NOW);
  incoming.message().timeout_now = {in.term(), in.last_index(), in.last_term()};
  return Received(std::move(incoming));
}

Result<Received> decode_part(const wire::SnapshotPart& in, std::string_view body) {
  if (in.term() == 0 || !sane(in.term()) || in.last_index() == 0 || !sane(in.last_index()) ||
      in.last_term() == 0 || in.last_term() > in.term() || in.configuration_index() == 0 ||
      in.configuration_index() > in.last_index()) {
    return invalid("a snapshot with impossible numbers");
  }
  if (in.size() > kMostSnapshotBytes || in.offset() > in.size() ||
      body.size() > in.size() - in.offset()) {
    return invalid("a part of a snapshot lies outside of it");
  }
  const auto configuration = decode_configuration(in.configuration());
  if (!configuration.ok()) return configuration.status();
  return Received(SnapshotPart{in.session(), in.term(), in.last_index(), in.last_term(),
                               in.configuration_index(), in.configuration(), in.size(),
                               in.offset()});
}

}  // namespace

Result<Received> decode_message(NodeId from, std::string_view header, std::string_view body) {
  wire::Message in;
  if (header.size() > std::numeric_limits<int>::max() ||
      !in.ParseFromArray(header.data(), static_cast<int>(header.size()))) {
    return invalid("the header of a message is none");
  }
  const bool has_body = in.kind_case() == wire::Message::kAppendEntries ||
                        in.kind_case() == wire::Message::kSnapshotPart;
  if (!has_body && !body.empty()) return invalid("a body where none belongs");
  switch (in.kind_case()) {
    case wire::Message::kAppendEntries:
      return decode_append(from, in.append_entries(), body);
    case wire::Message::kAppendEntriesResult:
      return decode_result(from, in.append_entries_result());
    case wire::Message::kRequestVote:
      return decode_vote(from, in.request_vote());
    case wire::Message::kRequestVoteResult:
      return decode_vote_result(from, in.request_vote_result());
    case wire::Message::kSnapshotPart:
      return decode_part(in.snapshot_part(), body);
    case wire::Message::kSnapshotProgress:
      return Received(
          SnapshotProgress{in.snapshot_progress().session(), in.snapshot_progress().have()});
    case wire::Message::kTimeoutNow:
      return decode_timeout_now(from, in.timeout_now());
    case wire::Message::KIND_NOT_SET:
      break;
  }
  return invalid("a message of unknown kind");
}

// --- configurations ------------------------------------------------------------------------------

void fill_configuration(const Configuration& from, raft_configuration* to) {
  raft_configuration_init(to);
  for (const Server& server : from) {
    const int status = raft_configuration_add(to, server.id.value, server.address.c_str(),
                                              static_cast<int>(server.role));
    RT_CHECK(status == 0, "a configuration that was checked");
  }
}

Configuration configuration_of(const raft_configuration& from) {
  Configuration configuration;
  for (unsigned i = 0; i < from.n; ++i) {
    const raft_server& server = from.servers[i];
    configuration.push_back(
        {{static_cast<std::uint32_t>(server.id)}, server.address, static_cast<Role>(server.role)});
  }
  return configuration;
}

Incoming install_message(NodeId from, const SnapshotPart& part, const Configuration& configuration,
                         RaftBuffer payload) {
  Incoming incoming(from, RAFT_IO_INSTALL_SNAPSHOT);
  raft_install_snapshot& install = incoming.message().install_snapshot;
  install.term = part.term;
  install.last_index = part.last_index;
  install.last_term = part.last_term;
  install.conf_index = part.configuration_index;
  fill_configuration(configuration, &install.conf);
  install.data = {payload.release(), part.size};
  return incoming;
}

}  // namespace ringtail::cluster::raft
