#include "broker/http/machine_facts.h"

#include <dirent.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <thread>

namespace ringtail::broker::http {

namespace {

std::uint64_t resident_memory() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t size = 0;
  std::uint64_t resident = 0;
  if (!(file >> size >> resident)) return 0;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::uint64_t open_files() {
  DIR* folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) return 0;
  std::uint64_t entries = 0;
  while (::readdir(folder) != nullptr) ++entries;
  ::closedir(folder);
  // Without ".", ".." and the folder itself.
  return entries > 3 ? entries - 3 : 0;
}

std::uint64_t disk_free(const std::string& folder) {
  struct statvfs disk {};
  // Before something has been written, the folder above it is as good.
  for (const std::string& path : {folder, std::string(".")}) {
    if (::statvfs(path.c_str(), &disk) == 0) return std::uint64_t{disk.f_bavail} * disk.f_frsize;
  }
  return 0;
}

}  // namespace

MachineFacts machine_facts(const std::string& data_dir) {
  MachineFacts facts;
  facts.memory = resident_memory();
  facts.files_used = open_files();
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) facts.files_limit = limit.rlim_cur;
  facts.disk_free = disk_free(data_dir);
  facts.processors = std::max(1U, std::thread::hardware_concurrency());
  facts.process = ::getpid();
  facts.now_ms = static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                                std::chrono::system_clock::now().time_since_epoch())
                                                .count());
  return facts;
}

}  // namespace ringtail::broker::http
