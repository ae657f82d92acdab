#include "cluster/raft/snapshot_transfer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "broker/runtime/bytes.h"

namespace ringtail::cluster::raft {

using runtime::NodeId;

// --- sending -------------------------------------------------------------------------------------

raft_io_send* SnapshotSenders::start(NodeId to, std::uint64_t session,
                                     const raft_install_snapshot& args, raft_io_send* request,
                                     raft_io_send_cb callback, std::uint64_t now_ms) {
  request->cb = callback;
  Sending sending;
  sending.part = {session,         args.term,
                  args.last_index, args.last_term,
                  args.conf_index, encode_configuration(configuration_of(args.conf)),
                  args.data.len,   0};
  sending.payload = {static_cast<const char*>(args.data.base), args.data.len};
  sending.request = request;
  sending.progress_ms = now_ms;
  const auto found = sending_.find(to);
  raft_io_send* const former = found == sending_.end() ? nullptr : found->second.request;
  Sending& kept = sending_[to] = std::move(sending);
  send_part(to, kept, now_ms);
  return former;
}

void SnapshotSenders::send_part(NodeId to, Sending& sending, std::uint64_t now_ms) {
  sending.sent_ms = now_ms;
  const std::string_view part = sending.payload.substr(sending.part.offset, options_.part_bytes);
  transport_.send(to, encode_part(sending.part), runtime::Bytes::copy(runtime::as_bytes(part)));
}

raft_io_send* SnapshotSenders::progressed(NodeId from, const SnapshotProgress& progress,
                                          std::uint64_t now_ms) {
  const auto found = sending_.find(from);
  if (found == sending_.end() || found->second.part.session != progress.session) return nullptr;
  Sending& sending = found->second;
  if (progress.have >= sending.part.size) {
    raft_io_send* const request = sending.request;
    sending_.erase(found);
    return request;
  }
  // An answer that was overtaken tells nothing; 0 is one who has to begin again.
  const bool again = progress.have == 0 && sending.part.offset > 0;
  if (progress.have <= sending.part.offset && !again) return nullptr;
  sending.part.offset = progress.have;
  sending.progress_ms = now_ms;
  send_part(from, sending, now_ms);
  return nullptr;
}

std::vector<raft_io_send*> SnapshotSenders::tick(std::uint64_t now_ms) {
  std::vector<raft_io_send*> given_up;
  for (auto at = sending_.begin(); at != sending_.end();) {
    Sending& sending = at->second;
    if (now_ms - sending.progress_ms >= options_.give_up_ms) {
      given_up.push_back(sending.request);
      at = sending_.erase(at);
      continue;
    }
    if (now_ms - sending.sent_ms >= options_.resend_ms) send_part(at->first, sending, now_ms);
    ++at;
  }
  return given_up;
}

std::vector<raft_io_send*> SnapshotSenders::stop_all() {
  std::vector<raft_io_send*> stopped;
  for (const auto& [to, sending] : sending_) stopped.push_back(sending.request);
  sending_.clear();
  return stopped;
}

// --- receiving -----------------------------------------------------------------------------------

std::optional<SnapshotGatherer::Outcome> SnapshotGatherer::take(NodeId from,
                                                                const SnapshotPart& part,
                                                                std::string_view body,
                                                                std::uint64_t now_ms) {
  if (part.session == done_session_) return Outcome{{part.session, part.size}, std::nullopt};
  if (!gathering_ || from != from_ || part.session != part_.session) {
    // The rest of one that was forgotten: from the start, please.
    if (part.offset != 0) return Outcome{{part.session, 0}, std::nullopt};
    gathering_ = true;
    from_ = from;
    part_ = part;
    payload_ = make_raft_buffer(part.size);
    have_ = 0;
  }
  last_ms_ = now_ms;
  if (part.offset > have_ || part.size != part_.size) return Outcome{{part.session, have_}, {}};
  if (part.offset + body.size() > have_) {
    std::memcpy(payload_.get() + part.offset, body.data(), body.size());
    have_ = part.offset + body.size();
  }
  Outcome outcome{{part.session, have_}, std::nullopt};
  if (have_ == part_.size) {
    const auto configuration = decode_configuration(part_.configuration);
    if (!configuration.ok()) return std::nullopt;  // the decoder has looked already
    outcome.whole = install_message(from, part_, configuration.value(), std::move(payload_));
    gathering_ = false;
    done_session_ = part.session;
  }
  return outcome;
}

SnapshotGatherer::Outcome SnapshotGatherer::pass(const SnapshotPart& part) {
  done_session_ = part.session;
  return {{part.session, part.size}, std::nullopt};
}

void SnapshotGatherer::tick(std::uint64_t now_ms) {
  if (!gathering_ || now_ms - last_ms_ < options_.give_up_ms) return;
  gathering_ = false;
  payload_.reset();
}

}  // namespace ringtail::cluster::raft
