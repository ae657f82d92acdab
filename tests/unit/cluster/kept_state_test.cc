#include "cluster/metadata/kept_state.h"

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <string>

#include "tests/unit/cluster/saved_fixture.h"

namespace kept_state_test {

using namespace ringtail;
using namespace ringtail::cluster::metadata;

namespace {

std::string text_of(const KeptList& list) {
  runtime::BytesChain chain;
  list.append_to(chain);
  return flat(chain);
}

std::string text_of(const std::map<std::uint64_t, std::string>& model) {
  std::string text;
  for (const auto& [key, value] : model) text += value;
  return text;
}

// A store that a snapshot of another makes.
std::string restored(const runtime::BytesChain& snapshot) {
  auto state = decode_state(flat(snapshot));
  REQUIRE(state.ok());
  Store store;
  store.restore(state.value());
  return ringtail::cluster::metadata::text_of(store);
}

}  // namespace

TEST_CASE("a list keeps records in the order of their keys, and a copy of it stays as it is") {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    KeptList list;
    std::map<std::uint64_t, std::string> model;
    runtime::BytesChain copy;
    std::string copied;
    std::uint64_t last = 1000;
    for (int step = 0; step < 2000; ++step) {
      const std::uint64_t known = 1000 + random() % (last - 999);
      const std::string value(1 + random() % 3000, static_cast<char>('a' + random() % 26));
      switch (random() % (step < 1000 ? 4 : 8)) {
        case 0:
        case 1:
          list.put(++last, value);
          model[last] = value;
          break;
        case 2: {  // in place of another, or between others
          list.put(known, value);
          model[known] = value;
          break;
        }
        default:
          list.remove(known);
          model.erase(known);
          break;
      }
      if (random() % 100 == 0) {
        CHECK(flat(copy) == copied);
        copy = {};
        list.append_to(copy);
        copied = text_of(model);
        REQUIRE(flat(copy) == copied);
      }
    }
  }
}

TEST_CASE("the pieces of a list follow what is in it, not what was") {
  KeptList list;
  for (std::uint64_t key = 1; key <= 10'000; ++key) list.put(key, std::string(100, 'x'));
  CHECK(list.pieces() < 100);
  for (std::uint64_t key = 1; key <= 10'000; ++key) {
    if (key % 100 != 0) list.remove(key);
  }
  CHECK(list.size() == 100);
  CHECK(list.pieces() < 5);
  CHECK(list.find(200) == std::string(100, 'x'));
  CHECK(list.find(201).empty());
  for (std::uint64_t key = 1; key <= 10'000; ++key) list.remove(key);
  CHECK(list.pieces() == 0);
}

TEST_CASE("a record larger than a piece has one of its own") {
  KeptList list;
  list.put(1, "a");
  list.put(2, std::string(100'000, 'b'));
  list.put(3, "c");
  list.put(2, std::string(70'000, 'd'));
  CHECK(text_of(list) == "a" + std::string(70'000, 'd') + "c");
}

TEST_CASE("a snapshot is what the store knows, and stays so") {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    Store store;
    KeptState kept(store);
    runtime::BytesChain snapshot;
    std::string then;
    for (int step = 0; step < 1500; ++step) {
      store.apply(random_command(random, store));
      if (random() % 150 != 0) continue;
      if (!then.empty()) REQUIRE(restored(snapshot) == then);
      snapshot = kept.snapshot(7);
      then = ringtail::cluster::metadata::text_of(store);
      REQUIRE(restored(snapshot) == then);
      REQUIRE(decode_state(flat(snapshot)).value().index == 7);
    }
  }
}

TEST_CASE("a store that has become another's snapshot has one of its own") {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    Store store;
    Store behind;
    KeptState kept(behind);
    for (int step = 0; step < 300; ++step) {
      const Command command = random_command(random, store);
      store.apply(command);
      if (step < 100) behind.apply(command);
    }
    behind.restore(store.save());
    for (int step = 0; step < 100; ++step) behind.apply(random_command(random, behind));
    REQUIRE(restored(kept.snapshot(1)) == ringtail::cluster::metadata::text_of(behind));
  }
}

TEST_CASE("a store that was there before has its records kept too") {
  std::mt19937 random(5);
  Store store;
  for (int step = 0; step < 500; ++step) store.apply(random_command(random, store));
  KeptState kept(store);
  CHECK(restored(kept.snapshot(1)) == ringtail::cluster::metadata::text_of(store));
}

}  // namespace kept_state_test
