// The Env of one libuv loop: the real world.
#pragma once

#include <uv.h>

#include "broker/runtime/env.h"
#include "broker/runtime/uv/uv_clock.h"
#include "broker/runtime/uv/uv_disk.h"
#include "broker/runtime/uv/uv_loop.h"
#include "broker/runtime/uv/uv_rng.h"
#include "broker/runtime/uv/uv_tcp.h"
#include "broker/runtime/uv/uv_timer.h"

namespace ringtail::runtime {

// Made and used on the thread that runs the loop. Ends in two steps: finish(), then its destructor.
class UvEnv final : public Env {
 public:
  explicit UvEnv(uv_loop_t& loop)
      : loop_(loop), clock_(loop_), timers_(loop_), disk_(loop_), net_(loop_) {}

  Clock& clock() override { return clock_; }
  Timers& timers() override { return timers_; }
  Rng& rng() override { return rng_; }
  Disk& disk() override { return disk_; }
  Net& net() override { return net_; }

  // After all streams, listeners, timers and files were destroyed, and with every handle of others
  // closed or unreferenced: runs the loop until closed sockets have lingered and disk requests are
  // done, at most kFinishMs; then closes what is left.
  void finish();

 private:
  UvLoop loop_;
  UvClock clock_;
  UvTimers timers_;
  UvRng rng_;
  UvDisk disk_;
  UvNet net_;
};

}  // namespace ringtail::runtime
