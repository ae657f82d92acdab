// What the master of a mirrored queue does to it, as its slaves are told: a batch of changes is an
// entry of the ring (gm/entry.h; docs/FORMATS.md, "Changes of a mirrored queue"). Pure functions.
//
//   changes   = version:octet next:varint mark:varint change*
//   change    = 1:octet producer first:varint up-to:varint refused:varint (number:varint)*
//               count:varint (head [expiry:varint])*              ; published
//             | 2:octet count:varint (gap:varint more:varint)*     ; left the queue, by number
//             | 3:octet up-to:varint count:varint (gap:varint)*    ; purged, but for these
//             | 4:octet producer                                   ; will publish no more
//   producer  = node:varint life:varint shard:varint actor:varint
//
// `next` is the number of the first message that is published in the batch, `mark` up to which
// number messages may have been delivered. The messages' octets are the entry's bodies. A head is
// that of queue/message_wire.h behind an octet that says whether an expiry follows it: milliseconds
// since 1970. Numbers that ascend are written as what lies between them.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "broker/runtime/ids.h"
#include "gm/entry.h"
#include "queue/message.h"
#include "queue/store/byte_buffer.h"

namespace ringtail::queue {

// Who publishes: a channel, in one life of its node. Numbers its publishes to a queue from 1.
struct Producer {
  runtime::Address channel;
  std::uint64_t life = 0;
  friend auto operator<=>(const Producer&, const Producer&) = default;
};

struct PublishedMessage {
  MessageRef message;
  std::uint64_t expires_at_ms = kNoExpiration;  // since 1970
};

// Publishes of one producer, `first` to `up_to`. Those that were refused are among them and have no
// message.
struct Published {
  Producer producer;
  std::uint64_t first = 0;
  std::uint64_t up_to = 0;
  std::vector<std::uint64_t> refused;  // ascending
  std::vector<PublishedMessage> messages;
};

struct NumberRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  friend bool operator==(const NumberRange&, const NumberRange&) = default;
};

// Gathers a turn's changes. Lives with its queue's master.
class ChangesWriter {
 public:
  void publish(const Published& published);
  void remove(std::uint64_t number);
  // All up to `up_to` but these, which ascend.
  void purge(std::uint64_t up_to, std::span<const std::uint64_t> kept);
  void producer_gone(const Producer& producer);

  bool empty() const { return changes_.empty() && removed_.empty(); }
  std::size_t size() const { return changes_.size() + octets_.size(); }
  // What was gathered; the writer is empty afterwards.
  gm::Entry finish(std::uint64_t next, std::uint64_t mark);

 private:
  void put_producer(const Producer& producer);
  void put_removed();

  store::ByteBuffer changes_;
  runtime::OutChain octets_;
  std::vector<std::uint64_t> removed_;  // since the last other change
};

// Told of the changes of an entry, in their order.
class ChangesReader {
 public:
  virtual void begins(std::uint64_t next, std::uint64_t mark) = 0;
  virtual void published(Published& published) = 0;
  virtual void removed(NumberRange numbers) = 0;
  virtual void purged(std::uint64_t up_to, const std::vector<std::uint64_t>& kept) = 0;
  virtual void producer_gone(const Producer& producer) = 0;

 protected:
  ~ChangesReader() = default;
};

// False: these are no changes, and what was told before is all that can be read.
bool read_changes(const gm::Entry& entry, ChangesReader& reader);

}  // namespace ringtail::queue
