#include "broker/runtime/parted.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace parted_test {

using namespace ringtail::runtime;

TEST_CASE("a table in parts finds what a whole one would, and its elements stay where they are") {
  using Table = std::unordered_map<int, int>;
  Parted<Table> parted;
  const std::hash<int> hash;
  CHECK(parted.empty());
  parted.of(hash(7)).emplace(7, 70);
  parted.grown();
  const int* place = &parted.of(hash(7)).find(7)->second;
  for (int i = 0; i < 20000; ++i) {
    parted.of(hash(i)).emplace(i, 10 * i);
    parted.grown();
  }
  CHECK(parted.size() == 20000);
  int parts = 0;
  std::size_t largest = 0;
  parted.for_each_part([&](const Table& part) {
    ++parts;
    largest = std::max(largest, part.size());
  });
  CHECK(parts == 256);
  CHECK(largest < 20000 / 256 * 2);  // plain numbers spread, too
  for (int i = 0; i < 20000; ++i) CHECK(parted.of(hash(i)).at(i) == 10 * i);
  CHECK(&parted.of(hash(7)).find(7)->second == place);
  for (int i = 0; i < 20000; ++i) parted.of(hash(i)).erase(i);
  CHECK(parted.empty());
}

TEST_CASE("a set in parts, of what cannot be copied") {
  struct Hash {
    std::size_t operator()(const std::unique_ptr<int>& value) const noexcept {
      return static_cast<std::size_t>(*value);
    }
  };
  struct Equal {
    bool operator()(const std::unique_ptr<int>& a, const std::unique_ptr<int>& b) const noexcept {
      return *a == *b;
    }
  };
  Parted<std::unordered_set<std::unique_ptr<int>, Hash, Equal>> parted;
  for (int i = 0; i < 5000; ++i) {
    parted.of(static_cast<std::size_t>(i)).insert(std::make_unique<int>(i));
    parted.grown();
  }
  const auto wanted = std::make_unique<int>(4321);
  CHECK(parted.of(4321).contains(wanted));
  CHECK(parted.size() == 5000);
}

TEST_CASE("a chunked vector does not move what it holds") {
  Chunked<std::string> chunked;
  chunked.emplace_back() = "first";
  const std::string* place = &chunked[0];
  for (std::size_t i = 1; i < 1000; ++i) chunked.emplace_back() = std::to_string(i);
  CHECK(chunked.size() == 1000);
  CHECK(&chunked[0] == place);
  CHECK(chunked[0] == "first");
  CHECK(chunked[999] == "999");
}

}  // namespace parted_test
