// The settings of the first start, of logins, of limits, of HTTP: RabbitMQ's keys.
#include <algorithm>
#include <array>
#include <limits>

#include "broker/runtime/config_settings.h"
#include "broker/runtime/pattern.h"

namespace ringtail::runtime {

namespace {

constexpr std::uint64_t kCountLargest = std::numeric_limits<std::uint32_t>::max();

std::string apply_user(ConfigDraft& draft, std::string_view value) {
  return apply_text(draft.config.default_user, value);
}
std::string apply_pass(ConfigDraft& draft, std::string_view value) {
  return apply_text(draft.config.default_pass, value);
}
std::string apply_vhost(ConfigDraft& draft, std::string_view value) {
  return apply_text(draft.config.default_vhost, value);
}

// Empty is allowed: it gives no permission.
std::string apply_permission(std::string& target, std::string_view value) {
  if (const auto pattern = Pattern::compile(value); !pattern.ok()) {
    return "is not a permission (a regular expression): " + pattern.status().text();
  }
  target = value;
  return {};
}
std::string apply_configure(ConfigDraft& draft, std::string_view value) {
  return apply_permission(draft.config.default_permissions_configure, value);
}
std::string apply_write(ConfigDraft& draft, std::string_view value) {
  return apply_permission(draft.config.default_permissions_write, value);
}
std::string apply_read(ConfigDraft& draft, std::string_view value) {
  return apply_permission(draft.config.default_permissions_read, value);
}

std::string apply_user_tag(ConfigDraft& draft, std::string_view tag, std::string_view value) {
  bool on = false;
  if (std::string rule = apply_boolean(on, value); !rule.empty()) return rule;
  auto& tags = draft.config.default_user_tags;
  if (!draft.user_tags_given) tags.clear();
  draft.user_tags_given = true;
  std::erase(tags, tag);
  if (on) tags.emplace_back(tag);
  return {};
}

std::string apply_mechanism(ConfigDraft& draft, std::string_view value) {
  if (value != "PLAIN" && value != "AMQPLAIN" && value != "EXTERNAL") {
    return "is not a mechanism of this node (PLAIN, AMQPLAIN, EXTERNAL)";
  }
  auto& mechanisms = draft.config.auth_mechanisms;
  if (!draft.mechanisms_given) mechanisms.clear();
  draft.mechanisms_given = true;
  std::erase(mechanisms, value);
  mechanisms.emplace_back(value);
  return {};
}

std::string apply_consumer_max(ConfigDraft& draft, std::string_view value) {
  std::uint64_t limit = 0;
  std::string rule = apply_limit(limit, value, kCountLargest);
  if (rule.empty()) draft.config.consumer_max_per_channel = static_cast<std::uint32_t>(limit);
  return rule;
}
std::string apply_connection_max(ConfigDraft& draft, std::string_view value) {
  return apply_limit(draft.config.connection_max, value, kCountLargest);
}
std::string apply_vhost_max(ConfigDraft& draft, std::string_view value) {
  return apply_limit(draft.config.vhost_max, value, kCountLargest);
}
std::string apply_queue_limit(ConfigDraft& draft, std::string_view value) {
  return apply_limit(draft.config.cluster_queue_limit, value, kCountLargest);
}

std::string apply_accept_quorum(ConfigDraft& draft, std::string_view value) {
  return apply_boolean(draft.config.accept_quorum_queues, value);
}

std::string apply_import_backend(ConfigDraft&, std::string_view value) {
  if (value == "local_filesystem" || value == "rabbit_definitions_import_local_filesystem") {
    return {};
  }
  return "is not supported (local_filesystem is; its file goes to definitions.local.path)";
}

std::string apply_management_ip(ConfigDraft& draft, std::string_view value) {
  std::string address;
  if (!parse_numeric_address(value, address)) return "is not a numeric address";
  const auto& bind = draft.config.bind;
  if (std::find(bind.begin(), bind.end(), address) == bind.end()) {
    draft.config.warnings.push_back("management.tcp.ip " + address +
                                    ": HTTP listens on the addresses of bind, as AMQP does");
  }
  return {};
}

std::string apply_backlog(ConfigDraft& draft, std::string_view value) {
  std::uint64_t backlog = 0;
  if (!parse_whole_number(value, backlog) || backlog < 1 || backlog > 65535) {
    return "is not a backlog (1 to 65535 connections)";
  }
  draft.config.tcp_backlog = static_cast<std::uint16_t>(backlog);
  return {};
}

struct AccessKey {
  std::string_view key;
  ApplyValue apply;
};

constexpr std::array kAccessKeys = {
    AccessKey{"default_user", apply_user},
    AccessKey{"default_pass", apply_pass},
    AccessKey{"default_vhost", apply_vhost},
    AccessKey{"default_permissions.configure", apply_configure},
    AccessKey{"default_permissions.write", apply_write},
    AccessKey{"default_permissions.read", apply_read},
    AccessKey{"consumer_max_per_channel", apply_consumer_max},
    AccessKey{"connection_max", apply_connection_max},
    AccessKey{"vhost_max", apply_vhost_max},
    AccessKey{"cluster_queue_limit", apply_queue_limit},
    AccessKey{"queue_types.quorum.accept", apply_accept_quorum},
    AccessKey{"load_definitions", apply_definitions},
    AccessKey{"management.load_definitions", apply_definitions},
    AccessKey{"definitions.local.path", apply_definitions},
    AccessKey{"definitions.import_backend", apply_import_backend},
    AccessKey{"management.tcp.port", apply_management_port},
    AccessKey{"management.listener.port", apply_management_port},
    AccessKey{"management.tcp.ip", apply_management_ip},
    AccessKey{"management.listener.ip", apply_management_ip},
    AccessKey{"tcp_listen_options.backlog", apply_backlog},
};

}  // namespace

bool apply_access_key(ConfigDraft& draft, std::string_view key, std::string_view value,
                      std::string& rule) {
  for (const AccessKey& known : kAccessKeys) {
    if (known.key != key) continue;
    rule = known.apply(draft, value);
    return true;
  }
  if (const auto tag = name_behind(key, "default_user_tags."); !tag.empty()) {
    rule = apply_user_tag(draft, tag, value);
    return true;
  }
  if (!name_behind(key, "auth_mechanisms.").empty()) {
    rule = apply_mechanism(draft, value);
    return true;
  }
  return false;
}

std::string apply_definitions(ConfigDraft& draft, std::string_view value) {
  return apply_text(draft.config.definitions_file, value);
}

std::string apply_management_port(ConfigDraft& draft, std::string_view value) {
  draft.config.management_enabled = value != "none";
  if (!draft.config.management_enabled) return {};
  std::uint64_t port = 0;
  if (!parse_whole_number(value, port) || port > 65535) {
    return "is not a port (0 to 65535; 0 takes any free one, none opens none)";
  }
  draft.config.management_port = static_cast<std::uint16_t>(port);
  return {};
}

std::string apply_consumer_timeout(ConfigDraft& draft, std::string_view value) {
  std::uint64_t time_ms = 0;
  if (value != "infinity" && value != "undefined" &&
      (!parse_whole_number(value, time_ms) || time_ms > kCountLargest)) {
    return "is not a time (in milliseconds; 0 is none)";
  }
  draft.config.consumer_timeout_ms = time_ms;
  return {};
}

}  // namespace ringtail::runtime
