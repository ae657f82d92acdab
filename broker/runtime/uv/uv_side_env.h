// An Env beside the shards, for what a node does before they start: blocking calls to the disk,
// chance. Nothing that needs its loop to run.
#pragma once

#include <memory>

#include "broker/runtime/env.h"

namespace ringtail::runtime {

// Made, used and destroyed on one thread.
class UvSideEnv {
 public:
  UvSideEnv();
  ~UvSideEnv();
  UvSideEnv(const UvSideEnv&) = delete;
  UvSideEnv& operator=(const UvSideEnv&) = delete;

  Env& env();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ringtail::runtime
