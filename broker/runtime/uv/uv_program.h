// The one loop of a program that is no node (a load generator, a tool): its Env, exact alarms, the
// signals that end it, host names.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "broker/runtime/alarm.h"
#include "broker/runtime/env.h"
#include "broker/runtime/status.h"

namespace ringtail::runtime {

// Made, run and destroyed on the main thread. SIGINT and SIGTERM are reported from then on instead
// of ending the process; SIGPIPE is ignored.
class UvProgram {
 public:
  // `received` gets each signal's number, inside run(). It must not throw.
  explicit UvProgram(std::function<void(int)> received);
  UvProgram(const UvProgram&) = delete;
  UvProgram& operator=(const UvProgram&) = delete;
  // After everything that lives on the loop was destroyed.
  ~UvProgram();

  Env& env();
  std::unique_ptr<Alarm> make_alarm(std::function<void()> rung);
  // Runs the loop until stop(), which is called from inside it.
  void run();
  void stop();

  // The first address of a host, numeric: what Net::connect() takes. Blocks on the name server.
  static Result<std::string> resolve(const std::string& host);
  // As many descriptors as the system lets this process have; returns how many.
  static std::uint64_t raise_descriptor_limit();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ringtail::runtime
