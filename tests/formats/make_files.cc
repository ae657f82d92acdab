// Writes journals, segments, indexes and identities with varied content into a directory, the same
// for the same seed: make_queue_files DIRECTORY [SEED]. What reads them stands beside it.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "queue/store/index_format.h"
#include "queue/store/journal_format.h"
#include "queue/store/segment_format.h"
#include "tests/unit/queue/store_fixture.h"

namespace {

using namespace ringtail::queue;
using namespace ringtail::queue::store;
using ringtail::queue::store::test::Random;

// Some bodies are kept in blocks, and yet a slow reader is done soon.
constexpr std::size_t kLargest = 12'000;

class Maker {
 public:
  Maker(std::string directory, std::uint64_t seed)
      : directory_(std::move(directory)), random_(seed) {}

  void run() {
    for (int i = 0; i < 6; ++i) {
      save("journal-" + std::to_string(i), journal(static_cast<std::uint64_t>(i)));
      save("segment-" + std::to_string(i), segment());
      save("index-" + std::to_string(i), index());
    }
    save("queue-0", identity("/", "orders"));
    save("queue-1", identity("vh\xc3\xb6st", random_.text(255)));
    save("queue-2", identity(random_.text(20), ""));
  }
  bool ok() const { return ok_; }

 private:
  void save(const std::string& name, const ByteBuffer& bytes) {
    std::ofstream file(directory_ + "/" + name, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    file.close();
    if (!file) ok_ = false;
  }
  Qid qid() { return {1 + random_.below(random_.chance(5) ? std::uint64_t{1} << 62 : 5)}; }
  std::uint8_t lane() {
    return static_cast<std::uint8_t>(random_.chance(2) ? 0 : random_.number());
  }
  std::uint64_t expires() { return random_.chance(3) ? random_.any_size() : kNoExpiration; }

  void add_record(BatchWriter& batch, const std::vector<MessageRef>& shared) {
    switch (random_.below(6)) {
      case 0: {
        std::vector<PositionRange> ranges;
        for (std::uint64_t count = 1 + random_.below(4); count > 0; --count) {
          const std::uint8_t in = lane();
          const std::uint64_t first = random_.any_size() & (kNumberMask >> 1);
          ranges.push_back({position_at(in, first), position_at(in, first + random_.below(1000))});
        }
        batch.remove(qid(), ranges);
        break;
      }
      case 1:
        batch.delivered(qid(), position_at(lane(), random_.any_size() & kNumberMask));
        break;
      case 2:
        batch.deleted(qid());
        break;
      default: {
        batch.begin_publish(qid());
        std::uint64_t number = random_.any_size() & (kNumberMask >> 1);
        for (std::uint64_t count = 1 + random_.below(5); count > 0; --count) {
          number += 1 + random_.below(random_.chance(4) ? 100'000 : 2);
          const MessageRef message =
              random_.chance(2) ? shared[random_.below(shared.size())] : random_.message(kLargest);
          batch.add(position_at(lane(), number), *message, expires(), random_.chance(2));
        }
        batch.end_publish();
      }
    }
  }

  ByteBuffer journal(std::uint64_t number) {
    const std::uint64_t salt = random_.number();
    ByteBuffer out;
    put_journal_header(out, {static_cast<std::uint16_t>(random_.below(9)), number + 1, salt});
    std::vector<MessageRef> shared;
    for (int i = 0; i < 3; ++i) shared.push_back(random_.message(kLargest));
    const std::vector<MessageRef> others = shared;  // so that they are
    BatchWriter batch;
    for (std::uint64_t index = 1; index <= number * 2; ++index) {
      batch.begin(salt, index, out.size());
      for (std::uint64_t count = 1 + random_.below(8); count > 0; --count) {
        add_record(batch, shared);
      }
      out.append(batch.finish());
    }
    if (random_.chance(2)) out.append(random_.text(random_.below(500)));  // what it held before
    return out;
  }

  ByteBuffer segment() {
    const SegmentHeader header{qid(), lane(), 1 + random_.below(1000), random_.number()};
    ByteBuffer out;
    put_segment_header(out, header);
    std::uint64_t number = random_.any_size() & (kNumberMask >> 1);
    for (std::uint64_t count = random_.below(12); count > 0; --count) {
      number += 1 + random_.below(50);
      put_segment_record(out, header.salt, position_at(header.lane, number),
                         *random_.message(kLargest), expires(), random_.chance(2));
    }
    return out;
  }

  ByteBuffer index() {
    const IndexHeader header{qid(), random_.number()};
    ByteBuffer out;
    put_index_header(out, header);
    for (std::uint64_t commits = random_.below(8); commits > 0; --commits) {
      std::vector<SegmentState> segments(random_.below(3));
      std::vector<const SegmentState*> changed;
      for (SegmentState& state : segments) {
        fill(state);
        changed.push_back(&state);
      }
      std::vector<std::uint64_t> gone;
      for (std::uint64_t count = random_.below(3); count > 0; --count) {
        gone.push_back(1 + random_.below(6));
      }
      IndexState state;
      state.covered = random_.any_size();
      state.next = random_.any_size();
      state.next_segment = random_.any_size();
      for (std::uint64_t count = random_.below(4); count > 0; --count) {
        state.delivered[lane()] = random_.any_size();
      }
      put_index_commit(out, header.salt, changed, gone, state);
    }
    return out;
  }

  void fill(SegmentState& state) {
    state.number = 1 + random_.below(6);
    state.lane = lane();
    state.first = 1 + (random_.any_size() & (kNumberMask >> 2));
    state.last = state.first + random_.below(500);
    state.bytes = random_.any_size();
    state.live = random_.any_size();
    state.live_bytes = random_.any_size();
    state.expiring = random_.any_size();
    for (std::uint64_t count = random_.below(8); count > 0; --count) {
      const std::uint64_t first = state.first + random_.below(state.last - state.first + 1);
      state.removed.add(first, first + random_.below(state.last - first + 1));
    }
  }

  ByteBuffer identity(const std::string& vhost, const std::string& name) {
    ByteBuffer out;
    put_identity(out, {qid(), vhost, name});
    return out;
  }

  const std::string directory_;
  Random random_;
  bool ok_ = true;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: make_queue_files DIRECTORY [SEED]\n");
    return 2;
  }
  Maker maker(argv[1], argc == 3 ? std::strtoull(argv[2], nullptr, 10) : 1);
  maker.run();
  if (!maker.ok()) std::fprintf(stderr, "cannot write into %s\n", argv[1]);
  return maker.ok() ? 0 : 1;
}
