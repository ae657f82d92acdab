// An Env for shards whose actors touch nothing outside.
#pragma once

#include "broker/runtime/check.h"
#include "broker/runtime/env.h"

namespace ringtail::runtime {

class StubEnv final : public Env {
 public:
  Clock& clock() override { refuse(); }
  Timers& timers() override { refuse(); }
  Rng& rng() override { refuse(); }
  Disk& disk() override { refuse(); }
  Net& net() override { refuse(); }

 private:
  [[noreturn]] static void refuse() {
    check_failed(__FILE__, __LINE__, "stub", "this test has no outside world");
  }
};

}  // namespace ringtail::runtime
