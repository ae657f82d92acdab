#include "cluster/raft/types.h"

#include <algorithm>
#include <set>

#include "broker/runtime/check.h"

namespace ringtail::cluster::raft {

namespace {

using runtime::Code;
using runtime::Result;
using runtime::Status;

constexpr std::uint8_t kEncodingVersion = 1;

// libraft writes its numbers in little-endian order.
void put_number(std::string& out, std::uint64_t number) {
  for (int shift = 0; shift < 64; shift += 8) {
    out += static_cast<char>(static_cast<unsigned char>(number >> shift));
  }
}

std::uint64_t number_at(std::string_view bytes, std::size_t at) {
  std::uint64_t number = 0;
  for (std::size_t i = 8; i-- > 0;) {
    number = number << 8 | static_cast<unsigned char>(bytes[at + i]);
  }
  return number;
}

Status bad(const char* how) {
  return {Code::kInvalid, std::string("a configuration of Raft: ") + how};
}

// The server at `at`, which moves behind it.
Result<Server> server_at(std::string_view bytes, std::size_t& at) {
  if (bytes.size() - at < 8) return bad("it ends within the id of a server");
  Server server;
  const std::uint64_t id = number_at(bytes, at);
  at += 8;
  if (id == 0 || id > UINT32_MAX) return bad("the id of a server is out of range");
  server.id.value = static_cast<std::uint32_t>(id);
  const std::size_t end = bytes.find('\0', at);
  if (end == std::string_view::npos) return bad("it ends within an address");
  if (end - at > kMaxAddressBytes) return bad("an address is too long");
  server.address = std::string(bytes.substr(at, end - at));
  at = end + 1;
  if (at == bytes.size()) return bad("it ends before the role of a server");
  const auto role = static_cast<unsigned char>(bytes[at++]);
  if (role > RAFT_SPARE) return bad("the role of a server is unknown");
  server.role = static_cast<Role>(role);
  return server;
}

}  // namespace

std::string encode_configuration(const Configuration& configuration) {
  std::string out;
  out += static_cast<char>(kEncodingVersion);
  put_number(out, configuration.size());
  for (const Server& server : configuration) {
    put_number(out, server.id.value);
    out += server.address;
    out += '\0';
    out += static_cast<char>(server.role);
  }
  out.resize((out.size() + 7) / 8 * 8, '\0');
  return out;
}

Result<Configuration> decode_configuration(std::string_view bytes) {
  if (bytes.size() < 9) return bad("it is too short");
  if (static_cast<unsigned char>(bytes[0]) != kEncodingVersion) return bad("unknown version");
  const std::uint64_t count = number_at(bytes, 1);
  if (count == 0 || count > kMaxServers) return bad("its number of servers is out of range");
  Configuration configuration;
  std::set<std::uint32_t> ids;
  std::set<std::string> addresses;
  std::size_t at = 9;
  for (std::uint64_t i = 0; i < count; ++i) {
    auto server = server_at(bytes, at);
    if (!server.ok()) return server.status();
    if (!ids.insert(server.value().id.value).second) return bad("an id stands in it twice");
    if (!addresses.insert(server.value().address).second) {
      return bad("an address stands in it twice");
    }
    configuration.push_back(std::move(server).value());
  }
  return configuration;
}

RaftBuffer make_raft_buffer(std::size_t size) {
  auto* const bytes = static_cast<std::uint8_t*>(raft_malloc(std::max<std::size_t>(size, 8)));
  RT_CHECK(bytes != nullptr, "no memory for Raft");
  return RaftBuffer(bytes);
}

}  // namespace ringtail::cluster::raft
