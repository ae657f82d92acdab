// The accepting end of a link from another node, behind its handshake (peer_listener.h): frames
// come in, acknowledgements go out, together once per turn.
//
// Lifecycle: constructed over an adopted stream, start()ed; ends by itself when the stream does or
// what comes makes no sense, and stays, ended, until its owner destroys it: not from within a call
// to the owner. On one shard.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "broker/runtime/net.h"
#include "broker/runtime/shard.h"
#include "cluster/link_frame.h"
#include "cluster/link_tls.h"

namespace ringtail::cluster {

class InboundLink;

class InboundLinkOwner {
 public:
  virtual ~InboundLinkOwner() = default;
  // A frame has come. Not ok: the link ends for that reason. May call acknowledge() and end().
  virtual runtime::Status inbound_frame(InboundLink& link,
                                        const FrameReader::Frame& frame) noexcept = 0;
  // The link has ended; not called for end().
  virtual void inbound_ended(InboundLink& link, const runtime::Status& status) noexcept = 0;
};

class InboundLink final : public runtime::StreamEvents, private runtime::TurnTask {
 public:
  InboundLink(runtime::Shard& shard, std::unique_ptr<runtime::Stream> stream,
              InboundLinkOwner& owner);

  // Sends the welcome, and begins to read what is secured from here on. `security` outlives this.
  void start(const std::string& welcome, LinkSecurity& security);
  // Frames up to this number have arrived; the peer is told at the end of the turn.
  void acknowledge(std::uint64_t number);
  // Something else to write, in order; takes all of it. With `last` the link ends when it is out.
  void write(runtime::OutChain& bytes, bool last);
  void end();
  bool ended() const { return stream_ == nullptr; }
  // It ended for what the peer has sent (no TLS, a certificate of another authority, no frames),
  // and not because connections end.
  static bool is_fault(const runtime::Status& status) {
    return status.code() == runtime::Code::kCorrupt || status.code() == runtime::Code::kInvalid;
  }

 private:
  void turn_end() noexcept override;
  void on_read(std::span<std::uint8_t> data) noexcept override;
  void on_written() noexcept override;
  void on_closed(const runtime::Status& status) noexcept override;
  void write_on();

  runtime::Shard& shard_;
  std::unique_ptr<runtime::Stream> stream_;  // null: ended
  InboundLinkOwner& owner_;
  FrameReader reader_;
  runtime::OutChain output_;
  std::uint64_t to_acknowledge_ = 0;
  bool acknowledge_due_ = false;
  bool last_ = false;
};

}  // namespace ringtail::cluster
