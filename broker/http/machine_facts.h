// What the system says of this process, for the node's own figures. Any thread.
#pragma once

#include <cstdint>
#include <string>

namespace ringtail::broker::http {

struct MachineFacts {
  std::uint64_t memory = 0;  // resident, in bytes
  std::uint64_t files_used = 0;
  std::uint64_t files_limit = 0;
  std::uint64_t disk_free = 0;  // in the data directory, in bytes
  unsigned processors = 1;
  int process = 0;
  std::uint64_t now_ms = 0;  // since 1970
};

// What cannot be read is 0.
MachineFacts machine_facts(const std::string& data_dir);

}  // namespace ringtail::broker::http
