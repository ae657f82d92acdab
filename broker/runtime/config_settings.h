// Private to the config*.cc and command_line.cc: the one table of settings behind flags and file
// keys, and a configuration while it is being put together.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "broker/runtime/config.h"

namespace ringtail::runtime {

// What a file and the flags have said so far. Some keys only make sense together, so they are
// collected here and resolved at the end (file_done(), all_done()).
struct ConfigDraft {
  Config config;
  bool amqp_port_given = false;
  bool tcp_none = false;                   // listeners.tcp = none
  bool tcp_listener_given = false;         // any other listeners.tcp.X
  bool loopback_none = false;              // loopback_users = none
  std::vector<std::uint16_t> extra_ports;  // listeners.tcp.X = port: on every bind address
  bool ssl_none = false;                   // listeners.ssl = none
  std::vector<std::uint16_t> extra_tls_ports;
  // Lists that replace the default as soon as the file has one entry.
  bool user_tags_given = false;
  bool mechanisms_given = false;
  bool disk_limit_absolute = false;  // beats a relative one of the same source, as in RabbitMQ
};

// Puts a value into the draft. Returns nothing, or the rule that the value breaks, to be read after
// the value: "is not a port (0 to 65535)".
using ApplyValue = std::string (*)(ConfigDraft& draft, std::string_view value);

struct Setting {
  const char* flag;      // "amqp-port"; its file key has underscores
  const char* group;     // heading in --help
  const char* argument;  // "PORT"
  const char* help;
  const char* fallback;  // the default as --help shows it
  ApplyValue apply;
};

std::span<const Setting> settings();

// Flags that INTERFACE.md has for later versions: "management-port".
bool is_flag_of_later_version(std::string_view flag);

// What a RabbitMQ key of a file is to this version.
enum class KeyKind : unsigned char { kUnknown, kActs, kHasNoEffect };
// If the key acts, applies it; `rule` is the broken rule or empty.
KeyKind apply_rabbitmq_key(ConfigDraft& draft, std::string_view key, std::string_view value,
                           std::string& rule);
// Parts of it (config_tls.cc, config_access.cc). False: not one of theirs.
bool apply_tls_key(ConfigDraft& draft, std::string_view key, std::string_view value,
                   std::string& rule);
bool apply_access_key(ConfigDraft& draft, std::string_view key, std::string_view value,
                      std::string& rule);
// cluster_ssl_options.*, for TLS between nodes.
bool apply_link_tls_key(TlsConfig& tls, std::string_view key, std::string_view value,
                        std::string& rule);
Status link_tls_done(const TlsConfig& tls);
bool apply_cluster_key(ConfigDraft& draft, std::string_view key, std::string_view value,
                       std::string& rule);

// The files' part is complete, and all is: keys that belong together are resolved. The second names
// what contradicts itself.
void file_done(ConfigDraft& draft);
Status all_done(ConfigDraft& draft);
Status tls_done(ConfigDraft& draft);
Status cluster_done(const ConfigDraft& draft);

// --- values ---
std::string apply_amqp_port(ConfigDraft& draft, std::string_view value);
std::string apply_amqps_port(ConfigDraft& draft, std::string_view value);
std::string apply_management_port(ConfigDraft& draft, std::string_view value);
std::string apply_definitions(ConfigDraft& draft, std::string_view value);
std::string apply_cluster_port(ConfigDraft& draft, std::string_view value);
std::string apply_join(ConfigDraft& draft, std::string_view value);
std::string apply_cookie_file(ConfigDraft& draft, std::string_view value);
std::string apply_heartbeat_interval(ConfigDraft& draft, std::string_view value);
std::string apply_lease(ConfigDraft& draft, std::string_view value);
std::string apply_node_down(ConfigDraft& draft, std::string_view value);
std::string apply_partition_handling(ConfigDraft& draft, std::string_view value);
std::string apply_consumer_timeout(ConfigDraft& draft, std::string_view value);
std::string apply_disk_limit_relative(ConfigDraft& draft, std::string_view value);
std::string apply_paging_ratio(ConfigDraft& draft, std::string_view value);
std::string apply_log_level(ConfigDraft& draft, std::string_view value);
std::string apply_frame_max(ConfigDraft& draft, std::string_view value);
std::string apply_channel_max(ConfigDraft& draft, std::string_view value);
std::string apply_heartbeat(ConfigDraft& draft, std::string_view value);
std::string apply_max_message_size(ConfigDraft& draft, std::string_view value);

// Text that is not empty, and not encrypted: what this version cannot read must not become a
// password by mistake.
std::string apply_text(std::string& target, std::string_view value);
// "true" or "false"; the rule otherwise.
std::string apply_boolean(bool& target, std::string_view value);
// A number up to `largest`; "infinity" and 0 are no limit.
std::string apply_limit(std::uint64_t& target, std::string_view value, std::uint64_t largest);
// A port (then into `ports`, for every address of `bind`) or an address and port.
std::string apply_listener_value(std::vector<std::uint16_t>& ports,
                                 std::vector<ListenAddress>& listeners, std::string_view value);
// "listeners.tcp.NAME" with the prefix "listeners.tcp.": its NAME, or nothing.
std::string_view name_behind(std::string_view key, std::string_view prefix);

// False when the text is not a whole decimal number or over 64 bits.
bool parse_whole_number(std::string_view text, std::uint64_t& out);
// "4096", "128MiB", "2 GB": K/Ki/KiB count 1024, KB 1000, and so on to T; case does not matter.
bool parse_size(std::string_view text, std::uint64_t& out);
// "0.4", "1"; nothing but digits and one point.
bool parse_fraction(std::string_view text, double& out);
// "127.0.0.1", "::1", "[::1]": into a form without brackets.
bool parse_numeric_address(std::string_view text, std::string& out);
// What a size, an address ... has to look like, for messages.
inline constexpr std::string_view kSizeRule =
    "is not a size (a number of bytes, or one with a unit: 64KiB, 128MiB, 2GB)";
inline constexpr std::string_view kPortRule = "is not a port (0 to 65535; 0 takes any free one)";

}  // namespace ringtail::runtime
