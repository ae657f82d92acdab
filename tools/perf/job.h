// One command of the program, from its start to its exit code.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "broker/runtime/alarm.h"
#include "broker/runtime/env.h"
#include "tools/perf/options.h"

namespace ringtail::perf {

using AlarmMaker = std::function<std::unique_ptr<runtime::Alarm>(std::function<void()> rung)>;

// What a job works with; all of it outlives the job.
struct JobContext {
  runtime::Env& env;
  AlarmMaker make_alarm;
  const Options& options;
};

// Lives on the thread of its Env. Prints its result before it is finished.
class Job {
 public:
  // `exit_code` is 0 when everything was as it should be, 1 otherwise. Runs once, from the loop;
  // all connections are closed by then.
  using Finished = std::function<void(int exit_code)>;

  virtual ~Job() = default;
  virtual void start(Finished finished) = 0;
  // The user wants it to end: the first time in order, the second time at once.
  virtual void interrupt() = 0;
};

std::unique_ptr<Job> make_load_job(const JobContext& context);
std::unique_ptr<Job> make_connections_job(const JobContext& context);
std::unique_ptr<Job> make_queues_job(const JobContext& context);
std::unique_ptr<Job> make_ready_job(const JobContext& context);

}  // namespace ringtail::perf
