// The signals that a node listens to, taken on the main thread.
#pragma once

#include <functional>
#include <memory>

namespace ringtail::runtime {

// SIGHUP: look at what may have changed outside.
inline constexpr int kReloadSignal = 1;

// Made and run on the main thread, before any shard starts. From then on SIGTERM, SIGINT and SIGHUP
// are reported instead of ending the process, and SIGPIPE is ignored.
class UvSignals {
 public:
  // `received` gets the number of each signal, inside run(). It must not throw.
  explicit UvSignals(std::function<void(int)> received);
  UvSignals(const UvSignals&) = delete;
  UvSignals& operator=(const UvSignals&) = delete;
  ~UvSignals();

  // Waits for signals until stop().
  void run();
  // From any thread, or from `received`. Before run(): run() returns at once.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ringtail::runtime
