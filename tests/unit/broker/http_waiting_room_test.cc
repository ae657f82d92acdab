#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "broker/http/waiting_room.h"

namespace http_waiting_room_test {

namespace http = ringtail::broker::http;
using http::ListenSocket;
using http::Visitor;
using http::WaitingRoom;

namespace {

constexpr const char* kHead = "GET / HTTP/1.1\r\n\r\n";

class Client {
 public:
  explicit Client(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_port = htons(port);
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(socket_, reinterpret_cast<sockaddr*>(&name), sizeof name) == 0);
  }
  ~Client() { ::close(socket_); }
  void send(const std::string& text) {
    REQUIRE(::send(socket_, text.data(), text.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(text.size()));
  }
  // Waits for the end of the connection, not longer than some seconds.
  bool ended() {
    pollfd end{socket_, POLLIN, 0};
    char byte = 0;
    return ::poll(&end, 1, 10'000) == 1 && ::recv(socket_, &byte, 1, 0) <= 0;
  }
  bool open() {
    char byte = 0;
    return ::recv(socket_, &byte, 1, MSG_DONTWAIT) < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  }

 private:
  int socket_;
};

struct Room {
  Room() {
    auto listening = ListenSocket::open("127.0.0.1", 0);
    REQUIRE(listening.ok());
    port = listening.value().port();
    listeners.push_back(std::move(listening).value());
    REQUIRE(room.open().ok());
    thread = std::thread([this] { room.run(listeners); });
  }
  ~Room() {
    room.stop();
    thread.join();
  }
  // What the next one with a head has sent; closes it.
  std::string next() {
    Visitor visitor;
    REQUIRE(room.next(visitor));
    ::close(visitor.socket);
    return visitor.received;
  }

  WaitingRoom room;
  std::vector<ListenSocket> listeners;
  std::uint16_t port = 0;
  std::thread thread;
};

}  // namespace

TEST_CASE("who has a whole head goes first, however many have half of one") {
  Room room;
  std::deque<Client> half;
  for (int i = 0; i < 20; ++i) half.emplace_back(room.port).send("GET / HTTP/1.1\r\n");
  Client whole(room.port);
  whole.send(kHead);
  CHECK(room.next() == kHead);
  half[7].send("\r\n");
  CHECK(room.next() == kHead);
}

TEST_CASE("a head may come byte by byte, and more behind it") {
  Room room;
  Client client(room.port);
  for (const char* at = kHead; *at != '\0'; ++at) client.send(std::string(1, *at));
  Visitor visitor;
  REQUIRE(room.room.next(visitor));
  CHECK(visitor.received == kHead);
  // Its thread has read one request and a part of the next.
  visitor.received = "GET / HT";
  room.room.come_back(std::move(visitor));
  client.send("TP/1.1\r\n\r\nrest");
  CHECK(room.next().starts_with(kHead));
}

TEST_CASE("one who comes back with a whole request does not wait for bytes") {
  Room room;
  Client client(room.port);
  client.send(kHead);
  Visitor visitor;
  REQUIRE(room.room.next(visitor));
  room.room.come_back(std::move(visitor));
  CHECK(room.next() == kHead);
}

TEST_CASE("what is too long for a head is handed out, to be refused") {
  Room room;
  Client client(room.port);
  client.send(std::string(http::kHeadMax, 'x'));
  CHECK(room.next().size() >= http::kHeadMax);
}

TEST_CASE("when it is full the one that has waited longest goes") {
  Room room;
  std::deque<Client> half;
  for (std::size_t i = 0; i < http::kParkedMax; ++i) half.emplace_back(room.port).send("G");
  Client seen(room.port);
  CHECK(half.front().ended());
  seen.send(kHead);
  CHECK(room.next() == kHead);
  CHECK(half.back().open());
}

TEST_CASE("a stop ends the waiting") {
  Room room;
  Client client(room.port);
  client.send("G");
  std::thread stopper([&] { room.room.stop(); });
  Visitor visitor;
  CHECK_FALSE(room.room.next(visitor));
  stopper.join();
}

}  // namespace http_waiting_room_test
