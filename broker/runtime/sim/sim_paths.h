// The ways between simulated hosts, each direction by itself: open, cut or slow. Loopback is none
// of them. As TCP has it, nothing is lost on a way that is cut: the sender's kernel tries again and
// again, so that connections stall and, when the way is open again, go on in order. Nothing ends
// them meanwhile but their owners. An attempt to connect is tried again too, until its time is up.
// A reset is sent once: cut off, it never arrives, and the other side learns of it by what it sends
// next.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "broker/runtime/sim/sim_world.h"

namespace ringtail::runtime {

class SimConnection;
class SimHost;
class SimNetwork;

// A host's number in its world; never given twice.
using SimHostNumber = std::uint32_t;
using SimHosts = std::vector<SimHost*>;

// Owned by the SimNetwork. Everything takes effect at once, for what is under way too.
class SimPaths {
 public:
  explicit SimPaths(SimNetwork& network) : network_(network) {}

  // --- for tests: one direction ---
  void cut(const SimHost& from, const SimHost& to);
  void heal(const SimHost& from, const SimHost& to);
  // On top of the network's latency, for each packet.
  void set_delay(const SimHost& from, const SimHost& to, std::uint64_t min_ns,
                 std::uint64_t max_ns);

  // --- for tests: shapes ---
  void cut_both(const SimHost& one, const SimHost& other);
  void heal_both(const SimHost& one, const SimHost& other);
  // Every host of one side from every host of the other, both ways; who is on neither side still
  // reaches both (a bridge). One host on each side: A and B cut, both see C.
  void cut_between(const SimHosts& left, const SimHosts& right);
  void heal_between(const SimHosts& left, const SimHosts& right);
  // From all other hosts that there are now.
  void isolate(SimHost& host);
  // Between these groups everything is cut, within each everything open; hosts in none of them keep
  // their ways as they are (clients, say).
  void split(const std::vector<SimHosts>& groups);
  // Everything open; delays stay.
  void heal_all();
  void clear_delays() { delays_.clear(); }

  // --- for the parts of the simulation ---
  bool blocked(SimHostNumber from, SimHostNumber to) const;
  // The additional time of a packet.
  std::uint64_t delay_ns(SimHostNumber from, SimHostNumber to);
  // A machine whose kernel answers nothing: without power, or suspended.
  void set_silent(SimHostNumber host, bool silent);
  bool silent(SimHostNumber host) const { return silent_.contains(host); }
  // Something of this connection, sent from `side`, waits for the way to open.
  void stalled(const std::shared_ptr<SimConnection>& connection, int side);

 private:
  using Way = std::pair<SimHostNumber, SimHostNumber>;
  struct Stalled {
    std::weak_ptr<SimConnection> connection;
    int side = 0;
    std::uint64_t since_ns = 0;
    bool trying = false;  // its sender's next attempt comes by itself
  };

  // Some way is open again: whoever waits for it tries again after a while.
  void reopened();
  void try_later(const std::shared_ptr<Stalled>& waiting);
  void try_again(const std::shared_ptr<Stalled>& waiting);

  SimNetwork& network_;
  std::set<Way> cuts_;
  std::map<Way, std::pair<std::uint64_t, std::uint64_t>> delays_;
  std::set<SimHostNumber> silent_;
  std::vector<std::shared_ptr<Stalled>> waiting_;  // in the order in which they began
};

// Cuts and heals these hosts' ways, both directions together, again and again at random times,
// while it lives. At its end the ways are open.
class SimFlapping {
 public:
  struct Times {
    std::uint64_t open_min_ns = 100 * kMillisecondNs;
    std::uint64_t open_max_ns = 3 * kSecondNs;
    std::uint64_t cut_min_ns = 10 * kMillisecondNs;
    std::uint64_t cut_max_ns = 3 * kSecondNs;
  };

  SimFlapping(SimWorld& world, SimHosts left, SimHosts right, const Times& times);
  ~SimFlapping();
  SimFlapping(const SimFlapping&) = delete;
  SimFlapping& operator=(const SimFlapping&) = delete;

  std::uint64_t cuts() const { return cuts_; }

 private:
  void wait();
  void change();

  SimWorld& world_;
  const SimHosts left_;
  const SimHosts right_;
  const Times times_;
  bool cut_ = false;
  std::uint64_t cuts_ = 0;
  SimEventId event_;
};

}  // namespace ringtail::runtime
