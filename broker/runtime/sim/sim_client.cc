#include "broker/runtime/sim/sim_client.h"

#include <utility>

namespace ringtail::runtime {

void SimClient::connect(const std::string& address, std::uint16_t port) {
  env_.net().connect(address, port, [this](Result<std::unique_ptr<Stream>> stream) {
    if (!stream.ok()) return on_closed(stream.status());
    stream_ = std::move(stream).value();
    stream_->start(*this);
    if (paused_) stream_->pause_reading();
    flush();
    if (aborting_) abort();
  });
}

void SimClient::send(std::span<const std::uint8_t> bytes) {
  out_.append_copy(bytes.data(), bytes.size());
  flush();
}

void SimClient::pause() {
  paused_ = true;
  if (stream_ != nullptr) stream_->pause_reading();
}

void SimClient::resume() {
  paused_ = false;
  if (stream_ != nullptr) stream_->resume_reading();
}

void SimClient::close() {
  closing_ = true;
  flush();
}

void SimClient::abort() {
  aborting_ = true;
  if (stream_ != nullptr) static_cast<SimStream&>(*stream_).abort();
}

void SimClient::flush() {
  if (stream_ == nullptr || closed_ || writing_) return;
  if (!out_.empty()) writing_ = !stream_->write(out_);
  if (closing_ && !writing_) stream_->close();
}

void SimClient::on_read(std::span<std::uint8_t> data) noexcept {
  received_.insert(received_.end(), data.begin(), data.end());
  total_received_ += data.size();
}

void SimClient::on_written() noexcept {
  writing_ = false;
  flush();
}

void SimClient::on_closed(const Status& status) noexcept {
  closed_ = true;
  why_ = status;
  out_.clear();
}

}  // namespace ringtail::runtime
