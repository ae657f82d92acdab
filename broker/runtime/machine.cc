#include "broker/runtime/machine.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <system_error>

namespace ringtail::runtime {

namespace {

constexpr const char* kSystemDataDir = "/var/lib/ringtail";
constexpr const char* kCgroupMount = "/sys/fs/cgroup";

std::string first_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

// The group's path in the hierarchy of a controller; "" for the unified one of version 2. False:
// there is no such hierarchy.
bool group_path(const std::string& root, const std::string& controller, std::string& path) {
  std::ifstream in(root + "/proc/self/cgroup");
  std::string line;
  while (std::getline(in, line)) {
    // "4:cpu,cpuacct:/user.slice" or "0::/user.slice"
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string names = "," + line.substr(first + 1, second - first - 1) + ",";
    if (names.find("," + controller + ",") == std::string::npos) continue;
    path = line.substr(second + 1);
    return true;
  }
  return false;
}

// Calls `look` with the directory of the group and of each of its parents, the mount included.
void walk_up(const std::string& mount, std::string path,
             const std::function<void(const std::string&)>& look) {
  while (true) {
    while (path.ends_with('/')) path.pop_back();
    look(mount + path);
    if (path.empty()) return;
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
}

// A positive whole number or 0: "max", "-1" and missing files are no limit.
std::uint64_t number_in(const std::string& text) {
  std::uint64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') break;
    if (value > (~std::uint64_t{0} - 9) / 10) return 0;
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return value;
}

template <typename T>
void tighten(T& limit, T found) {
  if (found > 0 && (limit == 0 || found < limit)) limit = found;
}

unsigned usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  long cores = 0;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    cores = CPU_COUNT(&set);
  } else {
    cores = sysconf(_SC_NPROCESSORS_ONLN);
  }
  if (const double quota = cgroup_cpu_limit(""); quota > 0) {
    cores = std::min(cores, static_cast<long>(std::ceil(quota)));
  }
  return static_cast<unsigned>(std::max(cores, 1L));
}

std::uint64_t usable_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_size = sysconf(_SC_PAGESIZE);
  std::uint64_t memory = pages > 0 && page_size > 0 ? static_cast<std::uint64_t>(pages) *
                                                          static_cast<std::uint64_t>(page_size)
                                                    : 0;
  tighten(memory, cgroup_memory_limit(""));
  return memory;
}

std::string short_host_name() {
  char buffer[256] = {};
  if (gethostname(buffer, sizeof(buffer) - 1) != 0) return "localhost";
  std::string host(buffer);
  host.resize(std::min(host.find('.'), host.size()));
  for (char& c : host) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '_') c = '-';
  }
  return host.empty() ? "localhost" : host;
}

}  // namespace

std::uint64_t cgroup_memory_limit(const std::string& root) {
  std::uint64_t limit = 0;
  std::string path;
  if (group_path(root, "memory", path)) {
    walk_up(root + kCgroupMount + "/memory", path, [&](const std::string& directory) {
      tighten(limit, number_in(first_line(directory + "/memory.limit_in_bytes")));
    });
  }
  if (group_path(root, "", path)) {
    walk_up(root + kCgroupMount, path, [&](const std::string& directory) {
      tighten(limit, number_in(first_line(directory + "/memory.max")));
    });
  }
  return limit;
}

double cgroup_cpu_limit(const std::string& root) {
  double limit = 0;
  const auto consider = [&](std::uint64_t quota, std::uint64_t period) {
    if (period > 0) tighten(limit, static_cast<double>(quota) / static_cast<double>(period));
  };
  std::string path;
  if (group_path(root, "cpu", path)) {
    walk_up(root + kCgroupMount + "/cpu", path, [&](const std::string& directory) {
      consider(number_in(first_line(directory + "/cpu.cfs_quota_us")),
               number_in(first_line(directory + "/cpu.cfs_period_us")));
    });
  }
  if (group_path(root, "", path)) {
    walk_up(root + kCgroupMount, path, [&](const std::string& directory) {
      // "150000 100000" or "max 100000"
      const std::string line = first_line(directory + "/cpu.max");
      const std::size_t space = line.find(' ');
      if (space == std::string::npos) return;
      consider(number_in(line), number_in(line.substr(space + 1)));
    });
  }
  return limit;
}

Machine read_machine() {
  Machine machine;
  machine.short_host = short_host_name();
  machine.root = geteuid() == 0;
  std::error_code error;
  machine.system_data_dir = std::filesystem::is_directory(kSystemDataDir, error);
  machine.cores = usable_cores();
  machine.memory_bytes = usable_memory();
  return machine;
}

}  // namespace ringtail::runtime
