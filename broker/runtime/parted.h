// A large hash table in parts. A hash table that grows moves all that it holds at once: with a
// million elements that is a tenth of a second in which its shard does nothing else. In 256 parts,
// each grows by itself, a 256th at a time. A small table stays in one part and costs what it did.
//
// Table: a std::unordered_map or _set. Callers find the part by the hash that the table's own hash
// function gives, and work on that.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ringtail::runtime {

template <typename Table>
class Parted {
 public:
  Parted() : parts_(1) {}

  // Where an element with this hash is, if it is anywhere.
  Table& of(std::size_t hash) { return parts_[at(hash)]; }
  const Table& of(std::size_t hash) const { return parts_[at(hash)]; }
  // After an element was added: elements stay where they are, iterators do not.
  void grown() {
    if (parts_.size() == 1 && parts_[0].size() > kWholeMax) [[unlikely]]
      split();
  }

  template <typename Visit>
  void for_each_part(const Visit& visit) const {
    for (const Table& part : parts_) visit(part);
  }
  bool empty() const {
    for (const Table& part : parts_) {
      if (!part.empty()) return false;
    }
    return true;
  }
  std::size_t size() const {
    std::size_t sum = 0;
    for (const Table& part : parts_) sum += part.size();
    return sum;
  }

 private:
  static constexpr std::size_t kWholeMax = 4096;
  static constexpr std::size_t kParts = 256;

  // The tables use the low bits; these are the high ones of the product, so that hashes that are
  // plain numbers spread, too.
  std::size_t at(std::size_t hash) const {
    return parts_.size() == 1 ? 0 : (hash * 0x9E3779B97F4A7C15ULL) >> 56;
  }
  void split() {
    Table whole = std::move(parts_[0]);
    parts_ = std::vector<Table>(kParts);
    const auto hash = whole.hash_function();
    while (!whole.empty()) {
      auto node = whole.extract(whole.begin());
      std::size_t value = 0;
      if constexpr (requires { node.key(); }) {
        value = hash(node.key());
      } else {
        value = hash(node.value());
      }
      parts_[at(value)].insert(std::move(node));
    }
  }

  std::vector<Table> parts_;
};

// Things by name, in parts. The names are not copied: they are those that the things themselves
// hold.
template <typename Thing>
class NameMap {
 public:
  // Null when there is none.
  Thing* find(std::string_view name) const {
    const Table& part = parts_.of(hash(name));
    const auto found = part.find(name);
    return found == part.end() ? nullptr : found->second.get();
  }
  // There is none of that name.
  void add(std::string_view name, std::unique_ptr<Thing> thing) {
    parts_.of(hash(name)).emplace(name, std::move(thing));
    parts_.grown();
    ++size_;
  }
  // There is one.
  void remove(std::string_view name) {
    Table& part = parts_.of(hash(name));
    part.erase(part.find(name));
    --size_;
  }
  // The same name has moved to where `name` lies. Before the old text goes.
  void move_name(std::string_view name) {
    Table& part = parts_.of(hash(name));
    auto node = part.extract(name);
    node.key() = name;
    part.insert(std::move(node));
  }
  std::size_t size() const { return size_; }
  // In no order that may matter.
  template <typename Visit>
  void for_each(const Visit& visit) const {
    parts_.for_each_part([&visit](const Table& part) {
      for (const auto& [name, thing] : part) visit(*thing);
    });
  }

 private:
  using Table = std::unordered_map<std::string_view, std::unique_ptr<Thing>>;
  static std::size_t hash(std::string_view name) { return std::hash<std::string_view>()(name); }

  Parted<Table> parts_;
  std::size_t size_ = 0;
};

// A vector that grows without moving what it holds.
template <typename Element>
class Chunked {
 public:
  Element& operator[](std::size_t index) { return chunks_[index / kChunk][index % kChunk]; }
  const Element& operator[](std::size_t index) const {
    return chunks_[index / kChunk][index % kChunk];
  }
  std::size_t size() const { return size_; }
  Element& emplace_back() {
    if (size_ == chunks_.size() * kChunk) chunks_.push_back(std::make_unique<Element[]>(kChunk));
    return (*this)[size_++];
  }

 private:
  static constexpr std::size_t kChunk = 32;
  std::vector<std::unique_ptr<Element[]>> chunks_;
  std::size_t size_ = 0;
};

}  // namespace ringtail::runtime
