// What a run counts while it goes on; filled by producers and consumers, read by the job.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/perf/histogram.h"

namespace ringtail::perf {

// A latency over the whole measured time, and over the current interval of progress lines. A value
// is recorded once; intervals are added up when they end.
class LatencyMeter {
 public:
  void record(std::uint64_t ns) { interval_.record(ns); }
  const Histogram& interval() const { return interval_; }
  const Histogram& total() const { return total_; }
  // Ends the interval; it counts only where `measured` (the warm-up does not).
  void end_interval(bool measured) {
    if (measured) total_.add(interval_);
    interval_.clear();
  }

 private:
  Histogram interval_;
  Histogram total_;
};

// Counts of one moment; the difference of two gives the rates between them.
struct Counts {
  std::uint64_t published = 0;
  std::uint64_t answered = 0;  // confirmed or refused by the broker
  std::uint64_t consumed = 0;
  std::uint64_t at_ns = 0;
};

struct Tally {
  std::uint64_t published = 0;
  std::uint64_t answered = 0;
  std::uint64_t nacked = 0;
  std::uint64_t returned = 0;
  std::uint64_t consumed = 0;
  std::uint64_t blocked = 0;     // times that the broker said connection.blocked
  std::uint64_t cancels = 0;     // times that it cancelled a consumer
  LatencyMeter latency;          // due to delivered
  LatencyMeter confirm_latency;  // due to confirmed
  LongestGap deliveries;
  LongestGap confirms;
  std::uint64_t last_publish_ns = 0;
  std::uint64_t last_sync_ns = 0;  // the last answer that says all before has been taken
  std::uint64_t first_delivery_ns = 0;
  std::uint64_t last_progress_ns = 0;
  std::vector<std::string> errors;

  Counts counts(std::uint64_t now_ns) const { return {published, answered, consumed, now_ns}; }
};

}  // namespace ringtail::perf
