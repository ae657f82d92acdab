// Files and directories through libuv.
#include "broker/runtime/uv/uv_disk.h"

#include <doctest/doctest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "broker/runtime/bytes.h"
#include "tests/unit/runtime/uv_fixture.h"

namespace uv_disk_test {

using namespace ringtail::runtime;

namespace {

struct Scratch {
  Scratch() {
    char pattern[] = "/tmp/ringtail-disk-XXXXXX";
    path = mkdtemp(pattern);
  }
  ~Scratch() { std::filesystem::remove_all(path); }
  std::string file(const std::string& name) const { return path + "/" + name; }
  std::string path;
};

// A request with its own memory.
struct Asked : DiskRequest {
  Asked() {
    done = [this](const Status& given) {
      ++calls;
      status = given;
      if (order != nullptr) order->push_back(number);
    };
  }
  Asked(const Asked&) = delete;
  Asked& operator=(const Asked&) = delete;
  Asked& write(std::string what, std::uint64_t at = 0) {
    text = std::move(what);
    content = as_bytes(text);
    offset = at;
    return *this;
  }
  Asked& read(std::size_t size, std::uint64_t at = 0) {
    text.assign(size, '?');
    buffer = {reinterpret_cast<std::uint8_t*>(text.data()), size};
    offset = at;
    return *this;
  }
  std::string got() const { return text.substr(0, transferred); }

  std::string text;
  Status status;
  int calls = 0;
  int number = 0;
  std::vector<int>* order = nullptr;
};

std::unique_ptr<File> open(UvFixture& uv, const std::string& path, OpenMode mode) {
  auto file = uv.env().disk().open(path, mode);
  REQUIRE_MESSAGE(file.ok(), file.status().text());
  return std::move(file).value();
}

void wait(UvFixture& uv, const Asked& asked) {
  uv.run_until([&] { return asked.calls > 0; });
  CHECK(asked.calls == 1);
}

}  // namespace

TEST_CASE("disk: append, write, sync, read, in the order they were asked") {
  UvFixture uv;
  const Scratch scratch;
  const auto file = open(uv, scratch.file("a"), OpenMode::kCreateNew);
  std::vector<int> order;
  std::vector<std::unique_ptr<Asked>> asked;
  const auto next = [&]() -> Asked& {
    asked.push_back(std::make_unique<Asked>());
    asked.back()->number = static_cast<int>(asked.size());
    asked.back()->order = &order;
    return *asked.back();
  };
  file->append(next().write("hello "));
  file->append(next().write("wurld"));
  file->sync(next());
  file->write_at(next().write("o", 7));
  Asked& read = next().read(100);
  file->read_at(read);
  file->append(next().write("!"));
  CHECK(order.empty());
  CHECK(file->size() == 0);
  uv.run_until([&] { return order.size() == 6; });
  CHECK(order == std::vector<int>{1, 2, 3, 4, 5, 6});
  for (const auto& each : asked) CHECK_MESSAGE(each->status.ok(), each->status.text());
  CHECK(read.got() == "hello world");
  CHECK(file->size() == 12);
  Asked part;
  file->read_at(part.read(3, 4));
  wait(uv, part);
  CHECK(part.got() == "o w");
  Asked beyond;
  file->read_at(beyond.read(3, 50));
  wait(uv, beyond);
  CHECK(beyond.status.ok());
  CHECK(beyond.transferred == 0);
}

TEST_CASE("disk: many appends without waiting, and a file opened again") {
  UvFixture uv;
  const Scratch scratch;
  std::string expected;
  {
    const auto file = open(uv, scratch.file("a"), OpenMode::kCreateNew);
    std::vector<std::unique_ptr<Asked>> asked;
    for (int i = 0; i < 200; ++i) {
      asked.push_back(std::make_unique<Asked>());
      expected += std::to_string(i) + ",";
      file->append(asked.back()->write(std::to_string(i) + ","));
      if (i % 10 == 0) {
        asked.push_back(std::make_unique<Asked>());
        file->sync(*asked.back());
      }
    }
    wait(uv, *asked.back());
  }
  const auto file = open(uv, scratch.file("a"), OpenMode::kReadWrite);
  CHECK(file->size() == expected.size());
  Asked all;
  file->read_at(all.read(expected.size() + 10));
  wait(uv, all);
  CHECK(all.got() == expected);
}

TEST_CASE("disk: a read waits for the write before it") {
  UvFixture uv;
  const Scratch scratch;
  const auto file = open(uv, scratch.file("a"), OpenMode::kCreateNew);
  constexpr std::size_t kLarge = 16 * 1024 * 1024;
  Asked write;
  Asked read;
  file->append(write.write(std::string(kLarge, 'w')));
  file->read_at(read.read(4, kLarge - 4));
  wait(uv, read);
  CHECK(read.got() == "wwww");
}

TEST_CASE("disk: the last done may destroy the file") {
  UvFixture uv;
  const Scratch scratch;
  auto file = open(uv, scratch.file("a"), OpenMode::kCreateNew);
  Asked asked;
  bool destroyed = false;
  asked.done = [&](const Status&) {
    file.reset();
    destroyed = true;
  };
  file->append(asked.write("x"));
  uv.run_until([&] { return destroyed; });
}

TEST_CASE("disk: a full disk is told as such") {
  UvFixture uv;
  const auto file = open(uv, "/dev/full", OpenMode::kReadWrite);
  Asked asked;
  file->append(asked.write("x"));
  CHECK(asked.calls == 0);
  wait(uv, asked);
  CHECK(asked.status.code() == Code::kNoSpace);
  CHECK(asked.status.text().find("/dev/full") != std::string::npos);
  CHECK(file->size() == 0);
}

TEST_CASE("disk: after a failed sync nothing more is written") {
  UvFixture uv;
  const auto file = open(uv, "/dev/null", OpenMode::kReadWrite);  // takes writes, cannot be synced
  Asked write;
  file->append(write.write("x"));
  wait(uv, write);
  CHECK(write.status.ok());
  Asked sync;
  Asked queued;
  file->sync(sync);
  file->append(queued.write("y"));
  wait(uv, queued);
  CHECK(sync.calls == 1);
  CHECK_FALSE(sync.status.ok());
  CHECK(queued.status.text() == sync.status.text());
  Asked later;
  file->write_at(later.write("z"));
  CHECK(later.calls == 0);
  wait(uv, later);
  CHECK(later.status.text() == sync.status.text());
  Asked again;
  file->sync(again);
  wait(uv, again);
  CHECK_FALSE(again.status.ok());
  Asked read;
  file->read_at(read.read(1));
  wait(uv, read);
  CHECK(read.status.ok());
}

TEST_CASE("disk: names and directories") {
  UvFixture uv;
  const Scratch scratch;
  Disk& disk = uv.env().disk();
  const std::string directory = scratch.file("x/y/z");
  CHECK(disk.make_directory(directory).ok());
  CHECK(disk.make_directory(directory).ok());
  for (const char* name : {"b", "a", "c"}) open(uv, directory + "/" + name, OpenMode::kCreateNew);
  CHECK(disk.list(directory).value() == std::vector<std::string>{"a", "b", "c"});
  CHECK(disk.open(directory + "/a", OpenMode::kCreateNew).status().code() == Code::kExists);
  CHECK(disk.open(directory + "/d", OpenMode::kReadWrite).status().code() == Code::kNotFound);
  CHECK(disk.open(directory + "/d", OpenMode::kRead).status().code() == Code::kNotFound);
  CHECK(disk.rename(directory + "/b", directory + "/e").ok());
  CHECK(disk.remove(directory + "/a").ok());
  CHECK(disk.sync_directory(directory).ok());
  CHECK(disk.list(directory).value() == std::vector<std::string>{"c", "e"});
  CHECK(disk.remove(directory + "/a").code() == Code::kNotFound);
  CHECK(disk.rename(directory + "/a", directory + "/f").code() == Code::kNotFound);
  CHECK(disk.list(directory + "/a").status().code() == Code::kNotFound);
  CHECK(disk.sync_directory(directory + "/a").code() == Code::kNotFound);
  CHECK_FALSE(disk.make_directory(directory + "/c/below").ok());
  CHECK(disk.free_bytes(directory).value() > 0);
  CHECK(disk.free_bytes(directory + "/a").status().code() == Code::kNotFound);
}

TEST_CASE("disk: a write with its sync, in its turn") {
  UvFixture uv;
  const Scratch scratch;
  const auto file = open(uv, scratch.file("a"), OpenMode::kCreateNew);
  std::vector<int> order;
  Asked asked[4];
  for (int i = 0; i < 4; ++i) {
    asked[i].number = i;
    asked[i].order = &order;
  }
  file->append(asked[0].write("hello wurld"));
  file->write_at_and_sync(asked[1].write("o", 7));
  file->read_at(asked[2].read(100));
  file->append(asked[3].write("!"));
  CHECK(order.empty());
  uv.run_until([&] { return order.size() == 4; });
  CHECK(order == std::vector<int>{0, 1, 2, 3});
  for (const Asked& each : asked) CHECK_MESSAGE(each.status.ok(), each.status.text());
  CHECK(asked[1].transferred == 1);
  CHECK(asked[2].got() == "hello world");
  CHECK(file->size() == 12);
  constexpr std::size_t kLarge = 8 * 1024 * 1024;
  Asked large;
  Asked end;
  file->write_at_and_sync(large.write(std::string(kLarge, 'w'), 12));
  file->read_at(end.read(100, kLarge + 8));
  wait(uv, end);
  CHECK(large.transferred == kLarge);
  CHECK(end.got() == "wwww");
  CHECK(file->size() == kLarge + 12);
}

TEST_CASE("disk: a write with its sync: a failed write may be tried again, a failed sync may not") {
  UvFixture uv;
  const auto full = open(uv, "/dev/full", OpenMode::kReadWrite);
  for (int i = 0; i < 2; ++i) {
    Asked asked;
    full->write_at_and_sync(asked.write("x"));
    CHECK(asked.calls == 0);
    wait(uv, asked);
    CHECK(asked.status.code() == Code::kNoSpace);
    CHECK(asked.status.text().find("cannot write /dev/full") == 0);
    CHECK(full->size() == 0);
  }
  const auto null = open(uv, "/dev/null", OpenMode::kReadWrite);
  Asked asked;
  Asked queued;
  null->write_at_and_sync(asked.write("x"));
  null->append(queued.write("y"));
  wait(uv, queued);
  CHECK(asked.status.text().find("cannot sync /dev/null") == 0);
  CHECK(asked.transferred == 1);
  CHECK(queued.status.text() == asked.status.text());
  CHECK(queued.transferred == 0);
}

TEST_CASE("disk: room made beforehand is zeros that are on the disk") {
  UvFixture uv;
  const Scratch scratch;
  const auto file = open(uv, scratch.file("a"), OpenMode::kCreateNew);
  constexpr std::size_t kSize = 1024 * 1024 + 3;
  Asked write;
  Asked room;
  Asked less;
  Asked read;
  file->append(write.write("abc"));
  room.offset = kSize;
  file->preallocate(room);
  less.offset = 10;
  file->preallocate(less);
  file->read_at(read.read(kSize + 1));
  wait(uv, read);
  CHECK(room.status.ok());
  CHECK(less.status.ok());
  CHECK(file->size() == kSize);
  CHECK(read.got() == "abc" + std::string(kSize - 3, '\0'));
  struct stat facts {};
  REQUIRE(::stat(scratch.file("a").c_str(), &facts) == 0);
  CHECK(facts.st_blocks * 512 >= static_cast<long>(kSize));
}

TEST_CASE("disk: room that cannot be made is refused, and nothing changes") {
  UvFixture uv;
  const auto file = open(uv, "/dev/full", OpenMode::kReadWrite);
  Asked room;
  room.offset = 100;
  file->preallocate(room);
  wait(uv, room);
  CHECK_FALSE(room.status.ok());
  CHECK(room.status.text().find("cannot make room for /dev/full") == 0);
  CHECK(file->size() == 0);
}

TEST_CASE("disk: a tree is removed with all in it") {
  UvFixture uv;
  const Scratch scratch;
  Disk& disk = uv.env().disk();
  CHECK(disk.make_directory(scratch.file("x/y")).ok());
  open(uv, scratch.file("x/a"), OpenMode::kCreateNew);
  open(uv, scratch.file("x/y/b"), OpenMode::kCreateNew);
  CHECK(disk.remove_tree(scratch.file("x")).ok());
  CHECK(disk.list(scratch.path).value().empty());
  CHECK(disk.remove_tree(scratch.file("x")).ok());
}

TEST_CASE("disk: a file replaced is the new one, whole, with nothing beside it") {
  UvFixture uv;
  const Scratch scratch;
  Disk& disk = uv.env().disk();
  const std::string path = scratch.file("state");
  CHECK(disk.replace(path, "first, and longer").ok());
  const auto before = open(uv, path, OpenMode::kRead);
  CHECK(disk.replace(path, "second").ok());
  CHECK(disk.list(scratch.path).value() == std::vector<std::string>{"state"});
  const auto after = open(uv, path, OpenMode::kRead);
  Asked read;
  after->read_at(read.read(100));
  wait(uv, read);
  CHECK(read.got() == "second");
  // Who has the old one open reads the old one: nothing is written over.
  Asked old;
  before->read_at(old.read(100));
  wait(uv, old);
  CHECK(old.got() == "first, and longer");
  CHECK(disk.replace(path, "").ok());
  CHECK(open(uv, path, OpenMode::kRead)->size() == 0);
  // What an earlier attempt left is no obstacle.
  open(uv, path + ".new", OpenMode::kCreateNew);
  CHECK(disk.replace(path, "third").ok());
  CHECK(disk.list(scratch.path).value() == std::vector<std::string>{"state"});

  const std::string missing = scratch.file("none/state");
  CHECK(disk.replace(missing, "x").code() == Code::kNotFound);
  CHECK(disk.replace(missing, "x").text().find(missing) != std::string::npos);
  REQUIRE(disk.make_directory(scratch.file("directory")).ok());
  CHECK_FALSE(disk.replace(scratch.file("directory"), "x").ok());
  CHECK(disk.list(scratch.path).value() == std::vector<std::string>{"directory", "state"});
}

}  // namespace uv_disk_test
