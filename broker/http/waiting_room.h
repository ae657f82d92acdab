// Connections of the HTTP server on which nobody works: new ones, those between two requests, and
// those of which a request's head is still coming. One thread looks after them all, so that clients
// that are slow or silent, however many, hold none of the threads that work.
//
// Made and stopped by the server's owner. run() is called on a thread of its own, next() and
// come_back() on any.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "broker/http/limits.h"
#include "broker/http/listen_socket.h"

namespace ringtail::broker::http {

// A connection as it goes from hand to hand; whoever holds it closes the socket.
struct Visitor {
  int socket = -1;
  std::string received;  // of the next request, not looked at yet
  int requests_left = kRequestsPerConnection;
};

class WaitingRoom {
 public:
  WaitingRoom() = default;
  ~WaitingRoom();
  WaitingRoom(const WaitingRoom&) = delete;
  WaitingRoom& operator=(const WaitingRoom&) = delete;

  runtime::Status open();
  // Accepts from `listeners` and looks after who waits, until stop().
  void run(const std::vector<ListenSocket>& listeners);
  // Waits for a connection with a whole head (or with more than a head may be). False: stopping.
  bool next(Visitor& visitor);
  // Its request has been answered, and there may be another.
  void come_back(Visitor visitor);
  void stop();
  // Closes what is left, when no thread is in here any more.
  void clear();
  const std::atomic<bool>& stopping() const { return stopping_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Parked {
    Visitor visitor;
    Clock::time_point deadline;
  };

  void wake();
  void take_returned();
  void park(Visitor visitor);
  void accept_from(const ListenSocket& listening);
  // False: it has left, for a worker or for good.
  bool look_at(Parked& parked, short events, Clock::time_point now);
  void hand_over(Visitor visitor);
  bool may_accept();
  int milliseconds_to_deadline() const;

  int wake_ = -1;  // an eventfd
  std::atomic<bool> stopping_ = false;
  std::vector<Parked> parked_;  // by age; run()'s thread only
  bool short_of_descriptors_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Visitor> ready_;  // guarded by mutex_, as the next
  std::vector<Visitor> returned_;
};

}  // namespace ringtail::broker::http
