// Who is connected to this node, counted: admits or refuses connections and channels where limits
// are set. An actor on shard 0, owned by the BrokerShard there.
//
// A connection asks with Admit at connection.open and says Leave when it closes, for whatever
// reason; it says so from the same address, so that a Leave never overtakes its Admit. Channels are
// counted by what each connection says it has, in totals: a count that is late is put right by the
// next one, and all of a connection's go with it. So nothing leaks when somebody dies on the way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "broker/runtime/config.h"
#include "broker/runtime/letter.h"
#include "broker/runtime/shard.h"
#include "cluster/metadata/view.h"

namespace ringtail::broker {

enum RegistryLetterKind : runtime::LetterKind {
  kAdmit = runtime::kBrokerLetters + 0x80,  // connection -> registry
  kAdmitted,                                // registry -> that connection
  kLeave,                                   // connection -> registry
  kChannelCounts,                           // broker shard -> registry
  kAdmitChannel,                            // channel of a limited user -> registry
  kChannelAdmitted,                         // registry -> that channel
};

// Why a connection or a channel may not be, or that it may.
enum class Admission : std::uint8_t { kYes, kNodeFull, kVhostFull, kUserFull, kNoVhost, kNoUser };

struct Admit : runtime::Letter {
  Admit() : Letter(kAdmit) {}
  std::uint64_t connection = 0;
  std::string user;
  std::string vhost;
};

struct Admitted : runtime::Letter {
  Admitted() : Letter(kAdmitted) {}
  Admission admission = Admission::kYes;
  std::uint64_t limit = 0;  // the one that is reached
};

struct Leave : runtime::Letter {
  Leave() : Letter(kLeave) {}
  std::uint64_t connection = 0;
};

// How many channels connections have now.
struct ChannelCounts : runtime::Letter {
  ChannelCounts() : Letter(kChannelCounts) {}
  struct Count {
    std::uint64_t connection = 0;
    std::uint32_t channels = 0;
  };
  std::vector<Count> counts;
};

struct AdmitChannel : runtime::Letter {
  AdmitChannel() : Letter(kAdmitChannel) {}
  std::uint64_t request = 0;
  std::uint64_t connection = 0;
  std::uint32_t channels = 0;  // that the connection has with this one
};

struct ChannelAdmitted : runtime::Letter {
  ChannelAdmitted() : Letter(kChannelAdmitted) {}
  std::uint64_t request = 0;
  Admission admission = Admission::kYes;
  std::uint64_t limit = 0;
};

class ConnectionRegistry : public runtime::Actor {
 public:
  ConnectionRegistry(runtime::Shard& shard, const runtime::Config& config,
                     const cluster::metadata::View& view);
  ~ConnectionRegistry() override;

  // Where any shard of the node finds it.
  static runtime::Address address(runtime::NodeId node);

  void receive(runtime::LetterPtr letter) noexcept override;

  // Connections that are open.
  std::size_t connections() const { return members_.size(); }
  std::uint64_t connections_of_vhost(const std::string& vhost) const;
  std::uint64_t connections_of_user(const std::string& user) const;
  std::uint64_t channels_of_user(const std::string& user) const;

 private:
  struct Member {
    std::string user;
    std::string vhost;
    std::uint32_t channels = 0;
  };
  struct UserCount {
    std::uint64_t connections = 0;
    std::uint64_t channels = 0;
  };

  Admission judge(const Admit& letter, std::uint64_t& limit) const;
  void admit(const Admit& letter);
  void admit_channel(const AdmitChannel& letter);
  void leave(std::uint64_t connection);
  void set_channels(Member& member, std::uint32_t channels);

  runtime::Shard& shard_;
  const runtime::Config& config_;
  const cluster::metadata::View& view_;
  const runtime::Address address_;
  std::unordered_map<std::uint64_t, Member> members_;  // by connection
  // Only what is not zero.
  std::map<std::string, std::uint64_t> vhosts_;
  std::map<std::string, UserCount> users_;
};

}  // namespace ringtail::broker
