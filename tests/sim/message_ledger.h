// What clients of a cluster have published, been told and seen, and what must follow from it
// (ARCHITECTURE section 6). A contradiction fails the running doctest case.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace ringtail::sim {

// A publisher is one life of one channel; it numbers its messages from 1.
struct MessageId {
  std::uint32_t publisher = 0;
  std::uint32_t number = 0;
  friend auto operator<=>(const MessageId&, const MessageId&) = default;

  std::string text() const;
  // Of a body that text() begins; fails the case where there is none.
  static MessageId of(const std::string& body);
};

// What a consumer of one queue has seen in order; one per consumer.
class SeenInOrder {
 public:
  // Not redelivered: later ones of a publisher come later.
  void fresh(MessageId id);

 private:
  std::map<std::uint32_t, std::uint32_t> last_;  // by publisher
};

class MessageLedger {
 public:
  // A new life of a channel.
  std::uint32_t new_publisher() { return ++last_publisher_; }

  // Is sent now: to queues that it must reach, once it is confirmed, and others that it may.
  void publishing(MessageId id, const std::set<std::string>& must,
                  const std::set<std::string>& may);
  void confirmed(MessageId id);

  void delivered(const std::string& queue, MessageId id, bool redelivered);
  // The client has said so; the broker may not have heard it.
  void acknowledged(const std::string& queue, MessageId id);

  // All that a queue held in the end, in its order, when nobody else used it.
  struct Held {
    MessageId id;
    bool redelivered = false;
  };
  void held(const std::string& queue, const std::vector<Held>& all);

  std::uint64_t deliveries() const { return deliveries_; }
  std::uint64_t confirms() const { return confirms_; }

 private:
  struct Copy {
    bool must = false;   // be in the queue, when it is confirmed
    bool seen = false;   // by somebody
    bool fresh = false;  // by somebody, and not marked as redelivered
    bool acknowledged = false;
  };
  struct Queue {
    std::map<MessageId, Copy> copies;
  };

  Copy& copy(const std::string& queue, MessageId id);

  std::uint32_t last_publisher_ = 0;
  std::map<std::string, Queue> queues_;
  std::set<MessageId> confirmed_;
  std::uint64_t deliveries_ = 0;
  std::uint64_t confirms_ = 0;
};

}  // namespace ringtail::sim
