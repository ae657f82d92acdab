// What a load run has found, for people and for scripts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/perf/options.h"
#include "tools/perf/tally.h"
#include "tools/perf/verify.h"

namespace ringtail::perf {

struct Summary {
  // Messages per second: between warm-up and the end of publishing for runs of a given duration,
  // over the whole run otherwise.
  double publish_rate = 0;
  double confirm_rate = 0;
  double consume_rate = 0;

  bool judged = true;            // the run was left to drain: what is missing is lost
  std::uint64_t unanswered = 0;  // publishes that awaited a confirm at the end
  std::uint64_t lost = 0;
  std::uint64_t lost_confirmed = 0;  // of these, after the broker had confirmed them
  std::uint64_t holes = 0;           // draining only: numbers that never came
  Faults faults;

  double first_delivery_s = 0;  // after the consumers began to connect
  double confirm_gap_ms = 0;
  double confirm_gap_at_s = 0;  // after the start of publishing
  double delivery_gap_ms = 0;
  double delivery_gap_at_s = 0;
  double elapsed_s = 0;
};

// Why the run has failed, a line each; empty when it has not.
std::vector<std::string> find_failures(const Options& options, const Tally& tally,
                                       const Summary& summary);

std::string report_table(const Options& options, const Tally& tally, const Summary& summary);
// One line. Keys stay as they are; new ones may come.
std::string report_json(const Options& options, const Tally& tally, const Summary& summary);

// What happened between two moments, as a progress line without a line end.
std::string progress_line(const Options& options, const Tally& tally, const Counts& from,
                          const Counts& to, double at_s);

// {"label": ..., KEY: VALUE, ...} of the other commands; in human form "KEY VALUE" lines.
using Figures = std::vector<std::pair<std::string, double>>;
std::string report_figures(const Options& options, const Figures& figures);

}  // namespace ringtail::perf
