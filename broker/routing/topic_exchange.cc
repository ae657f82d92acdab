// Topic: keys are words between dots (the empty key has none, "a..b" has three, the second empty);
// in a binding key `*` stands for one word and `#` for any number of words.
//
// The binding keys form a trie, one node per word. A message walks all paths at once: the set of
// nodes that the words so far can reach moves on word by word (Thompson's simulation of a
// non-deterministic automaton). In a tree only a `#` node can be reached twice with the same words,
// by its own loop and from its parent, so only `#` nodes remember the step that reached them. The
// cost is bounded by words times nodes reached, however many `#` a key has.
#include <cstring>
#include <unordered_map>

#include "broker/routing/exchange.h"
#include "broker/runtime/check.h"
#include "broker/runtime/parted.h"

namespace ringtail::broker {

namespace {

using NodeId = std::uint32_t;
using WordId = std::uint32_t;

constexpr NodeId kRoot = 0;
constexpr std::uint32_t kNone = 0xFFFFFFFF;
constexpr WordId kStar = kNone - 1;
constexpr WordId kHash = kNone - 2;

// Calls `visit` with each word of a key until it answers false.
template <typename Visit>
void for_each_word(std::string_view key, Visit visit) {
  if (key.empty()) return;
  for (;;) {
    const void* dot = std::memchr(key.data(), '.', key.size());
    if (dot == nullptr) {
      visit(key);
      return;
    }
    const auto size = static_cast<std::size_t>(static_cast<const char*>(dot) - key.data());
    if (!visit(key.substr(0, size))) return;
    key.remove_prefix(size + 1);
    if (key.empty()) {
      visit(key);
      return;
    }
  }
}

// The words of all binding keys, each once, as numbers.
class Words {
 public:
  // kNone: no binding key has it.
  WordId find(std::string_view word) const {
    const Table& table = by_text_.of(TextHash()(word));
    const auto found = table.find(word);
    return found == table.end() ? kNone : found->second.id;
  }
  WordId acquire(std::string_view word) {
    const auto [found, added] = by_text_.of(TextHash()(word)).try_emplace(std::string(word));
    Word& known = found->second;
    if (added) {
      if (free_.empty()) {
        known.id = static_cast<WordId>(texts_.size());
        texts_.emplace_back();
      } else {
        known.id = free_.back();
        free_.pop_back();
      }
      texts_[known.id] = &found->first;
      by_text_.grown();
    }
    ++known.uses;
    return known.id;
  }
  void release(WordId id) {
    Table& table = by_text_.of(TextHash()(*texts_[id]));
    const auto found = table.find(*texts_[id]);
    if (--found->second.uses > 0) return;
    free_.push_back(id);
    table.erase(found);
  }

 private:
  struct Word {
    WordId id = kNone;
    std::uint32_t uses = 0;
  };
  using Table = std::unordered_map<std::string, Word, TextHash, std::equal_to<>>;
  runtime::Parted<Table> by_text_;
  runtime::Chunked<const std::string*> texts_;  // by id
  std::vector<WordId> free_;
};

// (parent, word) -> child: open addressing, linear probing, no tombstones.
class ChildTable {
 public:
  NodeId find(std::uint64_t key) const {
    if (slots_.empty()) return kNone;
    for (std::size_t at = home(key);; at = (at + 1) & mask()) {
      if (slots_[at].key == key) return slots_[at].child;
      if (slots_[at].key == kEmpty) return kNone;
    }
  }
  void insert(std::uint64_t key, NodeId child) {
    if ((size_ + 1) * 2 > slots_.size()) grow();
    ++size_;
    place(key, child);
  }
  void erase(std::uint64_t key) {
    std::size_t hole = home(key);
    while (slots_[hole].key != key) hole = (hole + 1) & mask();
    --size_;
    // Closes the gap: whatever follows and may not stay behind it moves into it.
    for (std::size_t at = (hole + 1) & mask(); slots_[at].key != kEmpty; at = (at + 1) & mask()) {
      const std::size_t wanted = home(slots_[at].key);
      if (((at - wanted) & mask()) < ((at - hole) & mask())) continue;
      slots_[hole] = slots_[at];
      hole = at;
    }
    slots_[hole].key = kEmpty;
    if (size_ == 0) slots_ = {};
  }
  std::size_t size() const { return size_; }
  template <typename Visit>
  void for_each(const Visit& visit) const {
    for (const Slot& slot : slots_) {
      if (slot.key != kEmpty) visit(slot.key, slot.child);
    }
  }
  static std::uint64_t mix(std::uint64_t key) {
    return (key ^ (key >> 29)) * 0x9E3779B97F4A7C15ULL;
  }

 private:
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};
  struct Slot {
    std::uint64_t key = kEmpty;
    NodeId child = kNone;
  };
  std::size_t mask() const { return slots_.size() - 1; }
  std::size_t home(std::uint64_t key) const {
    return static_cast<std::size_t>(mix(key) >> 32) & mask();
  }
  void place(std::uint64_t key, NodeId child) {
    std::size_t at = home(key);
    while (slots_[at].key != kEmpty) at = (at + 1) & mask();
    slots_[at] = {key, child};
  }
  void grow() {
    std::vector<Slot> old(slots_.empty() ? 8 : slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.key != kEmpty) place(slot.key, slot.child);
    }
  }

  std::vector<Slot> slots_;  // a power of two of them, or none
  std::size_t size_ = 0;
};

// All children of a trie, in parts as runtime::Parted has them and for its reason.
class Children {
 public:
  NodeId find(NodeId parent, WordId word) const {
    const std::uint64_t key = key_of(parent, word);
    return of(key).find(key);
  }
  void insert(NodeId parent, WordId word, NodeId child) {
    if (parts_.empty() && whole_.size() == kWholeMax) [[unlikely]]
      split();
    const std::uint64_t key = key_of(parent, word);
    of(key).insert(key, child);
  }
  void erase(NodeId parent, WordId word) {
    const std::uint64_t key = key_of(parent, word);
    of(key).erase(key);
  }

 private:
  static constexpr std::size_t kWholeMax = 4096;
  static constexpr std::size_t kParts = 256;

  static std::uint64_t key_of(NodeId parent, WordId word) {
    return std::uint64_t{parent} << 32 | word;
  }
  ChildTable& of(std::uint64_t key) {
    return parts_.empty() ? whole_ : parts_[ChildTable::mix(key) >> 56];
  }
  const ChildTable& of(std::uint64_t key) const {
    return parts_.empty() ? whole_ : parts_[ChildTable::mix(key) >> 56];
  }
  void split() {
    parts_.resize(kParts);
    whole_.for_each([this](std::uint64_t key, NodeId child) { of(key).insert(key, child); });
    whole_ = {};
  }

  ChildTable whole_;
  std::vector<ChildTable> parts_;  // in the place of the whole, or none
};

struct Node {
  NodeId parent = kNone;
  WordId word = kNone;  // that leads here from the parent
  NodeId star = kNone;
  NodeId hash = kNone;
  std::uint32_t words = 0;               // children by a word
  mutable std::uint64_t reached_at = 0;  // of `#` nodes: the step that reached it last
  TargetSet targets;

  bool useless() const { return targets.empty() && words == 0 && star == kNone && hash == kNone; }
};

class TopicIndex : public BindingIndex {
 public:
  TopicIndex() { nodes_.emplace_back(); }

  void add(std::string_view key, std::string_view, const Target& target) override {
    NodeId node = kRoot;
    normalise(key);
    for (const std::string_view word : pattern_) node = child_to_be(node, word);
    nodes_[node].targets.add(target);
  }

  void remove(std::string_view key, std::string_view, const Target& target) override {
    NodeId node = kRoot;
    normalise(key);
    for (const std::string_view word : pattern_) {
      node = child(node, word);
      RT_CHECK(node != kNone, "a binding is removed that was never added");
    }
    nodes_[node].targets.remove(target);
    while (node != kRoot && nodes_[node].useless()) {
      const NodeId parent = nodes_[node].parent;
      drop(node);
      node = parent;
    }
  }

  void match(const Routable& message, Matches& matches) const override {
    for_each_key(message, [this, &matches](std::string_view key) { match_key(key, matches); });
  }

 private:
  // A run of `*` and `#` matches at least as many words as it has `*`, in whatever order they
  // stand: the words of the pattern with the `*` first and one `#` at most, so that equal patterns
  // share nodes.
  void normalise(std::string_view key) {
    pattern_.clear();
    bool open = false;
    for_each_word(key, [this, &open](std::string_view word) {
      if (word == "#") {
        open = true;
        return true;
      }
      if (word != "*" && open) {
        pattern_.push_back("#");
        open = false;
      }
      pattern_.push_back(word);
      return true;
    });
    if (open) pattern_.push_back("#");
  }

  NodeId child(NodeId node, std::string_view word) const {
    if (word == "*") return nodes_[node].star;
    if (word == "#") return nodes_[node].hash;
    const WordId id = words_.find(word);
    return id == kNone ? kNone : children_.find(node, id);
  }

  NodeId child_to_be(NodeId parent, std::string_view word) {
    const NodeId known = child(parent, word);
    if (known != kNone) return known;
    NodeId node = static_cast<NodeId>(nodes_.size());
    if (free_.empty()) {
      nodes_.emplace_back();
    } else {
      node = free_.back();
      free_.pop_back();
    }
    nodes_[node].parent = parent;
    if (word == "*") {
      nodes_[node].word = kStar;
      nodes_[parent].star = node;
    } else if (word == "#") {
      nodes_[node].word = kHash;
      nodes_[parent].hash = node;
    } else {
      nodes_[node].word = words_.acquire(word);
      children_.insert(parent, nodes_[node].word, node);
      ++nodes_[parent].words;
    }
    return node;
  }

  void drop(NodeId node) {
    Node& parent = nodes_[nodes_[node].parent];
    const WordId word = nodes_[node].word;
    if (word == kStar) {
      parent.star = kNone;
    } else if (word == kHash) {
      parent.hash = kNone;
    } else {
      children_.erase(nodes_[node].parent, word);
      words_.release(word);
      --parent.words;
    }
    nodes_[node] = Node();
    free_.push_back(node);
  }

  void match_key(std::string_view key, Matches& matches) const {
    reached_.clear();
    ++step_;
    enter(kRoot);
    for_each_word(key, [this](std::string_view word) {
      advance(word);
      return !reached_.empty();
    });
    for (const NodeId node : reached_) nodes_[node].targets.reach_all(matches);
  }

  // One word further: from the nodes reached to those that the word leads to.
  void advance(std::string_view word) const {
    left_.swap(reached_);
    reached_.clear();
    ++step_;
    WordId id = kNone;
    bool looked_up = false;
    for (const NodeId from : left_) {
      const Node& node = nodes_[from];
      if (node.words > 0) {
        if (!looked_up) {
          id = words_.find(word);
          looked_up = true;
        }
        const NodeId next = id == kNone ? kNone : children_.find(from, id);
        if (next != kNone) enter(next);
      }
      if (node.star != kNone) enter(node.star);
      if (node.word == kHash) enter_hash(from);
    }
  }

  void enter(NodeId node) const {
    reached_.push_back(node);
    if (nodes_[node].hash != kNone) enter_hash(nodes_[node].hash);
  }

  void enter_hash(NodeId node) const {
    if (nodes_[node].reached_at == step_) return;
    nodes_[node].reached_at = step_;
    reached_.push_back(node);
  }

  runtime::Chunked<Node> nodes_;
  std::vector<NodeId> free_;
  Words words_;
  Children children_;

  // Of the call that is running; kept for their memory.
  std::vector<std::string_view> pattern_;
  mutable std::vector<NodeId> reached_;
  mutable std::vector<NodeId> left_;
  mutable std::uint64_t step_ = 0;
};

}  // namespace

std::unique_ptr<BindingIndex> make_topic_index(const ExchangeRecord&) {
  return std::make_unique<TopicIndex>();
}

}  // namespace ringtail::broker
