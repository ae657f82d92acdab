// The TLS handshakes under way on one shard, and what they may cost it: a flood of them, half-open
// or not, must leave the shard to others.
//
// - There are at most so many; one more, and the oldest is given up. One that is honest takes some
//   round trips, so in a flood it is rarely the oldest.
// - Each has a time limit.
// - A handshake's step (a signature: about a millisecond) is taken kTlsStepsPerTurn times in a turn
//   of the loop; whoever comes later waits for the next turns, in order. A turn ends when the timer
//   of kTlsTurnMs has fired: libuv runs a timer that is set to "at once" by its own callback again
//   before it looks at sockets.
#pragma once

#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "broker/runtime/env.h"

namespace ringtail::runtime {

class TlsStream;

struct TlsUnderWayTag;
struct TlsWaitingTag;
using TlsUnderWayHook = boost::intrusive::list_base_hook<boost::intrusive::tag<TlsUnderWayTag>>;
using TlsWaitingHook = boost::intrusive::list_base_hook<boost::intrusive::tag<TlsWaitingTag>>;

// One per shard; outlives the streams that it knows.
class TlsHandshakes {
 public:
  TlsHandshakes(Env& env, std::uint64_t timeout_ms, std::size_t at_most);
  TlsHandshakes(const TlsHandshakes&) = delete;
  TlsHandshakes& operator=(const TlsHandshakes&) = delete;
  ~TlsHandshakes();

  // A handshake begins. May give up the oldest one.
  void begin(TlsStream& stream);
  // It is done, or has failed. Idempotent.
  void end(TlsStream& stream);
  // True: the stream may take a step now. False: it waits, and its take_step() will be called.
  bool may_step(TlsStream& stream);
  // Its take_step() is called in a later turn; before the handshakes', where its own is done.
  void wait(TlsStream& stream);

  std::size_t under_way() const { return under_way_.size(); }

 private:
  void time_out();
  void next_turn();
  void start_turn_timer();

  Clock& clock_;
  const std::uint64_t timeout_ms_;
  const std::size_t at_most_;
  boost::intrusive::list<TlsStream, boost::intrusive::base_hook<TlsUnderWayHook>> under_way_;
  boost::intrusive::list<TlsStream, boost::intrusive::base_hook<TlsWaitingHook>> waiting_;
  std::unique_ptr<Timer> timeout_timer_;
  std::unique_ptr<Timer> turn_timer_;
  int steps_ = 0;  // taken in this turn
  bool timeout_runs_ = false;
  bool turn_timer_runs_ = false;
};

}  // namespace ringtail::runtime
