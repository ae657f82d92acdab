#include "broker/http/waiting_room.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace ringtail::broker::http {

using runtime::Code;
using runtime::Status;
using std::chrono::milliseconds;

namespace {

constexpr std::string_view kHeadEnd = "\r\n\r\n";
constexpr int kLongestPollMs = 60'000;
constexpr int kNoDescriptorPauseMs = 200;

// `from`: what is before it has been looked at.
bool has_head(const std::string& received, std::size_t from = 0) {
  const std::size_t overlap = kHeadEnd.size() - 1;
  return received.size() >= kHeadMax ||
         received.find(kHeadEnd, from - std::min(from, overlap)) != std::string::npos;
}

}  // namespace

WaitingRoom::~WaitingRoom() {
  clear();
  if (wake_ >= 0) ::close(wake_);
}

void WaitingRoom::clear() {
  for (const Parked& parked : parked_) ::close(parked.visitor.socket);
  for (const Visitor& visitor : ready_) ::close(visitor.socket);
  for (const Visitor& visitor : returned_) ::close(visitor.socket);
  parked_.clear();
  ready_.clear();
  returned_.clear();
}

Status WaitingRoom::open() {
  wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_ < 0) return {Code::kUnavailable, "cannot make an eventfd for the HTTP server"};
  return {};
}

void WaitingRoom::wake() {
  const std::uint64_t one = 1;
  static_cast<void>(::write(wake_, &one, sizeof one));
}

void WaitingRoom::stop() {
  stopping_ = true;
  {
    const std::lock_guard lock(mutex_);  // who is about to wait sees `stopping_`
  }
  changed_.notify_all();
  if (wake_ >= 0) wake();
}

bool WaitingRoom::next(Visitor& visitor) {
  bool was_full = false;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stopping_ || !ready_.empty(); });
    if (stopping_) return false;
    was_full = ready_.size() >= kReadyMax;
    visitor = std::move(ready_.front());
    ready_.pop_front();
  }
  if (was_full) wake();
  return true;
}

void WaitingRoom::come_back(Visitor visitor) {
  {
    const std::lock_guard lock(mutex_);
    returned_.push_back(std::move(visitor));
  }
  wake();
}

void WaitingRoom::hand_over(Visitor visitor) {
  {
    const std::lock_guard lock(mutex_);
    ready_.push_back(std::move(visitor));
  }
  changed_.notify_one();
}

bool WaitingRoom::may_accept() {
  const std::lock_guard lock(mutex_);
  return ready_.size() < kReadyMax && !short_of_descriptors_;
}

void WaitingRoom::take_returned() {
  std::vector<Visitor> returned;
  {
    const std::lock_guard lock(mutex_);
    returned.swap(returned_);
  }
  for (Visitor& visitor : returned) park(std::move(visitor));
}

void WaitingRoom::park(Visitor visitor) {
  if (has_head(visitor.received)) return hand_over(std::move(visitor));
  if (parked_.size() >= kParkedMax) {
    // Who has had the most time goes: a newcomer that means it has its head here in a moment.
    ::close(parked_.front().visitor.socket);
    parked_.erase(parked_.begin());
  }
  const int patience = visitor.received.empty() ? kIdleTimeoutMs : kHeadTimeoutMs;
  parked_.push_back({std::move(visitor), Clock::now() + milliseconds(patience)});
}

void WaitingRoom::accept_from(const ListenSocket& listening) {
  const int socket = ::accept4(listening.socket(), nullptr, nullptr, SOCK_CLOEXEC);
  if (socket >= 0) return park({.socket = socket, .received = {}});
  // Nothing to be done but not to spin: the next connection that ends makes room.
  if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
    short_of_descriptors_ = true;
  }
}

bool WaitingRoom::look_at(Parked& parked, short events, Clock::time_point now) {
  Visitor& visitor = parked.visitor;
  if (events != 0) {
    std::array<char, 16 * 1024> buffer;
    const ssize_t got = ::recv(visitor.socket, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
      ::close(visitor.socket);
      return false;
    }
    if (got > 0) {
      if (visitor.received.empty()) parked.deadline = now + milliseconds(kHeadTimeoutMs);
      const std::size_t known = visitor.received.size();
      visitor.received.append(buffer.data(), static_cast<std::size_t>(got));
      if (has_head(visitor.received, known)) {
        hand_over(std::move(visitor));
        return false;
      }
    }
  }
  if (now < parked.deadline) return true;
  ::close(visitor.socket);
  return false;
}

int WaitingRoom::milliseconds_to_deadline() const {
  if (short_of_descriptors_) return kNoDescriptorPauseMs;
  auto wait = milliseconds(kLongestPollMs);
  const auto now = Clock::now();
  for (const Parked& parked : parked_) {
    wait = std::min(wait, std::chrono::duration_cast<milliseconds>(parked.deadline - now));
  }
  return std::max(static_cast<int>(wait.count()) + 1, 0);
}

void WaitingRoom::run(const std::vector<ListenSocket>& listeners) {
  std::vector<pollfd> polled;
  while (!stopping_) {
    take_returned();
    polled.assign(1, {wake_, POLLIN, 0});
    const bool accepting = may_accept();
    for (const ListenSocket& listening : listeners) {
      polled.push_back({accepting ? listening.socket() : -1, POLLIN, 0});
    }
    for (const Parked& parked : parked_) polled.push_back({parked.visitor.socket, POLLIN, 0});
    if (::poll(polled.data(), polled.size(), milliseconds_to_deadline()) < 0) {
      if (errno != EINTR) return;
      continue;
    }
    short_of_descriptors_ = false;
    std::uint64_t woken = 0;
    static_cast<void>(::read(wake_, &woken, sizeof woken));
    const auto now = Clock::now();
    std::size_t at = 1 + listeners.size();
    std::erase_if(parked_,
                  [&](Parked& parked) { return !look_at(parked, polled[at++].revents, now); });
    for (std::size_t i = 0; i < listeners.size(); ++i) {
      if ((polled[1 + i].revents & POLLIN) != 0) accept_from(listeners[i]);
    }
  }
}

}  // namespace ringtail::broker::http
