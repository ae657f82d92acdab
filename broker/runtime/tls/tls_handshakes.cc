#include "broker/runtime/tls/tls_handshakes.h"

#include "broker/runtime/check.h"
#include "broker/runtime/limits.h"
#include "broker/runtime/tls/tls_stream.h"

namespace ringtail::runtime {

TlsHandshakes::TlsHandshakes(Env& env, std::uint64_t timeout_ms, std::size_t at_most)
    : clock_(env.clock()),
      timeout_ms_(timeout_ms),
      at_most_(at_most),
      timeout_timer_(env.timers().make([this] { time_out(); })),
      turn_timer_(env.timers().make([this] { next_turn(); })) {}

TlsHandshakes::~TlsHandshakes() {
  RT_CHECK(under_way_.empty(), "TLS streams outlive the list of their handshakes");
}

void TlsHandshakes::begin(TlsStream& stream) {
  if (under_way_.size() >= at_most_) {
    under_way_.front().give_up(
        Status(Code::kBusy, "TLS handshake given up for newer ones: " + std::to_string(at_most_) +
                                " are under way, and it was the oldest"));
  }
  stream.set_handshake_until_ms(clock_.monotonic_ms() + timeout_ms_);
  under_way_.push_back(stream);
  if (timeout_runs_) return;
  timeout_runs_ = true;
  timeout_timer_->start(timeout_ms_);
}

void TlsHandshakes::end(TlsStream& stream) {
  if (stream.TlsUnderWayHook::is_linked()) under_way_.erase(under_way_.iterator_to(stream));
  if (stream.TlsWaitingHook::is_linked()) waiting_.erase(waiting_.iterator_to(stream));
}

// The timer runs to the end of the oldest handshake, or of one that was the oldest: most are over
// long before, and a timer is not touched for each.
void TlsHandshakes::time_out() {
  const std::uint64_t now = clock_.monotonic_ms();
  while (!under_way_.empty() && under_way_.front().handshake_until_ms() <= now) {
    under_way_.front().give_up(Status(
        Code::kTimeout, "TLS handshake not done within " + std::to_string(timeout_ms_) + " ms"));
  }
  timeout_runs_ = !under_way_.empty();
  if (timeout_runs_) timeout_timer_->start(under_way_.front().handshake_until_ms() - now);
}

bool TlsHandshakes::may_step(TlsStream& stream) {
  if (steps_ < kTlsStepsPerTurn && waiting_.empty()) {
    ++steps_;
    start_turn_timer();
    return true;
  }
  wait(stream);
  return false;
}

void TlsHandshakes::wait(TlsStream& stream) {
  if (!stream.TlsWaitingHook::is_linked()) {
    if (stream.TlsUnderWayHook::is_linked()) {
      waiting_.push_back(stream);
    } else {
      waiting_.push_front(stream);
    }
  }
  start_turn_timer();
}

void TlsHandshakes::start_turn_timer() {
  if (turn_timer_runs_) return;
  turn_timer_runs_ = true;
  turn_timer_->start(kTlsTurnMs);
}

void TlsHandshakes::next_turn() {
  turn_timer_runs_ = false;
  steps_ = 0;
  while (!waiting_.empty() && steps_ < kTlsStepsPerTurn) {
    ++steps_;
    TlsStream& stream = waiting_.front();
    waiting_.pop_front();
    stream.take_step();
  }
  if (steps_ > 0) start_turn_timer();
}

}  // namespace ringtail::runtime
