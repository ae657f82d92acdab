#include "broker/connection_registry.h"

#include <utility>

#include "broker/runtime/check.h"

namespace ringtail::broker {

using runtime::Address;
using runtime::letter_cast;

namespace {

// Beside the well-known ids of the metadata service and of the BrokerShards.
constexpr runtime::ActorId kRegistryActor{(1ULL << 62) + 0x101};

}  // namespace

ConnectionRegistry::ConnectionRegistry(runtime::Shard& shard, const runtime::Config& config,
                                       const cluster::metadata::View& view)
    : shard_(shard), config_(config), view_(view), address_(shard.add(kRegistryActor, *this)) {
  RT_CHECK(shard.id().value == 0, "the connection registry lives on shard 0");
}

ConnectionRegistry::~ConnectionRegistry() { shard_.remove(address_.actor); }

Address ConnectionRegistry::address(runtime::NodeId node) {
  return {node, runtime::ShardId{0}, kRegistryActor};
}

void ConnectionRegistry::receive(runtime::LetterPtr letter) noexcept {
  switch (letter->kind) {
    case kAdmit:
      return admit(letter_cast<Admit>(*letter));
    case kLeave:
      return leave(letter_cast<Leave>(*letter).connection);
    case kChannelCounts:
      for (const auto& count : letter_cast<ChannelCounts>(*letter).counts) {
        const auto found = members_.find(count.connection);
        if (found != members_.end()) set_channels(found->second, count.channels);
      }
      return;
    case kAdmitChannel:
      return admit_channel(letter_cast<AdmitChannel>(*letter));
    default:
      RT_CHECK(false, "a letter that the connection registry does not know");
  }
}

// In RabbitMQ's order: node, vhost, user. That the user may enter the vhost is asked afterwards.
Admission ConnectionRegistry::judge(const Admit& letter, std::uint64_t& limit) const {
  limit = config_.connection_max;
  if (limit != 0 && members_.size() >= limit) return Admission::kNodeFull;
  const auto vhost = view_.vhost(letter.vhost);
  if (vhost == nullptr) return Admission::kNoVhost;
  if (const auto& most = vhost->limits.max_connections) {
    limit = *most;
    if (connections_of_vhost(letter.vhost) >= limit) return Admission::kVhostFull;
  }
  const auto user = view_.user(letter.user);
  if (user == nullptr) return Admission::kNoUser;
  if (const auto& most = user->limits.max_connections) {
    limit = *most;
    if (connections_of_user(letter.user) >= limit) return Admission::kUserFull;
  }
  return Admission::kYes;
}

void ConnectionRegistry::admit(const Admit& letter) {
  auto answer = std::make_unique<Admitted>();
  answer->admission = judge(letter, answer->limit);
  if (answer->admission == Admission::kYes) {
    const bool added =
        members_.emplace(letter.connection, Member{letter.user, letter.vhost, 0}).second;
    RT_CHECK(added, "a connection asked twice to be admitted");
    ++vhosts_[letter.vhost];
    ++users_[letter.user].connections;
  }
  shard_.post(address_, letter.from, std::move(answer));
}

void ConnectionRegistry::leave(std::uint64_t connection) {
  const auto found = members_.find(connection);
  if (found == members_.end()) return;  // it was refused
  set_channels(found->second, 0);
  const auto vhost = vhosts_.find(found->second.vhost);
  if (--vhost->second == 0) vhosts_.erase(vhost);
  const auto user = users_.find(found->second.user);
  if (--user->second.connections == 0) users_.erase(user);
  members_.erase(found);
}

void ConnectionRegistry::set_channels(Member& member, std::uint32_t channels) {
  UserCount& user = users_[member.user];
  user.channels = user.channels - member.channels + channels;
  member.channels = channels;
}

void ConnectionRegistry::admit_channel(const AdmitChannel& letter) {
  auto answer = std::make_unique<ChannelAdmitted>();
  answer->request = letter.request;
  const auto found = members_.find(letter.connection);
  const auto user = found == members_.end() ? nullptr : view_.user(found->second.user);
  if (user == nullptr) {
    answer->admission = Admission::kNoUser;  // the connection is about to be closed
  } else {
    Member& member = found->second;
    const std::uint64_t others = channels_of_user(member.user) - member.channels;
    answer->limit = user->limits.max_channels.value_or(0);
    if (user->limits.max_channels && others + letter.channels > answer->limit) {
      answer->admission = Admission::kUserFull;
    } else {
      set_channels(member, letter.channels);
    }
  }
  shard_.post(address_, letter.from, std::move(answer));
}

std::uint64_t ConnectionRegistry::connections_of_vhost(const std::string& vhost) const {
  const auto found = vhosts_.find(vhost);
  return found == vhosts_.end() ? 0 : found->second;
}

std::uint64_t ConnectionRegistry::connections_of_user(const std::string& user) const {
  const auto found = users_.find(user);
  return found == users_.end() ? 0 : found->second.connections;
}

std::uint64_t ConnectionRegistry::channels_of_user(const std::string& user) const {
  const auto found = users_.find(user);
  return found == users_.end() ? 0 : found->second.channels;
}

}  // namespace ringtail::broker
