// The states of a connection and the moves between them (AMQP 0-9-1, 2.2.4 and 1.4.1).
#pragma once

#include <cstdint>

namespace ringtail::broker {

enum class ConnectionState : std::uint8_t {
  kAwaitHeader,     // for "AMQP" 0 0 9 1
  kAwaitStartOk,    // connection.start sent
  kAwaitTuneOk,     // connection.tune sent
  kAwaitOpen,       // tuned
  kAwaitAdmission,  // connection.open came; the connection registry is asked
  kOpen,
  kClosing,   // we sent connection.close: only close-ok matters
  kDraining,  // the client sent connection.close: channels and exclusive queues go, then close-ok
  kRefusing,  // a failed handshake: silent, until the pause is over
  kClosed,    // the stream is closed or closing
};

constexpr bool may_move(ConnectionState from, ConnectionState to) {
  using S = ConnectionState;
  if (to == S::kClosed) return true;
  switch (from) {
    case S::kAwaitHeader:
      return to == S::kAwaitStartOk || to == S::kClosing;
    case S::kAwaitStartOk:
      return to == S::kAwaitTuneOk || to == S::kRefusing || to == S::kClosing;
    case S::kAwaitTuneOk:
      return to == S::kAwaitOpen || to == S::kRefusing || to == S::kClosing;
    case S::kAwaitOpen:
      return to == S::kAwaitAdmission || to == S::kRefusing || to == S::kClosing ||
             to == S::kDraining;
    case S::kAwaitAdmission:
      return to == S::kOpen || to == S::kRefusing || to == S::kClosing || to == S::kDraining;
    case S::kOpen:
      return to == S::kClosing || to == S::kDraining;
    case S::kRefusing:
      return to == S::kClosing;
    case S::kClosing:
    case S::kDraining:
    case S::kClosed:
      return false;
  }
  return false;
}

}  // namespace ringtail::broker
