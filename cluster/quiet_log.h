// A place that may find trouble very often, and logs it now and then: a peer that is away is tried
// again and again, and a stranger can knock as often as he likes.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "cluster/link_limits.h"

namespace ringtail::cluster {

class QuietLog {
 public:
  // Whether this line is to be logged now: it was not of late, and there were not too many others.
  bool due(const std::string& line, std::uint64_t now_ms) {
    if (now_ms - window_ms_ >= kLogAgainMs) {
      window_ms_ = now_ms;
      count_ = 0;
      lines_.clear();
    }
    if (count_ >= kLogLinesMax || !lines_.insert(line).second) return false;
    ++count_;
    return true;
  }
  // Things are well: the next line is news.
  void reset() { lines_.clear(); }

 private:
  std::uint64_t window_ms_ = 0;
  unsigned count_ = 0;
  std::set<std::string> lines_;  // of this window
};

}  // namespace ringtail::cluster
