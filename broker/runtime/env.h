// The five doors through which a shard sees the world. uv/uv_env.h opens them on the real one,
// sim/sim_env.h on a simulated one; nothing else in the program touches time, chance, files or
// sockets.
#pragma once

#include "broker/runtime/clock.h"
#include "broker/runtime/disk.h"
#include "broker/runtime/net.h"
#include "broker/runtime/rng.h"
#include "broker/runtime/timer.h"

namespace ringtail::runtime {

// One per shard; used on that shard's thread only.
class Env {
 public:
  virtual ~Env() = default;
  virtual Clock& clock() = 0;
  virtual Timers& timers() = 0;
  virtual Rng& rng() = 0;
  virtual Disk& disk() = 0;
  virtual Net& net() = 0;
};

}  // namespace ringtail::runtime
