// Commands of RabbitMQ's tools that are not in this version, and what does instead.
#include <algorithm>
#include <array>

#include "tools/ctl/command.h"

namespace ringtail::ctl {

namespace {

struct Absent {
  std::string_view name;
  std::string_view instead;
};

constexpr std::string_view kSignal = "send the node's process SIGTERM";
constexpr std::string_view kMirrors = "queues have no mirrors yet";
constexpr std::string_view kRename =
    "a node keeps its name; let one with the new name join (join_cluster), and have the old one "
    "forgotten (forget_cluster_node)";
constexpr std::string_view kNoErlang = "there is no Erlang in the node";
constexpr std::string_view kFlags = "there are no feature flags; every version has all it can do";
constexpr std::string_view kLog = "the node logs to its standard error; see where that goes";
constexpr std::string_view kSecrets = "a value of the configuration can be $(NAME), a variable";
constexpr std::string_view kListeners =
    "stop_app closes all listeners but HTTP's, start_app opens them again";

constexpr std::array kAbsent = {
    Absent{"alarms", "cluster_status and status show the alarms, check_alarms looks for one"},
    Absent{"cancel_sync_queue", kMirrors},
    Absent{"certificates", "GET /api/health/checks/certificate-expiration/WITHIN/UNIT"},
    Absent{"change_cluster_node_type", "every node keeps its metadata on disk"},
    Absent{"check_certificate_expiration",
           "GET /api/health/checks/certificate-expiration/WITHIN/UNIT"},
    Absent{"check_if_node_is_mirror_sync_critical", kMirrors},
    Absent{"check_if_node_is_quorum_critical", "cluster_status shows which nodes run"},
    Absent{"cipher_suites", "see 'openssl ciphers -v'; ssl_options.ciphers chooses"},
    Absent{"decode", kSecrets},
    Absent{"enable_feature_flag", kFlags},
    Absent{"encode", kSecrets},
    Absent{"environment", "see the configuration file, which status names, and the node's log"},
    Absent{"erlang_version", kNoErlang},
    Absent{"eval", kNoErlang},
    Absent{"eval_file", kNoErlang},
    Absent{"exec", kNoErlang},
    Absent{"force_gc", "the node gives free memory back by itself"},
    Absent{"hipe_compile", kNoErlang},
    Absent{"is_booting", "check_running and await_startup say whether it serves"},
    Absent{"list_ciphers", "see 'openssl ciphers -v'; ssl_options.ciphers chooses"},
    Absent{"list_deprecated_features", "there are none"},
    Absent{"list_feature_flags", kFlags},
    Absent{"list_node_auth_attempt_stats", "the log has every login that failed"},
    Absent{"list_unresponsive_queues", "list_queues waits for no queue; it shows what is down"},
    Absent{"log_location", kLog},
    Absent{"log_tail", kLog},
    Absent{"log_tail_stream", kLog},
    Absent{"memory_breakdown", "status shows the memory, list_queues that of each queue"},
    Absent{"node_health_check", "use check_running, check_alarms and check_port_connectivity"},
    Absent{"rebalance", "a queue stays where it was declared"},
    Absent{"remote_shell", kNoErlang},
    Absent{"rename_cluster_node", kRename},
    Absent{"report", "use status, cluster_status and the lists"},
    Absent{"reset_stats_db", "there is no such database"},
    Absent{"restart_vhost", "a virtual host runs as long as the node does"},
    Absent{"resume_listeners", kListeners},
    Absent{"rotate_logs", "the node logs to its standard error; whoever takes that rotates it"},
    Absent{"schema_info", kNoErlang},
    Absent{"set_log_level", "start the node with --log-level"},
    Absent{"shutdown", kSignal},
    Absent{"stop", kSignal},
    Absent{"suspend_listeners", kListeners},
    Absent{"sync_queue", kMirrors},
    Absent{"trace_off", "messages cannot be traced"},
    Absent{"trace_on", "messages cannot be traced"},
    Absent{"update_cluster_nodes", "reset the node, then join_cluster"},
};

}  // namespace

std::string_view instead_of(std::string_view name) {
  const auto found = std::find_if(kAbsent.begin(), kAbsent.end(),
                                  [name](const Absent& absent) { return absent.name == name; });
  return found == kAbsent.end() ? std::string_view() : found->instead;
}

}  // namespace ringtail::ctl
