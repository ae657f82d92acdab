// RabbitMQ's own keys: those that act here (TLS in config_tls.cc, logins and limits in
// config_access.cc), and those that are known but have no effect in this
// version. Sources: RabbitMQ's configuration guide and the schema files of its releases 3.7 to 4.1.
#include <algorithm>
#include <array>
#include <limits>

#include "broker/runtime/config_settings.h"

namespace ringtail::runtime {

namespace {

// --- keys that act ---

bool is_true(std::string_view value) { return value == "true"; }
bool is_boolean(std::string_view value) { return value == "true" || value == "false"; }

std::string apply_listener(ConfigDraft& draft, std::string_view name, std::string_view value) {
  std::uint64_t port = 0;
  if (name == "default" && parse_whole_number(value, port)) return apply_amqp_port(draft, value);
  std::string rule =
      apply_listener_value(draft.extra_ports, draft.config.extra_amqp_listeners, value);
  if (rule.empty()) draft.tcp_listener_given = true;
  return rule;
}

std::string apply_loopback_user(ConfigDraft& draft, std::string_view name, std::string_view value) {
  if (!is_boolean(value)) return "is not true or false";
  auto& users = draft.config.loopback_users;
  std::erase(users, name);
  if (is_true(value)) users.emplace_back(name);
  return {};
}

std::string apply_handshake_timeout(ConfigDraft& draft, std::string_view value) {
  constexpr std::uint32_t kLongest = std::numeric_limits<std::uint32_t>::max();
  std::uint64_t time_ms = kLongest;
  if (value != "infinity" &&
      (!parse_whole_number(value, time_ms) || time_ms < 1 || time_ms > kLongest)) {
    return "is not a time (in milliseconds, at least 1; or infinity)";
  }
  draft.config.handshake_timeout_ms = static_cast<std::uint32_t>(time_ms);
  return {};
}

std::string apply_watermark_part(ConfigDraft& draft, std::string_view value) {
  double fraction = 0;
  if (!parse_fraction(value, fraction) || fraction <= 0 || fraction > 1) {
    return "is not a part of memory (over 0 and up to 1: 0.4)";
  }
  draft.config.memory_high_watermark_fraction = fraction;
  return {};
}

std::string apply_watermark_size(ConfigDraft& draft, std::string_view value) {
  std::uint64_t bytes = 0;
  if (!parse_size(value, bytes) || bytes == 0) return std::string(kSizeRule);
  draft.config.memory_high_watermark = bytes;
  return {};
}

std::string apply_disk_limit_absolute(ConfigDraft& draft, std::string_view value) {
  std::uint64_t bytes = 0;
  if (!parse_size(value, bytes)) return std::string(kSizeRule);
  draft.config.disk_free_limit = bytes;
  draft.disk_limit_absolute = true;
  return {};
}

std::string apply_none_listener(ConfigDraft& draft, std::string_view value) {
  if (value != "none") return "is not 'none' (ports go to listeners.tcp.default)";
  draft.tcp_none = true;
  return {};
}

std::string apply_none_loopback(ConfigDraft& draft, std::string_view value) {
  if (value != "none") return "is not 'none' (users go to loopback_users.NAME = true or false)";
  draft.loopback_none = true;
  return {};
}

// Lines go to the console, which is what this key asks for; the opposite cannot be had.
std::string apply_console(ConfigDraft& draft, std::string_view value) {
  if (!is_boolean(value)) return "is not true or false";
  if (!is_true(value)) {
    draft.config.warnings.emplace_back("log.console = false: the log goes to stderr all the same");
  }
  return {};
}

std::string apply_product(ConfigDraft& draft, std::string_view value) {
  return apply_text(draft.config.product, value);
}
std::string apply_cluster_name(ConfigDraft& draft, std::string_view value) {
  return apply_text(draft.config.cluster_name, value);
}

struct ActingKey {
  std::string_view key;
  ApplyValue apply;
};

// heartbeat, frame_max, channel_max and max_message_size are file keys of flags as well.
constexpr std::array kActingKeys = {
    ActingKey{"listeners.tcp", apply_none_listener},
    ActingKey{"loopback_users", apply_none_loopback},
    ActingKey{"vm_memory_high_watermark.relative", apply_watermark_part},
    ActingKey{"vm_memory_high_watermark.absolute", apply_watermark_size},
    ActingKey{"vm_memory_high_watermark_paging_ratio", apply_paging_ratio},
    ActingKey{"memory_high_watermark_paging_ratio", apply_paging_ratio},
    ActingKey{"disk_free_limit.absolute", apply_disk_limit_absolute},
    ActingKey{"disk_free_limit.relative", apply_disk_limit_relative},
    ActingKey{"handshake_timeout", apply_handshake_timeout},
    ActingKey{"log.console", apply_console},
    ActingKey{"log.console.level", apply_log_level},
    ActingKey{"log.default.level", apply_log_level},
    ActingKey{"log.level", apply_log_level},
    ActingKey{"cluster_name", apply_cluster_name},
    ActingKey{"product.name", apply_product},
};

// --- keys without effect ---

// A family of keys whose members nobody lists: everything that begins so.
constexpr std::array<std::string_view, 43> kFamilies = {
    "advanced.",
    "auth_cache.",
    "auth_http.",
    "auth_ldap.",
    "auth_oauth2.",
    "aws.",
    "classic_queue.",
    "cluster_formation.",
    "cluster_tags.",
    "consistent_hashing.",
    "credential_validator.",
    "default_limits.",
    "default_policies.",
    "default_users.",
    "definitions.",
    "deprecated_features.",
    "distribution.",
    "event_exchange.",
    "federation.",
    "http_dispatch.",
    "log.",
    "management.",
    "management_agent.",
    "message_interceptors.",
    "mqtt.",
    "node_tags.",
    "prometheus.",
    "quorum_queue.",
    "queue_types.",
    "raft.",
    "runtime_parameters.limits.",
    "shovel.",
    "socket_writer.",
    "stomp.",
    "stream.",
    "sysmon_handler.",
    "tracing.",
    "trust_store.",
    "web_mqtt.",
    "web_stomp.",
    "tcp_listen_options.linger.",
    "metadata_store.",
    "exchange_types.",
};

// Single keys; a last part of "*" stands for any one name.
constexpr std::array<std::string_view, 75> kWithoutEffect = {
    "anonymous_login_pass",
    "anonymous_login_user",
    "auth_backends.*",
    "auth_backends.*.authn",
    "auth_backends.*.authz",
    "background_gc_enabled",
    "background_gc_target_interval",
    "channel_interceptor.priorities.*",
    "channel_max_per_node",
    "channel_operation_timeout",
    "cluster_exchange_limit",
    "cluster_keepalive_interval",
    "cluster_partition_handling.pause_if_all_down.nodes.*",
    "cluster_partition_handling.pause_if_all_down.recover",
    "collect_statistics",
    "collect_statistics_interval",
    "consumer_disconnected_timeout",
    "default_queue_type",
    "default_worker_pool_size",
    "delegate_count",
    "erlang.K",
    "hipe_compile",
    "initial_frame_max",
    "lazy_queue_explicit_gc_run_operation_threshold",
    "link_max_per_session",
    "max_channels_per_connection",
    "max_connections",
    "memory_monitor_interval",
    "message_store_shutdown_timeout",
    "mirroring_sync_batch_size",
    "mirroring_sync_max_throughput",
    "mnesia_table_loading_retry_limit",
    "mnesia_table_loading_retry_timeout",
    "motd_file",
    "msg_store_credit_disc_bound",
    "msg_store_file_size_limit",
    "msg_store_index_module",
    "msg_store_io_batch_size",
    "net_ticktime",
    "num_acceptors.ssl",
    "num_acceptors.tcp",
    "password_hashing_module",
    "prevent_startup_if_node_was_reset",
    "product.version",
    "proxy_protocol",
    "queue_explicit_gc_run_operation_threshold",
    "queue_index_embed_msgs_below",
    "queue_index_max_journal_entries",
    "queue_leader_locator",
    "ranch_connection_max",
    "reverse_dns_lookups",
    "session_max_per_connection",
    "ssl_allow_poodle_attack",
    "ssl_cert_login_san_index",
    "ssl_cert_login_san_type",
    "ssl_options",
    "ssl_options.bypass_pem_cache",
    "ssl_options.dh",
    "ssl_options.dhfile",
    "ssl_options.honor_ecc_order",
    "ssl_options.log_alert",
    "ssl_options.log_level",
    "ssl_options.psk_identity",
    "ssl_options.reuse_sessions",
    "statistics.level",
    "tcp_listen_options.buffer",
    "tcp_listen_options.delay_send",
    "tcp_listen_options.exit_on_close",
    "tcp_listen_options.keepalive",
    "tcp_listen_options.nodelay",
    "tcp_listen_options.recbuf",
    "tcp_listen_options.sndbuf",
    "total_memory_available_override_value",
    "vhost_restart_strategy",
    "vm_memory_calculation_strategy",
};

// Part by part; "*" in the pattern matches any one part that is not empty.
bool matches(std::string_view pattern, std::string_view key) {
  while (true) {
    const std::size_t pattern_end = std::min(pattern.find('.'), pattern.size());
    const std::size_t key_end = std::min(key.find('.'), key.size());
    const std::string_view part = pattern.substr(0, pattern_end);
    if (part == "*" ? key_end == 0 : part != key.substr(0, key_end)) return false;
    const bool pattern_ends = pattern_end == pattern.size();
    if (pattern_ends || key_end == key.size()) return pattern_ends && key_end == key.size();
    pattern.remove_prefix(pattern_end + 1);
    key.remove_prefix(key_end + 1);
  }
}

bool has_no_effect(std::string_view key) {
  const auto in_family = [key](std::string_view family) {
    return key.starts_with(family) && key.size() > family.size();
  };
  return std::any_of(kFamilies.begin(), kFamilies.end(), in_family) ||
         std::any_of(kWithoutEffect.begin(), kWithoutEffect.end(),
                     [key](std::string_view pattern) { return matches(pattern, key); });
}

}  // namespace

KeyKind apply_rabbitmq_key(ConfigDraft& draft, std::string_view key, std::string_view value,
                           std::string& rule) {
  if (const auto name = name_behind(key, "listeners.tcp."); !name.empty()) {
    rule = apply_listener(draft, name, value);
    return KeyKind::kActs;
  }
  if (const auto name = name_behind(key, "loopback_users."); !name.empty()) {
    rule = apply_loopback_user(draft, name, value);
    return KeyKind::kActs;
  }
  if (apply_tls_key(draft, key, value, rule) || apply_access_key(draft, key, value, rule) ||
      apply_cluster_key(draft, key, value, rule)) {
    return KeyKind::kActs;
  }
  for (const ActingKey& acting : kActingKeys) {
    if (acting.key != key) continue;
    rule = acting.apply(draft, value);
    return KeyKind::kActs;
  }
  return has_no_effect(key) ? KeyKind::kHasNoEffect : KeyKind::kUnknown;
}

}  // namespace ringtail::runtime
