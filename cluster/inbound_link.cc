#include "cluster/inbound_link.h"

#include <utility>

namespace ringtail::cluster {

using runtime::OutChain;
using runtime::Status;

InboundLink::InboundLink(runtime::Shard& shard, std::unique_ptr<runtime::Stream> stream,
                         InboundLinkOwner& owner)
    : shard_(shard), stream_(std::move(stream)), owner_(owner) {}

void InboundLink::start(const std::string& welcome, LinkSecurity& security) {
  output_.append_copy(welcome.data(), welcome.size());
  if (security.has_tls()) {
    stream_->write(output_);
    stream_ = security.accepted(std::move(stream_));
    output_.append_copy(&kTlsReady, sizeof(kTlsReady));
  }
  write_on();
  stream_->start(*this);
}

void InboundLink::acknowledge(std::uint64_t number) {
  if (ended()) return;
  to_acknowledge_ = number;
  acknowledge_due_ = true;
  shard_.write_output_at_turn_end(*this);
}

void InboundLink::write(OutChain& bytes, bool last) {
  if (ended()) return;
  output_.splice(bytes);
  last_ = last_ || last;
  shard_.write_output_at_turn_end(*this);
}

void InboundLink::end() { stream_.reset(); }

void InboundLink::turn_end() noexcept { write_on(); }

void InboundLink::write_on() {
  if (ended() || stream_->pending_write()) return;  // goes on in on_written()
  if (acknowledge_due_) {
    acknowledge_due_ = false;
    put_acknowledgement(output_.reserve(kAcknowledgementSize), to_acknowledge_);
    output_.advance(kAcknowledgementSize);
  }
  if (!output_.empty() && !stream_->write(output_)) return;
  if (last_) end();
}

void InboundLink::on_read(std::span<std::uint8_t> data) noexcept {
  std::span<const std::uint8_t> left = data;
  FrameReader::Frame frame;
  while (!ended()) {
    switch (reader_.next(left, frame)) {
      case FrameReader::Step::kMore:
        return;
      case FrameReader::Step::kFrame:
        if (const Status status = owner_.inbound_frame(*this, frame); !status.ok()) {
          return on_closed(status);
        }
        break;
      case FrameReader::Step::kFailed:
        return on_closed(Status(reader_.failure()));
    }
  }
}

void InboundLink::on_written() noexcept { write_on(); }

void InboundLink::on_closed(const Status& status) noexcept {
  if (ended()) return;
  stream_.reset();
  owner_.inbound_ended(*this, status);
}

}  // namespace ringtail::cluster
