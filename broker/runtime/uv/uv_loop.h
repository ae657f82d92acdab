// What the parts of one libuv Env share: the loop, its read buffer, a count of its iterations, and
// calls put off until the loop is back in charge.
#pragma once

#include <uv.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace ringtail::runtime {

// Owned by a UvEnv; used on the loop's thread. Its handles do not keep the loop alive, except while
// calls are put off.
class UvLoop {
 public:
  explicit UvLoop(uv_loop_t& loop);
  UvLoop(const UvLoop&) = delete;
  UvLoop& operator=(const UvLoop&) = delete;
  ~UvLoop();  // after close_handles() and a run of the loop

  uv_loop_t* handle() { return &loop_; }
  std::uint64_t now_ms() const { return uv_now(&loop_); }
  // Differs between any two polls of the loop.
  std::uint64_t iteration() const { return iteration_; }
  // kReadBufferSize bytes with kReadHeadroom writable bytes in front of them.
  std::uint8_t* read_buffer();
  // Runs `call` from the loop, in its next iteration.
  void defer(std::function<void()> call);
  void close_handles();

 private:
  void run_deferred() noexcept;

  uv_loop_t& loop_;
  uv_check_t check_;
  uv_idle_t idle_;  // active, and so keeping the loop from blocking, while calls are put off
  std::uint64_t iteration_ = 1;
  std::unique_ptr<std::uint8_t[]> read_memory_;
  std::vector<std::function<void()>> deferred_;
  int open_handles_ = 2;
};

}  // namespace ringtail::runtime
