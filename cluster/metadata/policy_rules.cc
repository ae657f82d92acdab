#include "cluster/metadata/policy_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "broker/runtime/pattern.h"

namespace ringtail::cluster::metadata {

namespace {

enum class Shape : std::uint8_t { kFromZero, kFromOne, kText, kOneOf, kVersion, kAge };

struct Rule {
  std::string_view key;
  Shape shape;
  std::string_view fault;  // behind the value
  bool operator_too = false;
  std::array<std::string_view, 4> words = {};  // kOneOf
};

// By key: of several faults the first is named.
constexpr Rule kRules[] = {
    {"alternate-exchange", Shape::kText, "is not a valid alternate exchange name"},
    {"consumer-timeout", Shape::kFromZero, "is not a valid consumer timeout"},
    {"dead-letter-exchange", Shape::kText, "is not a valid dead letter exchange name"},
    {"dead-letter-routing-key", Shape::kText, "is not a valid dead letter routing key"},
    {"dead-letter-strategy",
     Shape::kOneOf,
     "is not a valid dead letter strategy",
     false,
     {"at-most-once", "at-least-once"}},
    {"delivery-limit", Shape::kFromZero, "is not a valid delivery limit", true},
    {"expires", Shape::kFromOne, "is not a valid queue expiry", true},
    {"federation-upstream", Shape::kText, "is not a valid federation upstream name"},
    {"federation-upstream-pattern", Shape::kText, "is not a valid federation upstream pattern"},
    {"federation-upstream-set", Shape::kText, "is not a valid federation upstream set name"},
    {"ha-min-in-sync", Shape::kFromOne, "is not a valid number of members in sync", true},
    {"initial-cluster-size", Shape::kFromZero, "is not a valid cluster size"},
    {"max-age", Shape::kAge, "is not a valid max age"},
    {"max-in-memory-bytes", Shape::kFromZero, "is not a valid maximum memory in bytes", true},
    {"max-in-memory-length", Shape::kFromZero, "is not a valid maximum memory in bytes", true},
    {"max-length", Shape::kFromZero, "is not a valid maximum length", true},
    {"max-length-bytes", Shape::kFromZero, "is not a valid maximum length in bytes", true},
    {"message-ttl", Shape::kFromZero, "is not a valid message TTL", true},
    {"overflow",
     Shape::kOneOf,
     "is not a valid overflow value",
     true,
     {"drop-head", "reject-publish", "reject-publish-dlx"}},
    {"queue-leader-locator",
     Shape::kOneOf,
     "is not a valid queue leader locator value",
     false,
     {"client-local", "balanced", "random", "least-leaders"}},
    {"queue-master-locator",
     Shape::kOneOf,
     "invalid queue-master-locator value",
     false,
     {"min-masters", "client-local", "random"}},
    {"queue-mode", Shape::kOneOf, "is not a valid queue-mode value", false, {"default", "lazy"}},
    {"queue-version", Shape::kVersion, "is not a valid queue-version value", true},
    {"stream-max-segment-size-bytes", Shape::kFromZero, "is not a valid segment size"},
    {"target-group-size", Shape::kFromZero, "is not a valid group size"},
};

constexpr std::string_view kHaKeys[] = {"ha-mode",
                                        "ha-params",
                                        "ha-promote-on-failure",
                                        "ha-promote-on-shutdown",
                                        "ha-sync-batch-size",
                                        "ha-sync-mode"};
constexpr std::string_view kOperatorHaKeys[] = {"ha-mode", "ha-params", "ha-sync-mode"};
constexpr std::string_view kShardingKeys[] = {"routing-key", "shards-per-node"};

template <typename List>
bool holds(const List& list, std::string_view key) {
  return std::find(std::begin(list), std::end(list), key) != std::end(list);
}

const Rule* rule_of(std::string_view key, bool of_operator) {
  const auto* rule = std::find_if(std::begin(kRules), std::end(kRules),
                                  [&](const Rule& known) { return known.key == key; });
  if (rule == std::end(kRules) || (of_operator && !rule->operator_too)) return nullptr;
  return rule;
}

bool is_ha_key(std::string_view key, bool of_operator) {
  return of_operator ? holds(kOperatorHaKeys, key) : holds(kHaKeys, key);
}

bool is_known(std::string_view key, bool of_operator) {
  return rule_of(key, of_operator) != nullptr || is_ha_key(key, of_operator) ||
         (!of_operator && holds(kShardingKeys, key));
}

// As osiris reads it: digits and a unit.
bool is_age(std::string_view text) {
  if (text.size() < 2) return false;
  const std::string_view digits = text.substr(0, text.size() - 1);
  return std::string_view("YMDhms").find(text.back()) != std::string_view::npos &&
         digits.find_first_not_of("0123456789") == std::string_view::npos;
}

bool fits(const Rule& rule, const PolicyValue& value) {
  const auto* number = std::get_if<std::int64_t>(&value);
  const auto* text = std::get_if<std::string>(&value);
  switch (rule.shape) {
    case Shape::kFromZero:
      return number != nullptr && *number >= 0;
    case Shape::kFromOne:
      return number != nullptr && *number >= 1;
    case Shape::kText:
      return text != nullptr;
    case Shape::kOneOf:
      return text != nullptr && !text->empty() && holds(rule.words, *text);
    case Shape::kVersion:
      return number != nullptr && (*number == 1 || *number == 2);
    case Shape::kAge:
      return text != nullptr && is_age(*text);
  }
  return false;
}

std::string line(std::string text) { return text + "\n"; }

const PolicyValue* find(const PolicyDefinition& definition, std::string_view key) {
  const auto found = definition.find(key);
  return found == definition.end() ? nullptr : &found->second;
}

const std::string* text_at(const PolicyDefinition& definition, std::string_view key) {
  const PolicyValue* value = find(definition, key);
  return value == nullptr ? nullptr : std::get_if<std::string>(value);
}

// --- mirroring -----------------------------------------------------------------------------------

std::string ha_params_fault(std::string_view mode, const PolicyValue* params) {
  const std::string given = params == nullptr ? "none" : erlang_term(*params);
  if (mode == "all") {
    return params == nullptr ? "" : line("ha-mode=\"all\" does not take parameters");
  }
  if (mode == "exactly") {
    const auto* number = params == nullptr ? nullptr : std::get_if<std::int64_t>(params);
    if (number != nullptr && *number > 0) return "";
    return line(fmt::format("ha-mode=\"exactly\" takes an integer, {} given", given));
  }
  const auto* list = params == nullptr ? nullptr : std::get_if<std::vector<std::string>>(params);
  if (list == nullptr) {
    return line(fmt::format("ha-mode=\"nodes\" takes a list, {} given", given));
  }
  return list->empty() ? line("ha-mode=\"nodes\" list must be non-empty") : "";
}

std::string ha_word_fault(const PolicyDefinition& definition, std::string_view key,
                          std::string_view one, std::string_view other) {
  const PolicyValue* value = find(definition, key);
  if (value == nullptr) return "";
  const std::string* text = std::get_if<std::string>(value);
  if (text != nullptr && (*text == one || *text == other)) return "";
  return line(
      fmt::format("{} must be \"{}\" or \"{}\", got {}", key, one, other, erlang_term(*value)));
}

std::string ha_fault(const PolicyDefinition& definition, bool of_operator) {
  const bool any = std::any_of(definition.begin(), definition.end(), [&](const auto& item) {
    return is_ha_key(item.first, of_operator);
  });
  if (!any) return "";
  const PolicyValue* mode = find(definition, "ha-mode");
  if (mode == nullptr) {
    return line(
        "ha-mode must be specified to specify ha-params, ha-sync-mode or ha-promote-on-shutdown");
  }
  const std::string* name = std::get_if<std::string>(mode);
  if (name == nullptr || (*name != "all" && *name != "exactly" && *name != "nodes")) {
    return line(fmt::format("{} is not a valid ha-mode value", erlang_term(*mode)));
  }
  std::string fault = ha_params_fault(*name, find(definition, "ha-params"));
  if (fault.empty()) fault = ha_word_fault(definition, "ha-sync-mode", "manual", "automatic");
  if (const PolicyValue* size = find(definition, "ha-sync-batch-size"); fault.empty() && size) {
    const auto* number = std::get_if<std::int64_t>(size);
    if (number == nullptr || *number < 1) {
      fault = line(fmt::format("ha-sync-batch-size takes an integer greater than 0, {} given",
                               erlang_term(*size)));
    }
  }
  for (const std::string_view key : {"ha-promote-on-shutdown", "ha-promote-on-failure"}) {
    if (fault.empty()) fault = ha_word_fault(definition, key, "always", "when-synced");
  }
  return fault;
}

// --- sharding ------------------------------------------------------------------------------------

std::string sharding_fault(const PolicyDefinition& definition) {
  const PolicyValue* shards = find(definition, "shards-per-node");
  const PolicyValue* key = find(definition, "routing-key");
  if (shards == nullptr) return key == nullptr ? "" : line("shards-per-node must be specified");
  const auto* number = std::get_if<std::int64_t>(shards);
  if (number == nullptr) {
    return line(
        fmt::format("shards-per-node should be a number, actually was {}", erlang_term(*shards)));
  }
  if (*number < 0) {
    return line(fmt::format("shards-per-node should be greater than 0, actually was {}", *number));
  }
  if (key != nullptr && text_at(definition, "routing-key") == nullptr) {
    return line(fmt::format("routing-key should be binary, actually was {}", erlang_term(*key)));
  }
  return "";
}

std::string unknown_fault(const PolicyDefinition& definition, bool of_operator) {
  std::string settings;
  for (const auto& [key, value] : definition) {
    if (is_known(key, of_operator)) continue;
    if (!settings.empty()) settings += ',';
    settings += fmt::format("{{{},{}}}", erlang_term(PolicyValue(key)), erlang_term(value));
  }
  if (settings.empty()) return "";
  return line(fmt::format("[{}] are not recognised policy settings", settings));
}

// --- Erlang terms --------------------------------------------------------------------------------

// The character that follows a backslash; 0: printed as it is; none: not printable (Latin-1).
std::optional<char> escape_of(char character) {
  constexpr std::string_view kRaw = "\b\x7f\x1b\f\n\r\t\v\"\\";
  constexpr std::string_view kEscaped = "bdefnrtv\"\\";
  if (const std::size_t at = kRaw.find(character); at != std::string_view::npos) {
    return kEscaped[at];
  }
  const auto code = static_cast<unsigned char>(character);
  if (code < 0x20 || (code > 0x7e && code < 0xa0)) return std::nullopt;
  return '\0';
}

std::string binary_term(std::string_view text) {
  if (text.empty()) return "<<>>";
  std::string printed;
  std::string numbers;
  bool printable = true;
  for (const char character : text) {
    if (!numbers.empty()) numbers += ',';
    numbers += std::to_string(static_cast<unsigned char>(character));
    const auto escape = escape_of(character);
    printable &= escape.has_value();
    if (!escape) continue;
    if (*escape != '\0') printed += '\\';
    printed += *escape == '\0' ? character : *escape;
  }
  return printable ? "<<\"" + printed + "\">>" : "<<" + numbers + ">>";
}

// The shortest digits that read back as the number, always with a point: 1.0, 0.1, 1.0e30.
std::string float_term(double value) {
  std::string text = fmt::format("{}", value);
  const std::size_t exponent = text.find('e');
  std::string digits = text.substr(0, exponent);
  if (digits.find('.') == std::string::npos) digits += ".0";
  if (exponent == std::string::npos) return digits;
  std::string power = text.substr(exponent + 1);
  if (power.front() == '+') power.erase(0, 1);
  return digits + 'e' + power;
}

struct TermPrinter {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return float_term(value); }
  std::string operator()(const std::string& value) const { return binary_term(value); }
  std::string operator()(const std::vector<std::string>& value) const {
    std::string items;
    for (const std::string& item : value) {
      if (!items.empty()) items += ',';
      items += binary_term(item);
    }
    return "[" + items + "]";
  }
};

constexpr std::pair<PolicyTarget, std::string_view> kTargets[] = {
    {PolicyTarget::kAll, "all"},
    {PolicyTarget::kQueues, "queues"},
    {PolicyTarget::kExchanges, "exchanges"},
    {PolicyTarget::kClassicQueues, "classic_queues"},
    {PolicyTarget::kQuorumQueues, "quorum_queues"},
};

// Erlang's regular expressions are PCRE 8, whose texts differ here and there.
std::string_view old_text(std::string_view text) {
  if (text == "missing closing parenthesis") return "missing )";
  if (text == "quantifier does not follow a repeatable item") return "nothing to repeat";
  return text;
}

}  // namespace

std::string erlang_term(const PolicyValue& value) { return std::visit(TermPrinter{}, value); }

std::string definition_fault(const PolicyDefinition& definition, bool of_operator) {
  if (definition.empty()) return line("no policy provided");
  for (const auto& [key, value] : definition) {
    const Rule* rule = rule_of(key, of_operator);
    if (rule != nullptr && !fits(*rule, value)) {
      return line(fmt::format("{} {}", erlang_term(value), rule->fault));
    }
  }
  std::string fault = ha_fault(definition, of_operator);
  if (fault.empty() && !of_operator) fault = sharding_fault(definition);
  if (fault.empty()) fault = unknown_fault(definition, of_operator);
  return fault;
}

std::string unusable_value_fault(std::string_view key, std::string_view term, bool of_operator) {
  if (const Rule* rule = rule_of(key, of_operator)) {
    return line(fmt::format("{} {}", term, rule->fault));
  }
  if (!is_known(key, of_operator)) {
    return line(
        fmt::format("[{{{},{}}}] are not recognised policy settings", binary_term(key), term));
  }
  if (key == "ha-mode") return line(fmt::format("{} is not a valid ha-mode value", term));
  if (key == "ha-params" && term.starts_with('[')) {
    return line(
        fmt::format("ha-mode=\"nodes\" takes a list of strings, {} was not a string", term));
  }
  if (key == "shards-per-node") {
    return line(fmt::format("shards-per-node should be a number, actually was {}", term));
  }
  return line(fmt::format("{} is not a valid value of {}", term, key));
}

std::string target_fault(std::string_view apply_to) {
  return line(fmt::format("apply-to '{}' unrecognised; should be 'queues', 'exchanges' or 'all'",
                          apply_to));
}

std::string pattern_fault(std::string_view pattern) {
  const auto compiled = runtime::Pattern::compile(pattern);
  if (compiled.ok()) return "";
  // "'<pattern>' is not a regular expression: <what> at character <where>"
  const std::string& text = compiled.status().text();
  constexpr std::string_view kBefore = "is not a regular expression: ";
  constexpr std::string_view kBetween = " at character ";
  const std::size_t what = text.rfind(kBefore) + kBefore.size();
  const std::size_t where = text.rfind(kBetween);
  return line(fmt::format("pattern should be regular expression but is invalid: {{\"{}\",{}}}",
                          old_text(std::string_view(text).substr(what, where - what)),
                          text.substr(where + kBetween.size())));
}

std::string pattern_type_fault(std::string_view term) {
  return line(fmt::format("pattern should be a binary but was {}", term));
}

std::string priority_type_fault(std::string_view term) {
  return line(fmt::format("priority should be a number, actually was {}", term));
}

std::optional<PolicyTarget> policy_target(std::string_view apply_to) {
  for (const auto& [target, name] : kTargets) {
    if (name == apply_to) return target;
  }
  return std::nullopt;
}

std::string_view name_of(PolicyTarget target) {
  for (const auto& [known, name] : kTargets) {
    if (known == target) return name;
  }
  return "all";
}

std::string policy_fault(const PolicyRecord& policy) {
  const std::string faults =
      definition_fault(policy.definition, policy.of_operator) + pattern_fault(policy.pattern);
  return faults.empty() ? "" : std::string(kValidationFailed) + faults;
}

}  // namespace ringtail::cluster::metadata
