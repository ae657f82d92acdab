// Mirrored queues under chance: masters and slaves die, come back, and hear of things late.
#include <algorithm>
#include <cstdlib>
#include <random>

#include "tests/sim/mirror_world.h"

namespace ringtail::queue::test {
namespace {

// --- chance -------------------------------------------------------------------------------------

// A few channels publish and consume while nodes die, come back, and hear of things late.
class Chance {
 public:
  explicit Chance(std::uint64_t seed) : random_(seed) {
    world_.declare("q");
    for (int each = 0; each < 2; ++each) {
      publishers_.push_back(std::make_unique<MirrorChannel>(world_, "q"));
    }
    consumer_ = std::make_unique<MirrorChannel>(world_, "q");
  }

  void run(int steps) {
    for (int at = 0; at < steps && world_.record() != nullptr; ++at) step();
    finish();
  }

 private:
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_() % limit); }

  void step() {
    switch (below(20)) {
      case 0:
        return die();
      case 1:
        return come_back();
      case 2:
        return world_.pass(below(300));
      case 3:
      case 4:
      case 5: {
        const std::uint32_t who = below(2);
        return publishers_[who]->publish(std::string(1, static_cast<char>('p' + who)) +
                                         std::to_string(++published_[who]));
      }
      case 6:
        if (!consumes_) {
          consumer_->consume();
          consumes_ = true;
        }
        return consumer_->ack(1 + below(3));
      case 7:
        for (const auto& one : publishers_) one->look();
        return consumer_->look();
      case 8:
        if (below(4) == 0) {
          const auto record = world_.record();
          world_.log.push_back(
              metadata::TransferQueue{"/", "q", record->qid, NodeId{1 + below(3)}});
        }
        return;
      case 9:
      case 10:
      case 11:
        world_.apply(1 + below(4));
        return;
      default:
        world_.deliver(1 + below(4), 1 + below(4));
    }
  }

  // Never so many that nobody in sync is left by what the log will say.
  void die() {
    world_.settle_log();
    const auto record = world_.record();
    const std::uint32_t id = 1 + below(3);
    if (!world_.alive(id) || below(4) != 0) return;
    const auto others = std::count_if(
        record->view->members.begin(), record->view->members.end(), [&](const auto& member) {
          return member.in_sync && !member.ended && member.node.value != id &&
                 world_.alive(member.node.value);
        });
    if (others == 0) return;
    world_.kill(id);
    world_.declare_down(id, lives_[id]);
    for (const auto& one : publishers_) one->look();
  }
  void come_back() {
    const std::uint32_t id = 1 + below(3);
    if (world_.alive(id) || below(3) != 0) return;
    world_.come_back(id, ++lives_[id]);
  }

  void finish() {
    for (std::uint32_t id = 1; id <= 3; ++id) {
      if (!world_.alive(id)) world_.come_back(id, ++lives_[id]);
    }
    for (int round = 0; round < 30; ++round) {
      world_.settle();
      world_.pass(300);
      for (const auto& one : publishers_) one->look();
      consumer_->look();
    }
    world_.settle();
    const auto record = world_.record();
    REQUIRE(record != nullptr);
    // L5: all are in sync again.
    CHECK(record->view->members.size() == 3);
    for (const auto& member : record->view->members) CHECK(member.in_sync);
    // L3
    for (const auto& one : publishers_) CHECK(one->unsettled.empty());
    // S9: what was acknowledged when all had heard of it stays away, whoever leads.
    const std::vector<std::string> acked_before = consumer_->acked;
    consumer_->end();
    world_.settle();
    consumer_.reset();
    const std::uint32_t master = world_.master();
    if (below(2) == 0) {
      world_.kill(master);
      world_.declare_down(master, lives_[master]);
      world_.settle();
    }
    MirrorChannel drain(world_, "q");
    drain.consume(true);
    world_.settle();
    check_drained(drain.delivered, acked_before);
  }

  void check_drained(const std::vector<std::string>& delivered,
                     const std::vector<std::string>& acked) {
    std::map<std::string, int> times;
    std::map<char, int> last;
    for (std::string body : delivered) {
      if (body.back() == '*') body.pop_back();
      CHECK(++times[body] == 1);  // S7
      const int number = std::stoi(body.substr(1));
      CHECK(number > last[body[0]]);  // S8
      last[body[0]] = number;
    }
    const std::set<std::string> gone(acked.begin(), acked.end());
    for (const auto& one : publishers_) {
      for (const std::string& body : one->confirmed) {
        if (gone.contains(body)) continue;
        CHECK_MESSAGE(times.contains(body), body);  // S1
      }
    }
  }

  std::mt19937_64 random_;
  MirrorWorld world_;
  std::vector<std::unique_ptr<MirrorChannel>> publishers_;
  std::unique_ptr<MirrorChannel> consumer_;
  bool consumes_ = false;
  int published_[2] = {0, 0};
  std::map<std::uint32_t, std::uint64_t> lives_ = {{1, 1}, {2, 1}, {3, 1}};
};

TEST_CASE("mirrored queues keep what they promise under chance") {
  const char* first = std::getenv("RINGTAIL_SIM_SEED");
  const char* factor = std::getenv("RINGTAIL_SIM_FACTOR");
  const std::uint64_t from = first == nullptr ? 1 : std::strtoull(first, nullptr, 10);
  // Factor 0 is one seed.
  const std::uint64_t count = std::max<std::uint64_t>(
      1, 100 * (factor == nullptr ? 1 : std::strtoull(factor, nullptr, 10)));
  for (std::uint64_t seed = from; seed < from + count; ++seed) {
    CAPTURE(seed);
    Chance(seed).run(400);
  }
}

}  // namespace
}  // namespace ringtail::queue::test
