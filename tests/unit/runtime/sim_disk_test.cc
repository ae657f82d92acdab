#include "broker/runtime/sim/sim_disk.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>

#include "broker/runtime/bytes.h"
#include "broker/runtime/sim/sim_env.h"

namespace sim_disk_test {

using namespace ringtail::runtime;

namespace {

struct DiskTest {
  explicit DiskTest(std::uint64_t seed) : world(seed), host(world), env(host) {
    REQUIRE(env.disk().make_directory("/d/sub").ok());
  }
  std::unique_ptr<File> open(const std::string& path, OpenMode mode) {
    Result<std::unique_ptr<File>> file = env.disk().open(path, mode);
    REQUIRE_MESSAGE(file.ok(), file.status().text());
    return std::move(file).value();
  }
  // Makes a request and waits for its end.
  template <typename Call>
  Status wait(DiskRequest& request, Call call) {
    bool done = false;
    Status result;
    request.done = [&](const Status& status) {
      done = true;
      result = status;
    };
    call(request);
    CHECK_FALSE(done);  // never inside the call
    REQUIRE(world.run_until([&] { return done; }));
    return result;
  }
  Status append(File& file, std::string_view text) {
    DiskRequest request;
    request.content = as_bytes(text);
    const Status status = wait(request, [&](DiskRequest& r) { file.append(r); });
    if (status.ok()) CHECK(request.transferred == text.size());
    return status;
  }
  Status write(File& file, std::uint64_t offset, std::string_view text) {
    DiskRequest request;
    request.content = as_bytes(text);
    request.offset = offset;
    return wait(request, [&](DiskRequest& r) { file.write_at(r); });
  }
  Status write_and_sync(File& file, std::uint64_t offset, std::string_view text) {
    DiskRequest request;
    request.content = as_bytes(text);
    request.offset = offset;
    return wait(request, [&](DiskRequest& r) { file.write_at_and_sync(r); });
  }
  Status preallocate(File& file, std::uint64_t size) {
    DiskRequest request;
    request.offset = size;
    return wait(request, [&](DiskRequest& r) { file.preallocate(r); });
  }
  Status sync(File& file) {
    DiskRequest request;
    return wait(request, [&](DiskRequest& r) { file.sync(r); });
  }
  std::string content(const std::string& path) {
    const auto bytes = host.drive().content(path);
    return bytes.ok() ? std::string(as_text(bytes.value())) : "(none)";
  }
  std::string read(File& file, std::uint64_t offset, std::size_t size) {
    std::vector<std::uint8_t> buffer(size);
    DiskRequest request;
    request.buffer = buffer;
    request.offset = offset;
    REQUIRE(wait(request, [&](DiskRequest& r) { file.read_at(r); }).ok());
    return std::string(as_text(buffer).substr(0, request.transferred));
  }

  SimWorld world;
  SimHost host;
  SimEnv env;
};

}  // namespace

TEST_CASE("files: create, append, write, read, size") {
  DiskTest test(1);
  auto file = test.open("/d/f", OpenMode::kCreateNew);
  CHECK(test.append(*file, "hello ").ok());
  CHECK(test.append(*file, "world").ok());
  CHECK(test.write(*file, 0, "HELLO").ok());
  CHECK(file->size() == 11);
  CHECK(test.read(*file, 0, 100) == "HELLO world");
  CHECK(test.read(*file, 6, 3) == "wor");
  CHECK(test.read(*file, 11, 3) == "");
  CHECK(test.write(*file, 13, "!").ok());
  CHECK(test.content("/d//f") == std::string("HELLO world\0\0!", 14));
  auto reader = test.open("/d/./f", OpenMode::kRead);
  CHECK(test.append(*reader, "x").code() == Code::kInvalid);
}

TEST_CASE("requests of one file run in the order in which they were made") {
  DiskTest test(2);
  auto file = test.open("/d/f", OpenMode::kCreateNew);
  std::string order;
  std::vector<DiskRequest> requests(20);
  std::vector<std::string> texts(20);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    texts[i] = std::string(1, static_cast<char>('a' + i));
    requests[i].content = as_bytes(texts[i]);
    requests[i].done = [&order, &texts, i](const Status& status) {
      CHECK(status.ok());
      order += texts[i];
    };
    if (i == 10) {
      file->sync(requests[i]);
    } else {
      file->append(requests[i]);
    }
  }
  REQUIRE(test.world.run_until_idle());
  CHECK(order == "abcdefghijklmnopqrst");
  CHECK(test.content("/d/f") == "abcdefghijlmnopqrst");
}

TEST_CASE("names: errors name the path") {
  DiskTest test(3);
  Disk& disk = test.env.disk();
  CHECK(disk.open("/d/none", OpenMode::kReadWrite).status().code() == Code::kNotFound);
  CHECK(disk.open("/x/f", OpenMode::kCreateNew).status().code() == Code::kNotFound);
  test.open("/d/f", OpenMode::kCreateNew);
  const Status exists = disk.open("/d/f", OpenMode::kCreateNew).status();
  CHECK(exists.code() == Code::kExists);
  CHECK(exists.text().find("/d/f") == 0);
  CHECK(disk.make_directory("/d/f").code() == Code::kExists);
  CHECK(disk.make_directory("/d/sub").ok());
  CHECK(disk.list("/d").value() == std::vector<std::string>{"f", "sub"});
  CHECK(disk.list("/").value() == std::vector<std::string>{"d"});
  CHECK(disk.list("/none").status().code() == Code::kNotFound);
  CHECK(disk.remove("/d").code() == Code::kBusy);
  CHECK(disk.remove("/d/none").code() == Code::kNotFound);
  CHECK(disk.rename("/d/none", "/d/g").code() == Code::kNotFound);
  CHECK(disk.rename("/d/f", "/d/g").ok());
  CHECK(disk.list("/d").value() == std::vector<std::string>{"g", "sub"});
  CHECK(disk.remove("/d/g").ok());
  CHECK(disk.remove("/d/sub").ok());
  CHECK(disk.list("/d").value().empty());
}

TEST_CASE("a crash keeps what was synced, and anything may become of the rest") {
  std::set<std::string> seen;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    DiskTest test(seed);
    {
      auto file = test.open("/d/f", OpenMode::kCreateNew);
      REQUIRE(test.append(*file, "synced|").ok());
      REQUIRE(test.sync(*file).ok());
      REQUIRE(test.env.disk().sync_directory("/d").ok());
      REQUIRE(test.append(*file, "one|").ok());
      REQUIRE(test.append(*file, "two|").ok());
    }
    test.host.drive().crash();
    const std::string left = test.content("/d/f");
    REQUIRE(left.starts_with("synced|"));
    seen.insert(left);
  }
  CHECK(seen.contains("synced|"));
  CHECK(seen.contains("synced|one|"));
  CHECK(seen.contains("synced|one|two|"));
  CHECK(seen.contains(std::string("synced|\0\0\0\0two|", 15)));  // order is not kept
  CHECK(seen.size() > 6);                                        // rubbish
}

TEST_CASE("a torn write is new, old or rubbish, sector by sector") {
  bool partly = false;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    DiskTest test(seed);
    test.host.drive().options().crash_keeps = 0;
    test.host.drive().options().crash_forgets = 0;
    {
      auto file = test.open("/d/f", OpenMode::kCreateNew);
      REQUIRE(test.append(*file, std::string(1500, 'a')).ok());
      REQUIRE(test.sync(*file).ok());
      REQUIRE(test.env.disk().sync_directory("/d").ok());
      REQUIRE(test.write(*file, 100, std::string(1300, 'b')).ok());
    }
    test.host.drive().crash();
    const std::string left = test.content("/d/f");
    REQUIRE(left.size() == 1500);
    CHECK(left.substr(0, 100) == std::string(100, 'a'));
    CHECK(left.substr(1400) == std::string(100, 'a'));
    const bool first_new = left.substr(100, 412) == std::string(412, 'b');
    const bool second_old = left.substr(512, 512) == std::string(512, 'a');
    partly |= first_new && second_old;
  }
  CHECK(partly);
}

TEST_CASE("names: what sync_directory has not covered may be undone, the last things first") {
  std::set<std::string> seen;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    CAPTURE(seed);
    DiskTest test(seed);
    Disk& disk = test.env.disk();
    {
      auto file = test.open("/d/state", OpenMode::kCreateNew);
      REQUIRE(test.append(*file, "old").ok());
      REQUIRE(test.sync(*file).ok());
      REQUIRE(disk.sync_directory("/d").ok());
      auto next = test.open("/d/state.new", OpenMode::kCreateNew);
      REQUIRE(test.append(*next, "new").ok());
      REQUIRE(test.sync(*next).ok());
    }
    REQUIRE(disk.rename("/d/state.new", "/d/state").ok());
    CHECK(test.content("/d/state") == "new");
    if (seed % 2 == 0) REQUIRE(disk.sync_directory("/d").ok());
    test.host.drive().crash();
    const std::string state = test.content("/d/state");
    // The name is never gone: a rename replaces.
    if (seed % 2 == 0) {
      CHECK(state == "new");
      CHECK(test.content("/d/state.new") == "(none)");
    } else {
      seen.insert(state + "," + test.content("/d/state.new"));
    }
  }
  CHECK(seen == std::set<std::string>{"new,(none)", "old,(none)", "old,new"});
}

TEST_CASE("names: a removal that was not synced may come back") {
  std::set<std::string> seen;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    DiskTest test(seed);
    {
      auto file = test.open("/d/f", OpenMode::kCreateNew);
      REQUIRE(test.append(*file, "x").ok());
      REQUIRE(test.sync(*file).ok());
    }
    REQUIRE(test.env.disk().sync_directory("/d").ok());
    REQUIRE(test.env.disk().remove("/d/f").ok());
    test.host.drive().crash();
    seen.insert(test.content("/d/f"));
  }
  CHECK(seen == std::set<std::string>{"(none)", "x"});
}

TEST_CASE("names: undoing an old rename does not take a later durable file away") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    DiskTest test(seed);
    Disk& disk = test.env.disk();
    test.open("/d/f", OpenMode::kCreateNew);
    REQUIRE(disk.sync_directory("/d").ok());
    REQUIRE(disk.rename("/d/f", "/d/sub/f").ok());
    {
      auto file = test.open("/d/f", OpenMode::kCreateNew);
      REQUIRE(test.append(*file, "second").ok());
      REQUIRE(test.sync(*file).ok());
    }
    REQUIRE(disk.sync_directory("/d").ok());
    test.host.drive().crash();
    CHECK(test.content("/d/f") == "second");
  }
}

TEST_CASE("the end of a process keeps what was written; its requests never finish") {
  DiskTest test(5);
  auto file = test.open("/d/f", OpenMode::kCreateNew);
  REQUIRE(test.append(*file, "written").ok());
  DiskRequest request;
  request.content = as_bytes("never");
  request.done = [](const Status&) { FAIL("a dead process heard from its disk"); };
  file->append(request);
  test.host.drive().kill_processes();
  REQUIRE(test.world.run_until_idle());
  file.reset();
  CHECK(test.content("/d/f") == "written");
}

TEST_CASE("the n-th call fails as ordered, then all is well again") {
  DiskTest test(6);
  auto file = test.open("/d/f", OpenMode::kCreateNew);
  SimDrive& drive = test.host.drive();
  drive.fail_call(SimDiskCall::kWrite, 2, Code::kIo, 2);
  CHECK(test.append(*file, "aaaa").ok());
  CHECK(test.append(*file, "bbbb").code() == Code::kIo);
  CHECK(test.append(*file, "cccc").code() == Code::kIo);
  CHECK(test.append(*file, "dddd").ok());
  CHECK(drive.calls(SimDiskCall::kWrite) == 4);
  drive.fail_call(SimDiskCall::kName, 1, Code::kIo);
  const Status status = test.env.disk().rename("/d/f", "/d/g");
  CHECK(status.code() == Code::kIo);
  CHECK(status.text().find("/d/f: ") == 0);
  CHECK(test.content("/d/g") == "(none)");
}

TEST_CASE("a failed sync makes the file refuse writes, and loses what it was to cover") {
  bool lost = false;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    DiskTest test(seed);
    test.host.drive().options().crash_keeps = 0;
    test.host.drive().options().crash_forgets = 1;
    {
      auto file = test.open("/d/f", OpenMode::kCreateNew);
      REQUIRE(test.env.disk().sync_directory("/d").ok());
      REQUIRE(test.append(*file, "data").ok());
      test.host.drive().fail_call(SimDiskCall::kSync, 1, Code::kIo);
      CHECK(test.sync(*file).code() == Code::kIo);
      CHECK(test.append(*file, "more").code() == Code::kIo);
      CHECK(test.sync(*file).code() == Code::kIo);
      CHECK(test.read(*file, 0, 10) == "data");
      // Whoever opens it anew and syncs successfully still does not save the old data.
      auto again = test.open("/d/f", OpenMode::kReadWrite);
      REQUIRE(test.append(*again, "!").ok());
      REQUIRE(test.sync(*again).ok());
    }
    test.host.drive().crash();
    lost |= test.content("/d/f") == std::string("\0\0\0\0!", 5);
  }
  CHECK(lost);
}

TEST_CASE("a full drive takes what fits and says so") {
  DiskTest test(7);
  test.host.drive().options().capacity_bytes = 10;
  auto file = test.open("/d/f", OpenMode::kCreateNew);
  CHECK(test.append(*file, "12345678").ok());
  CHECK(test.env.disk().free_bytes("/d").value() == 2);
  CHECK(test.append(*file, "abcd").code() == Code::kNoSpace);
  CHECK(test.content("/d/f") == "12345678ab");
  CHECK(test.write(*file, 0, "over").ok());  // needs no room
  CHECK(test.env.disk().remove("/d/f").ok());
  CHECK(test.env.disk().free_bytes("/d").value() == 10);
}

TEST_CASE("a write with its sync: whole once it is done, anything before") {
  std::set<std::string> seen;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    CAPTURE(seed);
    DiskTest test(seed);
    auto file = test.open("/d/f", OpenMode::kCreateNew);
    REQUIRE(test.env.disk().sync_directory("/d").ok());
    REQUIRE(test.write_and_sync(*file, 0, "first|").ok());
    DiskRequest request;
    request.content = as_bytes("second");
    request.offset = 6;
    request.done = [](const Status&) { FAIL("a dead process heard from its disk"); };
    file->write_at_and_sync(request);
    // Long enough for the write, too short for the sync.
    test.world.run_for(test.host.drive().options().latency_max_ns);
    CHECK(test.content("/d/f") == "first|second");
    test.host.drive().crash();
    const std::string left = test.content("/d/f");
    REQUIRE(left.starts_with("first|"));
    seen.insert(left);
  }
  CHECK(seen.contains("first|"));
  CHECK(seen.contains("first|second"));
  CHECK(seen.size() > 3);  // torn
}

TEST_CASE("a write with its sync: a failed write may be tried again, a failed sync may not") {
  DiskTest test(8);
  SimDrive& drive = test.host.drive();
  auto file = test.open("/d/f", OpenMode::kCreateNew);
  drive.fail_call(SimDiskCall::kWrite, 1, Code::kNoSpace);
  CHECK(test.write_and_sync(*file, 0, "data").code() == Code::kNoSpace);
  CHECK(drive.calls(SimDiskCall::kSync) == 0);
  CHECK(test.write_and_sync(*file, 0, "data").ok());
  CHECK(drive.calls(SimDiskCall::kSync) == 1);
  drive.fail_call(SimDiskCall::kSync, 1, Code::kIo);
  CHECK(test.write_and_sync(*file, 4, "more").code() == Code::kIo);
  CHECK(test.write_and_sync(*file, 4, "more").code() == Code::kIo);
  CHECK(test.preallocate(*file, 100).code() == Code::kIo);
  CHECK(drive.calls(SimDiskCall::kWrite) == 3);
}

TEST_CASE("room made beforehand is zeros, and a full drive cannot take it away") {
  DiskTest test(9);
  test.host.drive().options().capacity_bytes = 10;
  auto file = test.open("/d/f", OpenMode::kCreateNew);
  auto other = test.open("/d/g", OpenMode::kCreateNew);
  CHECK(test.append(*file, "ab").ok());
  CHECK(test.preallocate(*file, 11).code() == Code::kNoSpace);
  CHECK(test.content("/d/f") == "ab");
  CHECK(test.preallocate(*file, 6).ok());
  CHECK(test.preallocate(*file, 3).ok());  // it is longer already
  CHECK(test.content("/d/f") == std::string("ab\0\0\0\0", 6));
  CHECK(test.append(*other, "12345").code() == Code::kNoSpace);
  CHECK(test.write_and_sync(*file, 2, "cdef").ok());
  test.host.drive().options().crash_keeps = 0;
  CHECK(test.env.disk().remove("/d/g").ok());
  CHECK(test.env.disk().sync_directory("/d").ok());
  CHECK(test.preallocate(*file, 10).ok());
  file.reset();
  other.reset();
  test.host.drive().crash();
  CHECK(test.content("/d/f").starts_with("abcdef"));
  CHECK(test.content("/d/f").size() <= 10);
}

TEST_CASE("names: a tree goes with all in it, for good when the directory above is synced") {
  std::set<std::string> seen;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    DiskTest test(seed);
    Disk& disk = test.env.disk();
    REQUIRE(disk.make_directory("/d/sub/below").ok());
    test.open("/d/subtle", OpenMode::kCreateNew);
    test.open("/d/sub/f", OpenMode::kCreateNew);
    test.open("/d/sub/below/g", OpenMode::kCreateNew);
    for (const char* name : {"/d", "/d/sub", "/d/sub/below"}) {
      REQUIRE(disk.sync_directory(name).ok());
    }
    REQUIRE(disk.remove("/d/sub/f").ok());
    REQUIRE(disk.remove_tree("/d/sub").ok());
    REQUIRE(disk.remove_tree("/d/sub").ok());
    CHECK(disk.list("/d").value() == std::vector<std::string>{"subtle"});
    CHECK(disk.list("/d/sub").status().code() == Code::kNotFound);
    if (seed % 2 == 0) REQUIRE(disk.sync_directory("/d").ok());
    test.host.drive().crash();
    const std::string left = test.content("/d/sub/f") + test.content("/d/sub/below/g");
    if (seed % 2 == 0) {
      CHECK(left == "(none)(none)");
      CHECK(disk.list("/d").value() == std::vector<std::string>{"subtle"});
    } else {
      seen.insert(left);
    }
  }
  CHECK(seen == std::set<std::string>{"(none)(none)", "(none)", ""});
}

TEST_CASE("a file replaced survives a crash; one whose replacement failed is old or new") {
  std::set<std::string> failed;
  std::set<std::string> crashed;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    DiskTest test(seed);
    Disk& disk = test.env.disk();
    test.open("/d/f", OpenMode::kCreateNew);  // not durable, and replaced
    REQUIRE(disk.replace("/d/f", "older and longer").ok());
    REQUIRE(disk.replace("/d/f", "old").ok());
    test.host.drive().fail_call(SimDiskCall::kName, 1, Code::kIo);
    CHECK(disk.replace("/d/f", "new").code() == Code::kIo);
    failed.insert(test.content("/d/f"));
    if (seed % 2 == 0) {
      REQUIRE(disk.replace("/d/f", "newer").ok());
    }
    test.host.drive().crash();
    if (seed % 2 == 0) {
      CHECK(test.content("/d/f") == "newer");
    } else {
      crashed.insert(test.content("/d/f"));
    }
    CHECK(disk.replace("/d/f", "late").code() == Code::kClosed);  // of a process that has ended
  }
  CHECK(failed == std::set<std::string>{"new", "old"});
  CHECK(crashed == std::set<std::string>{"new", "old"});

  DiskTest test(1);
  CHECK(test.env.disk().replace("/none/f", "x").code() == Code::kNotFound);
  CHECK(test.env.disk().replace("/d/sub", "x").code() == Code::kIo);
  test.host.drive().options().capacity_bytes = 3;
  CHECK(test.env.disk().replace("/d/f", "four").code() == Code::kNoSpace);
  CHECK(test.env.disk().replace("/d/f", "six").ok());
}

}  // namespace sim_disk_test
