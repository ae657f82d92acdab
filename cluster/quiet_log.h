// A place that may find trouble very often, and logs it now and then: a peer that is away is tried
// again and again, and a stranger can knock as often as he likes.
#pragma once

#include <cstdint>
#include <string>

#include "cluster/link_limits.h"

namespace ringtail::cluster {

class QuietLog {
 public:
  // Whether this line is to be logged now: it is another than the last one or that is long ago, and
  // there were not too many of late.
  bool due(const std::string& line, std::uint64_t now_ms) {
    if (line == last_ && now_ms - last_ms_ < kLogAgainMs) return false;
    if (now_ms - window_ms_ >= kLogAgainMs) {
      window_ms_ = now_ms;
      lines_ = 0;
    }
    if (lines_ >= kLogLinesMax) return false;
    ++lines_;
    last_ = line;
    last_ms_ = now_ms;
    return true;
  }
  // Things are well: the next line is news.
  void reset() { last_.clear(); }

 private:
  std::string last_;
  std::uint64_t last_ms_ = 0;
  std::uint64_t window_ms_ = 0;
  unsigned lines_ = 0;
};

}  // namespace ringtail::cluster
