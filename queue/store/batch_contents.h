// Which bytes of a batch publish records may refer to, and the messages that were made of them: a
// message that many queues have stands in a batch once and is one in memory, too.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "queue/store/message_codec.h"

namespace ringtail::queue::store {

// Owned by scan_journal(). Offsets are those of the file.
class BatchContents {
 public:
  void begin_batch();
  // The payload of a publish record whose checksum is right.
  void add_good(std::uint64_t begin, std::uint64_t end);
  // A content that was read where it stands.
  void add(std::uint64_t offset, const MessageRef& message);
  // The content at an offset before `limit`. Null: there is none in a good record, or it reaches
  // into another one that was found: each byte is read once, so that a file cannot ask for more
  // memory than it has bytes.
  MessageRef find(std::uint64_t offset, std::uint64_t limit, std::span<const std::uint8_t> file);

 private:
  struct Range {
    std::uint64_t begin;
    std::uint64_t end;
  };
  struct Content {
    std::uint64_t offset;
    MessageRef message;
  };
  struct Found {
    std::uint64_t end;
    MessageRef message;
  };
  MessageRef read(std::uint64_t offset, std::uint64_t limit, std::span<const std::uint8_t> file);

  std::vector<Range> good_;        // ascending
  std::vector<Content> in_place_;  // ascending
  std::map<std::uint64_t, Found> found_;
};

}  // namespace ringtail::queue::store
