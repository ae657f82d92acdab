// Blocks, slices and the output chain, the chain against a plain string as its model.
#include "broker/runtime/bytes.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "broker/runtime/memory_gauge.h"

namespace bytes_test {

using namespace ringtail::runtime;

namespace {

std::string content(OutChain& chain) {
  std::vector<OutChain::Piece> pieces(4096);
  pieces.resize(chain.peek(pieces));
  std::string text;
  for (const auto& piece : pieces) {
    text.append(reinterpret_cast<const char*>(piece.data), piece.size);
  }
  return text;
}

std::size_t piece_count(OutChain& chain) {
  std::vector<OutChain::Piece> pieces(4096);
  return chain.peek(pieces);
}

void append_text(OutChain& chain, std::string_view text) {
  chain.append_copy(text.data(), text.size());
}

Bytes bytes_of(std::string_view text) { return Bytes::copy(as_bytes(text)); }

}  // namespace

TEST_CASE("bytes: a copy holds what it was given, an empty one holds nothing") {
  const std::int64_t before = MemoryGauge::total();
  {
    const Bytes copy = bytes_of("ringtail");
    CHECK(as_text(copy.span()) == "ringtail");
    CHECK(MemoryGauge::total() - before == static_cast<std::int64_t>(sizeof(Block) + 8));
    const Bytes part = copy.slice(4, 4);
    CHECK(as_text(part.span()) == "tail");
    CHECK(part.data() == copy.data() + 4);
    CHECK(Bytes::copy({}).data() == nullptr);
  }
  CHECK(MemoryGauge::total() == before);
}

TEST_CASE("bytes: a slice keeps its block alive") {
  Bytes part;
  {
    Bytes whole = bytes_of("0123456789");
    part = whole.slice(3, 4);
    Bytes moved = std::move(whole);
    CHECK(moved.size() == 10);
  }
  CHECK(as_text(part.span()) == "3456");
}

TEST_CASE("bytes: blocks may be freed on another thread than they came from") {
  const std::int64_t before = MemoryGauge::total();
  for (int round = 0; round < 3; ++round) {
    std::vector<Bytes> blocks;
    for (std::size_t i = 0; i < 2 * kOutBlocksKept; ++i) {
      Block* block = Block::create(kOutBlockSize);
      block->data()[kOutBlockSize - 1] = 1;
      blocks.push_back(Bytes::adopt(block, block->data(), kOutBlockSize));
    }
    std::thread other([taken = std::move(blocks)]() mutable { taken.clear(); });
    other.join();
  }
  CHECK(MemoryGauge::total() == before);
}

TEST_CASE("chain: small things lie side by side in one piece") {
  OutChain chain;
  append_text(chain, "method");
  append_text(chain, "");
  append_text(chain, "header");
  CHECK(chain.size() == 12);
  CHECK(piece_count(chain) == 1);
  CHECK(content(chain) == "methodheader");
}

TEST_CASE("chain: reserve without advance leaves it as it was") {
  OutChain chain;
  append_text(chain, "a");
  chain.reserve(100);
  chain.reserve(3 * kOutBlockSize);
  CHECK(chain.size() == 1);
  CHECK(content(chain) == "a");
  append_text(chain, "b");
  CHECK(content(chain) == "ab");
}

TEST_CASE("chain: the block goes on being filled behind what was looked at") {
  OutChain chain;
  append_text(chain, "one");
  const std::uint8_t* next = chain.reserve(1);
  CHECK(content(chain) == "one");
  CHECK(chain.reserve(1) == next);
  append_text(chain, "two");
  CHECK(piece_count(chain) == 1);
  chain.consume(4);
  append_text(chain, "three");
  CHECK(piece_count(chain) == 1);
  CHECK(content(chain) == "wothree");
}

TEST_CASE("chain: slices are slipped in without a copy") {
  OutChain chain;
  append_text(chain, "before");
  const Bytes body = bytes_of("BODY");
  chain.append(body);
  append_text(chain, "after");
  OutChain::Piece pieces[8];
  REQUIRE(chain.peek(pieces) == 3);
  CHECK(pieces[1].data == body.data());
  CHECK(content(chain) == "beforeBODYafter");
  chain.append(Bytes());
  CHECK(chain.peek(pieces) == 3);
}

TEST_CASE("chain: a drained one holds no block, and its block is used again") {
  const std::int64_t before = MemoryGauge::total();
  OutChain chain;
  append_text(chain, "x");
  const std::uint8_t* first = chain.reserve(1);
  CHECK(MemoryGauge::total() > before);
  chain.consume(1);
  CHECK(chain.empty());
  CHECK(MemoryGauge::total() == before);
  append_text(chain, "y");
  CHECK(chain.reserve(1) == first);
  chain.clear();
  chain.reserve(10);
  OutChain::Piece piece;
  CHECK(chain.peek({&piece, 1}) == 0);
  CHECK(MemoryGauge::total() == before);
}

TEST_CASE("chain: more than a block in one reserve") {
  OutChain chain;
  append_text(chain, "small");
  const std::string large(kOutBlockSize + 1, 'L');
  append_text(chain, large);
  append_text(chain, "end");
  CHECK(content(chain) == "small" + large + "end");
}

TEST_CASE("chain: moved from, it is empty and usable") {
  OutChain source;
  append_text(source, "abc");
  source.append(bytes_of("def"));
  source.consume(1);
  OutChain target(std::move(source));
  CHECK(source.empty());
  append_text(source, "new");
  CHECK(content(source) == "new");
  CHECK(content(target) == "bcdef");
  target = std::move(source);
  CHECK(content(target) == "new");
  CHECK(source.empty());
}

namespace {

// One random step on two chains and on the strings that they must equal.
class Model {
 public:
  explicit Model(std::uint64_t seed) : random_(seed) {}

  void step() {
    const std::size_t which = below(2);
    OutChain& chain = chains_[which];
    std::string& text = texts_[which];
    switch (below(9)) {
      case 0:
      case 1:
      case 2: {
        const std::string add = some(below(200));
        append_text(chain, add);
        text += add;
        break;
      }
      case 3: {
        const std::string add = some(below(3 * kOutBlockSize));
        append_text(chain, add);
        text += add;
        break;
      }
      case 4: {
        const std::string add = some(below(300) + 1);
        chain.append(bytes_of(add));
        text += add;
        break;
      }
      case 5: {  // reserves more than it uses
        const std::string add = some(below(100));
        std::uint8_t* room = chain.reserve(add.size() + below(kOutBlockSize * 2));
        std::copy(add.begin(), add.end(), room);
        chain.advance(add.size());
        text += add;
        break;
      }
      case 6: {
        const std::size_t size = below(text.size() + 1);
        chain.consume(size);
        text.erase(0, size);
        break;
      }
      case 7: {
        OutChain& other = chains_[1 - which];
        chain.splice(other);
        text += texts_[1 - which];
        texts_[1 - which].clear();
        break;
      }
      case 8: {
        OutChain moved(std::move(chain));
        chain = std::move(moved);
        break;
      }
    }
  }
  void check() {
    for (int i = 0; i < 2; ++i) {
      REQUIRE(chains_[i].size() == texts_[i].size());
      if (below(4) == 0) REQUIRE(content(chains_[i]) == texts_[i]);
    }
  }

 private:
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(random_() % bound); }
  std::string some(std::size_t size) {
    std::string text(size, '\0');
    for (char& c : text) c = static_cast<char>(counter_++);
    return text;
  }

  std::mt19937_64 random_;
  unsigned counter_ = 0;
  OutChain chains_[2];
  std::string texts_[2];
};

}  // namespace

TEST_CASE("chain: random steps against a string") {
  const std::int64_t before = MemoryGauge::total();
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    CAPTURE(seed);
    Model model(seed);
    for (int i = 0; i < 150; ++i) {
      model.step();
      model.check();
    }
  }
  CHECK(MemoryGauge::total() == before);
}

TEST_CASE("chain: many pieces, written in small steps") {
  OutChain chain;
  std::string text;
  for (int i = 0; i < 1000; ++i) {
    append_text(chain, "header" + std::to_string(i));
    chain.append(bytes_of("body" + std::to_string(i)));
    text += "header" + std::to_string(i) + "body" + std::to_string(i);
  }
  while (!text.empty()) {
    OutChain::Piece pieces[7];
    const std::size_t count = chain.peek(pieces);
    REQUIRE(count > 0);
    std::size_t offset = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::string_view piece(reinterpret_cast<const char*>(pieces[i].data), pieces[i].size);
      REQUIRE(piece == std::string_view(text).substr(offset, piece.size()));
      offset += piece.size();
    }
    const std::size_t written = std::min<std::size_t>(31, text.size());
    chain.consume(written);
    text.erase(0, written);
  }
  CHECK(chain.empty());
}

}  // namespace bytes_test
