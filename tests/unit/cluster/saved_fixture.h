// For tests of what outlives a restart: a store's durable content as text, and a random command.
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "cluster/metadata/saved_codec.h"
#include "cluster/metadata/store.h"

namespace ringtail::cluster::metadata {

// One line per record that is kept, sorted: a change of kind kPut as it is written to disk.
class Lines final : public ChangeSink {
 public:
  void changed(ChangeKind kind, AnyRecord record) override {
    ChangeEncoder encoder;
    encoder.changed(kind, record);
    lines.push_back(encoder.take());
  }
  std::vector<std::string> lines;
};

inline std::vector<std::string> saved_lines(Store& store) {
  Lines lines;
  const std::uint64_t walk = store.begin_walk();
  while (store.walk_saved(walk, 7, lines)) {
  }
  std::sort(lines.lines.begin(), lines.lines.end());
  return lines.lines;
}

// Names are few, so that they come and go.
inline Command random_command(std::mt19937& random, const Store& store) {
  const auto number = [&](unsigned below) { return static_cast<unsigned>(random() % below); };
  const std::string vhost = number(6) == 0 ? "v" : "/";
  const std::string queue = "q" + std::to_string(number(12));
  const std::string exchange = number(4) == 0 ? "amq.topic" : "e" + std::to_string(number(6));
  const std::string user = "u" + std::to_string(number(3));
  const std::string policy = "p" + std::to_string(number(3));
  const std::string other = "e" + std::to_string(number(6));
  BindingRecord binding{.vhost = vhost,
                        .source = exchange,
                        .destination = queue,
                        .routing_key = std::to_string(number(5)),
                        .arguments = number(4) == 0 ? std::string("\0x", 2) : ""};
  if (number(5) == 0) {
    binding.kind = DestinationKind::kExchange;
    binding.destination = other;
  }
  switch (std::max(2U, number(17))) {
    case 2: {
      DeclareQueue command;
      command.record.vhost = vhost;
      command.record.name = queue;
      command.record.durable = number(4) != 0;
      command.record.exclusive_owner = number(8) == 0 ? 9 : 0;
      if (number(2) == 0) command.record.options.dead_letter_exchange = "";
      return command;
    }
    case 3: {
      const auto record = store.queue(vhost, queue);
      return DeleteQueue{vhost, queue, record == nullptr ? Qid{0} : record->qid};
    }
    case 4:
    case 5:
      return DeclareExchange{{.vhost = vhost,
                              .name = other,
                              .type = "topic",
                              .durable = number(3) != 0,
                              .auto_delete = number(3) == 0}};
    case 6:
      return DeleteExchange{vhost, other, number(2) == 0};
    case 7:
      return Unbind{binding};
    case 8:
      return PutUser{{.name = user, .password_hash = std::string("\0\1\2", 3), .tags = {"t"}}};
    case 9:
      return number(3) == 0 ? Command(DeleteUser{user})
                            : Command(SetUserLimits{user, {.max_channels = number(4)}});
    case 10:
      return PutPermission{{.vhost = vhost, .user = user, .configure = "^a", .read = ".*"}};
    case 11: {
      PutPolicy command;
      command.record = {.vhost = vhost,
                        .name = policy,
                        .of_operator = number(2) == 0,
                        .pattern = "q",
                        .priority = -1,
                        .definition = {{"max-length", std::int64_t{number(4)}},
                                       {"ha-params", std::vector<std::string>{"a", "b"}}}};
      return command;
    }
    case 12:
      return number(4) == 0 ? Command(DeleteVhost{"v"}) : Command(PutVhost{{.name = "v"}});
    case 13:
      return DeletePolicy{vhost, policy, false};
    case 14:
      return PutParameter{{.component = "c", .vhost = vhost, .name = user, .value = "{}"}};
    default:
      return Bind{binding};
  }
}

}  // namespace ringtail::cluster::metadata
