// The table of settings and what their values may be.
#include "broker/runtime/config.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "broker/runtime/config_settings.h"
#include "broker/runtime/limits.h"
#include "broker/runtime/machine.h"

namespace ringtail::runtime {

namespace {

// The read buffer's headroom holds one frame of this size and no larger one (limits.h).
constexpr std::uint32_t kFrameMaxLargest = kReadHeadroom - 64;
// RabbitMQ's largest, too; a message is held in memory as a whole.
constexpr std::uint64_t kMessageSizeLargest = 512ULL * 1024 * 1024;
constexpr std::uint64_t kShardsMost = 256;
constexpr std::size_t kNodeNameMax = 255;

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

std::string apply_node_name(ConfigDraft& draft, std::string_view value) {
  const std::size_t at = value.find('@');
  const bool shaped = at != std::string_view::npos && at > 0 && at + 1 < value.size() &&
                      value.size() <= kNodeNameMax;
  const auto all_allowed = [](std::string_view part) {
    return std::all_of(part.begin(), part.end(), is_name_character);
  };
  if (!shaped || !all_allowed(value.substr(0, at)) || !all_allowed(value.substr(at + 1))) {
    return "is not a node name (name@host of letters, digits, '-', '_' and '.')";
  }
  draft.config.node_name = value;
  return {};
}

std::string apply_data_dir(ConfigDraft& draft, std::string_view value) {
  if (value.empty() || value.find('\0') != std::string_view::npos) return "is not a directory name";
  draft.config.data_dir = value;
  return {};
}

std::string apply_bind(ConfigDraft& draft, std::string_view value) {
  std::vector<std::string> addresses;
  const auto add = [&](std::string address) {
    if (std::find(addresses.begin(), addresses.end(), address) == addresses.end()) {
      addresses.push_back(std::move(address));
    }
  };
  while (true) {
    const std::size_t comma = std::min(value.find(','), value.size());
    std::string_view part = value.substr(0, comma);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    std::string address;
    if (part == "*") {
      add("0.0.0.0");
      add("::");
    } else if (parse_numeric_address(part, address)) {
      add(std::move(address));
    } else {
      return "is not a list of addresses (numeric, comma separated: 127.0.0.1,::1; * is all)";
    }
    if (comma == value.size()) break;
    value.remove_prefix(comma + 1);
  }
  draft.config.bind = std::move(addresses);
  return {};
}

std::string apply_shards(ConfigDraft& draft, std::string_view value) {
  std::uint64_t shards = 0;
  if (!parse_whole_number(value, shards) || shards < 1 || shards > kShardsMost) {
    return "is not a number of shards (1 to 256)";
  }
  draft.config.shards = static_cast<unsigned>(shards);
  return {};
}

std::string apply_watermark(ConfigDraft& draft, std::string_view value) {
  double fraction = 0;
  std::uint64_t bytes = 0;
  if (parse_fraction(value, fraction) && fraction > 0 && fraction <= 1) {
    draft.config.memory_high_watermark_fraction = fraction;
    draft.config.memory_high_watermark = 0;
  } else if (parse_size(value, bytes) && bytes > 1) {
    draft.config.memory_high_watermark = bytes;
  } else {
    return "is not a watermark (a part of memory, over 0 and up to 1: 0.4; or a size: 2GB)";
  }
  return {};
}

std::string apply_disk_limit(ConfigDraft& draft, std::string_view value) {
  std::uint64_t bytes = 0;
  // "1" is a byte; who means the memory writes 1.0.
  if (value.find('.') != std::string_view::npos) {
    const std::string rule = apply_disk_limit_relative(draft, value);
    draft.disk_limit_absolute = draft.disk_limit_absolute && !rule.empty();
    return rule;
  }
  if (!parse_size(value, bytes)) {
    return "is not a limit (a size: 50MB, or a part of memory with a point: 1.0)";
  }
  draft.config.disk_free_limit = bytes;
  draft.disk_limit_absolute = true;
  return {};
}

constexpr const char* kNodeGroup = "Node";
constexpr const char* kListenGroup = "Listening";
constexpr const char* kAmqpGroup = "AMQP";
constexpr const char* kClusterGroup = "Cluster";
constexpr const char* kLimitsGroup = "Limits";

constexpr std::array kSettings = {
    Setting{"node-name", kNodeGroup, "NAME@HOST", "name of this node", "ringtail@<short host>",
            apply_node_name},
    Setting{"data-dir", kNodeGroup, "DIR", "what the node writes", "./ringtail-data; see below",
            apply_data_dir},
    Setting{"shards", kNodeGroup, "N", "event loops, each a thread", "cores available less one",
            apply_shards},
    Setting{"definitions", kNodeGroup, "FILE", "RabbitMQ's JSON of definitions, loaded at boot",
            "none", apply_definitions},
    Setting{"log-level", kNodeGroup, "LEVEL", "debug, info, warning, error or none", "info",
            apply_log_level},
    Setting{"bind", kListenGroup, "ADDRESSES", "addresses, comma separated; * is all",
            "127.0.0.1,::1", apply_bind},
    Setting{"amqp-port", kListenGroup, "PORT", "AMQP; 0 takes any free port", "5672",
            apply_amqp_port},
    Setting{"amqps-port", kListenGroup, "PORT|none", "AMQP over TLS; see ssl_options in the docs",
            "none", apply_amqps_port},
    Setting{"management-port", kListenGroup, "PORT|none", "HTTP; 0 takes any free port", "15672",
            apply_management_port},
    Setting{"cluster-port", kClusterGroup, "PORT", "other nodes; 0 takes any free port", "25672",
            apply_cluster_port},
    Setting{"join", kClusterGroup, "HOST:PORT,...", "members of a cluster, for an empty node",
            "none", apply_join},
    Setting{"cookie-file", kClusterGroup, "FILE", "the secret that nodes share", "DIR/cookie",
            apply_cookie_file},
    Setting{"heartbeat-interval-ms", kClusterGroup, "MS", "between nodes", "250",
            apply_heartbeat_interval},
    Setting{"lease-ms", kClusterGroup, "MS", "how long a node acts on its own", "1500",
            apply_lease},
    Setting{"node-down-ms", kClusterGroup, "MS", "silence after which a node counts as down",
            "2000", apply_node_down},
    Setting{"cluster-partition-handling", kClusterGroup, "WAY", "RabbitMQ's values",
            "pause_minority", apply_partition_handling},
    Setting{"frame-max", kAmqpGroup, "SIZE", "largest frame, 4096 to 131072 bytes", "131072",
            apply_frame_max},
    Setting{"channel-max", kAmqpGroup, "N", "channels per connection; 0 is no limit", "2047",
            apply_channel_max},
    Setting{"heartbeat", kAmqpGroup, "SECONDS", "heartbeat offered to clients; 0 is none", "60",
            apply_heartbeat},
    Setting{"consumer-timeout", kLimitsGroup, "MS",
            "longest time for an acknowledgement; 0 is none", "0", apply_consumer_timeout},
    Setting{"max-message-size", kLimitsGroup, "SIZE", "largest message, up to 512MiB", "128MiB",
            apply_max_message_size},
    Setting{"memory-high-watermark", kLimitsGroup, "PART|SIZE",
            "memory above which publishers wait", "0.4", apply_watermark},
    Setting{"disk-free-limit", kLimitsGroup, "SIZE|TIMES",
            "free disk space below which publishers wait", "50MB", apply_disk_limit},
};

constexpr std::array<std::string_view, 1> kLaterFlags = {"metrics-port"};

// What a unit multiplies by: "KiB" 1024, "kb" 1000, "" 1. False: no such unit.
bool unit_factor(std::string_view unit, std::uint64_t& factor) {
  std::string lower;
  for (const char c : unit) lower += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  if (lower.empty() || lower == "b") {
    factor = 1;
    return true;
  }
  const std::size_t power = std::string_view("kmgt").find(lower.front());
  if (power == std::string_view::npos) return false;
  const std::string_view rest = std::string_view(lower).substr(1);
  if (rest != "" && rest != "b" && rest != "i" && rest != "ib") return false;
  const std::uint64_t base = rest == "b" ? 1000 : 1024;
  factor = 1;
  for (std::size_t i = 0; i <= power; ++i) factor *= base;
  return true;
}

}  // namespace

std::span<const Setting> settings() { return kSettings; }

bool is_flag_of_later_version(std::string_view flag) {
  return std::find(kLaterFlags.begin(), kLaterFlags.end(), flag) != kLaterFlags.end();
}

// --- values that RabbitMQ keys share with flags ---

std::string apply_amqp_port(ConfigDraft& draft, std::string_view value) {
  std::uint64_t port = 0;
  if (!parse_whole_number(value, port) || port > 65535) return std::string(kPortRule);
  draft.config.amqp_port = static_cast<std::uint16_t>(port);
  draft.config.amqp_listener_enabled = true;
  draft.amqp_port_given = true;
  return {};
}

std::string apply_disk_limit_relative(ConfigDraft& draft, std::string_view value) {
  double times = 0;
  if (!parse_fraction(value, times) || times <= 0 || times > 1e6) {
    return "is not a multiple of the memory (over 0: 1.5)";
  }
  draft.config.disk_free_limit_relative = times;
  return {};
}

std::string apply_paging_ratio(ConfigDraft& draft, std::string_view value) {
  double ratio = 0;
  if (!parse_fraction(value, ratio) || ratio > 1) return "is not a part of the watermark (0 to 1)";
  draft.config.paging_ratio = ratio;
  return {};
}

std::string apply_log_level(ConfigDraft& draft, std::string_view value) {
  const Result<LogLevel> level = parse_log_level(value);
  if (!level.ok()) return "is not a log level (debug, info, warning, error, none)";
  draft.config.log_level = level.value();
  return {};
}

std::string apply_frame_max(ConfigDraft& draft, std::string_view value) {
  std::uint64_t bytes = 0;
  if (!parse_size(value, bytes)) return std::string(kSizeRule);
  if (bytes != 0 && bytes < kFrameMinSize) {
    return "is too small for a frame (4096 to 131072; 0 is the largest there is)";
  }
  if (bytes == 0 || bytes > kFrameMaxLargest) {
    draft.config.warnings.push_back("frame_max " + std::string(value) +
                                    ": the largest frame of this version, 131072, is used");
    bytes = kFrameMaxLargest;
  }
  draft.config.frame_max = static_cast<std::uint32_t>(bytes);
  return {};
}

std::string apply_channel_max(ConfigDraft& draft, std::string_view value) {
  std::uint64_t channels = 0;
  if (!parse_whole_number(value, channels) || channels > 65535) {
    return "is not a number of channels (0 to 65535; 0 is no limit)";
  }
  draft.config.channel_max = static_cast<std::uint16_t>(channels);
  return {};
}

std::string apply_heartbeat(ConfigDraft& draft, std::string_view value) {
  std::uint64_t seconds = 0;
  if (!parse_whole_number(value, seconds) || seconds > 65535) {
    return "is not a heartbeat (0 to 65535 seconds; 0 is none)";
  }
  draft.config.heartbeat_s = static_cast<std::uint16_t>(seconds);
  return {};
}

std::string apply_max_message_size(ConfigDraft& draft, std::string_view value) {
  std::uint64_t bytes = 0;
  if (!parse_size(value, bytes)) return std::string(kSizeRule);
  if (bytes < 1 || bytes > kMessageSizeLargest) return "is not between 1 byte and 512MiB";
  draft.config.max_message_size = bytes;
  return {};
}

std::string apply_text(std::string& target, std::string_view value) {
  if (value.empty()) return "is empty";
  if (value.starts_with("encrypted:")) return "is encrypted, which this version cannot read";
  target = value;
  return {};
}

std::string apply_boolean(bool& target, std::string_view value) {
  if (value != "true" && value != "false") return "is not true or false";
  target = value == "true";
  return {};
}

std::string apply_limit(std::uint64_t& target, std::string_view value, std::uint64_t largest) {
  std::uint64_t limit = 0;
  if (value != "infinity" && (!parse_whole_number(value, limit) || limit > largest)) {
    return "is not a limit (0 to " + std::to_string(largest) + "; 0 or infinity is none)";
  }
  target = limit;
  return {};
}

std::string apply_listener_value(std::vector<std::uint16_t>& ports,
                                 std::vector<ListenAddress>& listeners, std::string_view value) {
  std::uint64_t port = 0;
  if (parse_whole_number(value, port)) {
    if (port > 65535) return std::string(kPortRule);
    ports.push_back(static_cast<std::uint16_t>(port));
    return {};
  }
  const std::size_t colon = value.rfind(':');
  ListenAddress listener;
  if (colon == std::string_view::npos ||
      !parse_numeric_address(value.substr(0, colon), listener.address) ||
      !parse_whole_number(value.substr(colon + 1), port) || port > 65535) {
    return "is not a port (0 to 65535) or a numeric address and port (127.0.0.1:5672, ::1:5672)";
  }
  listener.port = static_cast<std::uint16_t>(port);
  listeners.push_back(std::move(listener));
  return {};
}

std::string_view name_behind(std::string_view key, std::string_view prefix) {
  return key.starts_with(prefix) ? key.substr(prefix.size()) : std::string_view();
}

bool parse_whole_number(std::string_view text, std::uint64_t& out) {
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, out);
  return error == std::errc() && at == end && !text.empty();
}

bool parse_size(std::string_view text, std::uint64_t& out) {
  std::size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
  std::string_view unit = text.substr(digits);
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  std::uint64_t number = 0;
  std::uint64_t factor = 0;
  if (!parse_whole_number(text.substr(0, digits), number) || !unit_factor(unit, factor)) {
    return false;
  }
  if (number > std::numeric_limits<std::uint64_t>::max() / factor) return false;
  out = number * factor;
  return true;
}

Result<std::uint64_t> parse_byte_size(std::string_view text) {
  std::uint64_t bytes = 0;
  if (parse_size(text, bytes)) return bytes;
  return Status(Code::kInvalid, "'" + std::string(text) + "' " + std::string(kSizeRule));
}

bool parse_fraction(std::string_view text, double& out) {
  const bool plain = std::all_of(text.begin(), text.end(),
                                 [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, out);
  return plain && error == std::errc() && at == end && !text.empty();
}

bool parse_numeric_address(std::string_view text, std::string& out) {
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  const std::string address(text);
  if (address.find('\0') != std::string::npos) return false;
  in6_addr binary;
  if (inet_pton(AF_INET, address.c_str(), &binary) != 1 &&
      inet_pton(AF_INET6, address.c_str(), &binary) != 1) {
    return false;
  }
  out = address;
  return true;
}

// --- what belongs together ---

void file_done(ConfigDraft& draft) {
  Config& config = draft.config;
  if (draft.tcp_none) {
    config.extra_amqp_listeners.clear();
    draft.extra_ports.clear();
    config.amqp_listener_enabled = false;
  } else if (draft.tcp_listener_given && !draft.amqp_port_given) {
    // As in RabbitMQ: listeners that are named take the place of the default one.
    config.amqp_listener_enabled = false;
  }
  if (draft.ssl_none) {
    config.extra_amqps_listeners.clear();
    draft.extra_tls_ports.clear();
    config.amqps_port = 0;
  }
  if (draft.loopback_none) config.loopback_users.clear();
}

Status all_done(ConfigDraft& draft) {
  Config& config = draft.config;
  for (const std::uint16_t port : draft.extra_ports) {
    for (const std::string& address : config.bind) {
      config.extra_amqp_listeners.push_back({address, port});
    }
  }
  draft.extra_ports.clear();
  if (draft.disk_limit_absolute) config.disk_free_limit_relative = 0;
  RT_TRY(cluster_done(draft));
  return tls_done(draft);
}

}  // namespace ringtail::runtime
