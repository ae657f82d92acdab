#include "broker/runtime/machine.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace machine_test {

using namespace ringtail::runtime;

namespace {

// A directory that stands for "/".
class FakeRoot {
 public:
  FakeRoot() { REQUIRE(mkdtemp(path_) != nullptr); }
  ~FakeRoot() { std::filesystem::remove_all(path_); }
  void put(const std::string& path, const std::string& text) {
    const std::filesystem::path file = std::string(path_) + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  std::string path() const { return path_; }

 private:
  char path_[32] = "/tmp/ringtail-root-XXXXXX";
};

}  // namespace

TEST_CASE("control groups, version 2: the tightest limit up to the root") {
  FakeRoot root;
  CHECK(cgroup_memory_limit(root.path()) == 0);
  CHECK(cgroup_cpu_limit(root.path()) == 0);
  root.put("/proc/self/cgroup", "0::/a/b\n");
  root.put("/sys/fs/cgroup/a/b/memory.max", "max\n");
  root.put("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  CHECK(cgroup_memory_limit(root.path()) == 0);
  CHECK(cgroup_cpu_limit(root.path()) == 0);
  root.put("/sys/fs/cgroup/a/memory.max", "1000000\n");
  root.put("/sys/fs/cgroup/a/b/cpu.max", "150000 100000\n");
  CHECK(cgroup_memory_limit(root.path()) == 1000000);
  CHECK(cgroup_cpu_limit(root.path()) == doctest::Approx(1.5));
  root.put("/sys/fs/cgroup/a/b/memory.max", "2000000\n");
  root.put("/sys/fs/cgroup/a/cpu.max", "50000 100000\n");
  CHECK(cgroup_memory_limit(root.path()) == 1000000);
  CHECK(cgroup_cpu_limit(root.path()) == doctest::Approx(0.5));
}

TEST_CASE("control groups, version 2, in a container: the group is the mount itself") {
  FakeRoot root;
  root.put("/proc/self/cgroup", "0::/\n");
  root.put("/sys/fs/cgroup/memory.max", "536870912\n");
  CHECK(cgroup_memory_limit(root.path()) == 536870912);
}

TEST_CASE("control groups, version 1") {
  FakeRoot root;
  root.put("/proc/self/cgroup",
           "5:memory:/docker/abc\n4:cpu,cpuacct:/docker/abc\n1:name=systemd:/x\n");
  // The path of the host is not visible in a container: what counts lies at the mount.
  root.put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "700000\n");
  root.put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  root.put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  CHECK(cgroup_memory_limit(root.path()) == 700000);
  CHECK(cgroup_cpu_limit(root.path()) == 0);
  root.put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "200000\n");
  CHECK(cgroup_cpu_limit(root.path()) == doctest::Approx(2.0));
}

TEST_CASE("this machine has cores, memory and a name") {
  const Machine machine = read_machine();
  CHECK(machine.cores >= 1);
  CHECK(machine.memory_bytes > 1024 * 1024);
  CHECK_FALSE(machine.short_host.empty());
}

}  // namespace machine_test
