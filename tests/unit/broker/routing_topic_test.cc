#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "tests/unit/broker/routing_fixture.h"

namespace routing_topic_test {

using namespace ringtail;
using namespace ringtail::broker;
using Names = Routes::Names;

namespace {

std::vector<std::string> split(const std::string& key) {
  std::vector<std::string> words;
  if (key.empty()) return words;
  std::string word;
  for (const char c : key) {
    if (c == '.') {
      words.push_back(word);
      word.clear();
    } else {
      word += c;
    }
  }
  words.push_back(word);
  return words;
}

// The rule itself, without any thought of cost.
bool matches(const std::vector<std::string>& pattern, std::size_t p,
             const std::vector<std::string>& key, std::size_t k) {
  if (p == pattern.size()) return k == key.size();
  if (pattern[p] == "#") {
    for (std::size_t skip = k; skip <= key.size(); ++skip) {
      if (matches(pattern, p + 1, key, skip)) return true;
    }
    return false;
  }
  if (k == key.size()) return false;
  return (pattern[p] == "*" || pattern[p] == key[k]) && matches(pattern, p + 1, key, k + 1);
}
bool matches(const std::string& pattern, const std::string& key) {
  return matches(split(pattern), 0, split(key), 0);
}

bool routed(const std::string& pattern, const std::string& key) {
  Routes routes;
  routes.queue("q");
  routes.bind("amq.topic", "q", pattern);
  const bool result = !routes.route("amq.topic", key).empty();
  CHECK(result == matches(pattern, key));
  routes.unbind("amq.topic", "q", pattern);
  CHECK(routes.route("amq.topic", key).empty());
  return result;
}

}  // namespace

TEST_CASE("topic patterns") {
  CHECK(routed("a.b.c", "a.b.c"));
  CHECK_FALSE(routed("a.b.c", "a.b"));
  CHECK_FALSE(routed("a.b", "a.b.c"));
  CHECK(routed("a.*.c", "a.b.c"));
  CHECK_FALSE(routed("a.*.c", "a.c"));
  CHECK(routed("*", "a"));
  CHECK_FALSE(routed("*", "a.b"));
  CHECK_FALSE(routed("*", ""));
  CHECK(routed("#", ""));
  CHECK(routed("#", "a.b.c"));
  CHECK(routed("a.#", "a"));
  CHECK(routed("a.#", "a.b.c"));
  CHECK_FALSE(routed("a.#", "b"));
  CHECK(routed("#.c", "c"));
  CHECK(routed("#.c", "a.c.c"));
  CHECK_FALSE(routed("#.c", "a.c.d"));
  CHECK(routed("a.#.b", "a.b"));
  CHECK(routed("a.#.b", "a.x.b.b"));
  CHECK(routed("#.#", ""));
  CHECK(routed("#.*", "a"));
  CHECK_FALSE(routed("#.*", ""));
  CHECK(routed("*.#.*", "a.b"));
  CHECK_FALSE(routed("*.#.*", "a"));
  CHECK(routed("#.a.#", "a"));
  CHECK_FALSE(routed("*a.#b", "xa.xb"));
  CHECK(routed("*a.#b", "*a.#b"));
}

TEST_CASE("empty words are words") {
  CHECK(routed("", ""));
  CHECK_FALSE(routed("", "a"));
  CHECK_FALSE(routed(".", ""));
  CHECK(routed(".", "."));
  CHECK(routed("a..b", "a..b"));
  CHECK(routed("a.*.b", "a..b"));
  CHECK(routed("*.*", "."));
  CHECK_FALSE(routed("*", "."));
  CHECK(routed("a.", "a."));
  CHECK_FALSE(routed("a.", "a"));
  CHECK(routed("*.", "a."));
  CHECK(routed(".*", ".a"));
  CHECK(routed(".#", "."));
}

TEST_CASE("wildcards in a routing key are plain words") {
  CHECK(routed("*", "*"));
  CHECK(routed("#", "#"));
  CHECK_FALSE(routed("a", "*"));
  CHECK_FALSE(routed("a.b", "#"));
}

TEST_CASE("a deep pattern of many # ends at once") {
  Routes routes;
  routes.queue("yes");
  routes.queue("no");
  std::string pattern = "#";
  for (int i = 0; i < 60; ++i) pattern += ".a.#";
  routes.bind("amq.topic", "no", pattern + ".b");
  routes.bind("amq.topic", "yes", pattern);
  std::string hashes = "#";
  for (int i = 0; i < 120; ++i) hashes += ".#";
  routes.bind("amq.topic", "yes", hashes);
  std::string key = "a";
  for (int i = 0; i < 120; ++i) key += ".a";
  CHECK(routes.route("amq.topic", key) == Names{"yes"});
}

namespace {

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  unsigned below(unsigned bound) { return static_cast<unsigned>(engine_() % bound); }
  std::string words(const char* const* vocabulary, unsigned count, unsigned most) {
    std::string key;
    const unsigned length = below(most + 1);
    for (unsigned i = 0; i < length; ++i) {
      if (i > 0) key += '.';
      key += vocabulary[below(count)];
    }
    return key;
  }
  std::string pattern() {
    static const char* const kWords[] = {"a", "b", "", "#", "#", "*", "long-word"};
    return words(kWords, 7, 6);
  }
  std::string key() {
    static const char* const kWords[] = {"a", "b", "", "long-word", "a", "unknown", "*", "#"};
    return words(kWords, 8, 7);
  }

 private:
  std::mt19937 engine_;
};

struct Bound {
  std::string queue;
  std::string pattern;
};

Names expected(const std::vector<Bound>& bindings, const std::string& key) {
  Names names;
  for (const Bound& each : bindings) {
    if (matches(each.pattern, key)) names.push_back(each.queue);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace

TEST_CASE("the trie agrees with the rule on random bindings and keys") {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    Routes routes;
    for (int i = 0; i < 8; ++i) routes.queue("q" + std::to_string(i));
    std::vector<Bound> bindings;
    for (int step = 0; step < 400; ++step) {
      if (random.below(5) < 2 && !bindings.empty()) {
        const std::size_t which = random.below(static_cast<unsigned>(bindings.size()));
        REQUIRE(routes.unbind("amq.topic", bindings[which].queue, bindings[which].pattern) ==
                Routes::Outcome::kDone);
        bindings.erase(bindings.begin() + static_cast<std::ptrdiff_t>(which));
      } else {
        const Bound bound{"q" + std::to_string(random.below(8)), random.pattern()};
        if (routes.bind("amq.topic", bound.queue, bound.pattern) == Routes::Outcome::kDone) {
          bindings.push_back(bound);
        }
      }
      const std::string key = random.key();
      Names names = routes.route("amq.topic", key);
      std::sort(names.begin(), names.end());
      CAPTURE(key);
      REQUIRE(names == expected(bindings, key));
    }
    for (const Bound& each : bindings) routes.unbind("amq.topic", each.queue, each.pattern);
    for (int i = 0; i < 20; ++i) CHECK(routes.route("amq.topic", random.key()).empty());
  }
}

}  // namespace routing_topic_test
