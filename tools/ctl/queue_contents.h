// The messages of one queue of a data directory, put together as a restart does it: what the index
// says of the segments, what the journals add, without what they removed (docs/FORMATS.md, "Queues
// on disk"). Everything that contradicts the format is told.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "queue/store/index_format.h"
#include "queue/store/journal_reader.h"
#include "queue/store/segment_format.h"
#include "tools/ctl/data_directory.h"

namespace ringtail::ctl {

// Who is told what is found: damage, and what is worth knowing and is none. Texts name the file,
// and the offset where there is one.
class Findings {
 public:
  virtual ~Findings() = default;
  virtual void damage(const std::string& text) = 0;
  virtual void note(const std::string& text) = 0;
};

class QueueContents {
 public:
  // `directory` is a path; all of it outlives this.
  QueueContents(DataDirectory& data, std::string directory, runtime::Qid qid, Findings& findings);

  // Reads index and segments, and looks at every record. Damaged messages are left out.
  void read();

  std::uint64_t count() const { return places_.size(); }
  std::size_t segments() const { return index_.segments.size(); }
  // All that were found, in the order of the queue; `delivered` of each is what a consumer would be
  // told.
  using Visit = std::function<void(const queue::store::StoredMessage& message)>;
  void for_each(const Visit& visit);

 private:
  // Where a message is. The size is that of its record in a segment.
  struct Place {
    std::uint64_t segment = 0;  // 0: in a journal
    std::uint64_t offset = 0;   // there, or its place among those of the journals
    std::uint64_t size = 0;
  };
  struct Counts {
    std::uint64_t live = 0;
    std::uint64_t live_bytes = 0;
    std::uint64_t expiring = 0;
    bool operator==(const Counts&) const = default;
  };

  void read_own_journal();
  bool read_index();
  void read_segments();
  void read_segment(const queue::store::SegmentState& state);
  void walk(const queue::store::SegmentState& state, const queue::store::SegmentHeader& header,
            std::span<const std::uint8_t> content, const std::string& path);
  void take(const queue::store::SegmentState& state, const queue::store::StoredMessage& message,
            const Place& place, Counts& counts);
  void compare(const queue::store::SegmentState& state, const Counts& counts, std::uint64_t first,
               std::uint64_t last, const std::string& path);
  void take_journaled();
  void look_for_others();
  bool was_delivered(queue::Position position) const;
  std::string segment_path(std::uint64_t number) const;

  DataDirectory& data_;
  const std::string directory_;
  const runtime::Qid qid_;
  Findings& findings_;
  queue::store::JournaledQueue journaled_;
  std::string index_path_;
  queue::store::IndexState index_;
  std::map<queue::Position, Place> places_;
};

}  // namespace ringtail::ctl
