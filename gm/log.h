// A member's log: which entries it has (all of them, as far as its history reaches), and the last
// ones themselves, as long as somebody may need them. Pure; on its member's shard.
//
// Two logs that have the same position have the same entries up to it (GM5), so positions are all
// that two members need to compare.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

#include "gm/entry.h"

namespace ringtail::gm {

class Log {
 public:
  // Where an epoch's entries begin.
  struct EpochStart {
    Epoch epoch = 0;
    Number first = 0;
    friend bool operator==(const EpochStart&, const EpochStart&) = default;
  };

  Log() = default;
  // What a disk has kept: `history` ascending, entries up to `last`; none of them is here.
  Log(std::vector<EpochStart> history, Number last);

  // Of the last entry; {0, 0}: there is none, which every log begins with.
  Position last() const;
  // None: it is not of this log, or lies before what is known of it.
  std::optional<Epoch> epoch_at(Number number) const;
  bool has(const Position& position) const;
  // The last position of this log that one which ends at `theirs` may have too: theirs itself if
  // this log has it. Repeated from both sides it ends at the last common one.
  Position candidate(const Position& theirs) const;

  // The next one: its number follows the last one's, its epoch is not older.
  void append(Entry entry);
  // Begins behind `base`, whatever was here before (GM8).
  void restart(const Position& base);
  // Takes out all entries above `number`; returns those that were here.
  std::vector<Entry> cut(Number above);
  // Entries up to there need not be kept here.
  void release(Number up_to);
  // Null: it was released, or there is none.
  const Entry* find(Number number) const;
  // Entries from this one on are here.
  Number first_kept() const { return first_kept_; }
  std::size_t kept_bytes() const { return kept_bytes_; }

 private:
  std::vector<EpochStart> history_;
  Number last_ = 0;
  Number first_kept_ = 1;
  std::deque<Entry> kept_;
  std::size_t kept_bytes_ = 0;
};

}  // namespace ringtail::gm
