#include "broker/definitions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "broker/amqp/errors.h"
#include "broker/base64.h"
#include "broker/definitions_checks.h"
#include "broker/definitions_item.h"

namespace ringtail::broker {

using cluster::metadata::Bind;
using cluster::metadata::BindingRecord;
using cluster::metadata::Command;
using cluster::metadata::DeclareExchange;
using cluster::metadata::DeclareQueue;
using cluster::metadata::DestinationKind;
using cluster::metadata::ExchangeRecord;
using cluster::metadata::ParameterRecord;
using cluster::metadata::PasswordHashing;
using cluster::metadata::PermissionRecord;
using cluster::metadata::PolicyRecord;
using cluster::metadata::PolicyTarget;
using cluster::metadata::PutParameter;
using cluster::metadata::PutPermission;
using cluster::metadata::PutPolicy;
using cluster::metadata::PutTopicPermission;
using cluster::metadata::PutUser;
using cluster::metadata::PutVhost;
using cluster::metadata::QueueRecord;
using cluster::metadata::SetUserLimits;
using cluster::metadata::SetVhostLimits;
using cluster::metadata::TopicPermissionRecord;
using cluster::metadata::UserLimits;
using cluster::metadata::UserRecord;
using cluster::metadata::VhostLimits;
using cluster::metadata::VhostRecord;
using runtime::Code;
using runtime::Result;
using runtime::Status;

namespace {

// In the order in which an import goes.
enum Stage : std::size_t {
  kUsers,
  kVhosts,
  kLimits,
  kPermissions,
  kTopicPermissions,
  kExchanges,
  kGlobalParameters,
  kPolicies,
  kParameters,
  kQueues,
  kBindings,
  kStages
};

constexpr std::size_t kSaltSize = 4;
// Keys that say where the file comes from.
constexpr std::array<std::string_view, 10> kRemarks = {"rabbit_version",
                                                       "rabbitmq_version",
                                                       "product_name",
                                                       "product_version",
                                                       "rabbitmq_definition_format",
                                                       "original_cluster_name",
                                                       "original_vhost_name",
                                                       "explanation",
                                                       "metadata",
                                                       "bunny_version"};

// Keys of policies that something here acts on, or that ask for what is so anyway.
constexpr std::array<std::string_view, 12> kActing = {
    "message-ttl",        "expires",          "max-length",           "max-length-bytes",
    "overflow",           "delivery-limit",   "dead-letter-exchange", "dead-letter-routing-key",
    "alternate-exchange", "consumer-timeout", "queue-mode",           "queue-version"};

constexpr std::array<std::pair<std::string_view, PolicyTarget>, 5> kTargets = {
    std::pair{std::string_view("all"), PolicyTarget::kAll},
    std::pair{std::string_view("queues"), PolicyTarget::kQueues},
    std::pair{std::string_view("exchanges"), PolicyTarget::kExchanges},
    std::pair{std::string_view("classic_queues"), PolicyTarget::kClassicQueues},
    std::pair{std::string_view("quorum_queues"), PolicyTarget::kQuorumQueues}};

// A problem is one line, whatever a name holds.
std::string one_line(std::string line) {
  std::replace_if(
      line.begin(), line.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, ' ');
  return line;
}

std::string text_in(const Json& object, std::string_view key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::optional<PasswordHashing> hashing_named(std::string_view name) {
  if (name == "rabbit_password_hashing_sha256") return PasswordHashing::kSha256;
  if (name == "rabbit_password_hashing_sha512") return PasswordHashing::kSha512;
  if (name == "rabbit_password_hashing_md5") return PasswordHashing::kMd5;
  return std::nullopt;
}

std::size_t digest_size(PasswordHashing hashing) {
  switch (hashing) {
    case PasswordHashing::kSha256:
      return 32;
    case PasswordHashing::kSha512:
      return 64;
    case PasswordHashing::kMd5:
      return 16;
  }
  return 0;
}

// Of one import, over its Json.
class Import {
 public:
  explicit Import(const ImportOptions& options) : options_(options) {}

  Status run(const Json& definitions);
  ImportedDefinitions result();

 private:
  using Reader = void (Import::*)(DefinitionItem&);
  struct Section {
    std::string_view key;
    std::string_view kind;  // of one of its objects
    Reader read;
    bool in_vhost;  // also in the definitions of a single vhost
  };
  static const std::array<Section, 10> kSections;

  void read_section(const Section& section, const Json& items);
  std::string label(const Section& section, const Json& object, std::size_t index) const;
  std::string vhost_of(DefinitionItem& item) const;
  bool lacks_vhosts(const Json& definitions) const;

  void user(DefinitionItem& item);
  void password(DefinitionItem& item, UserRecord& record);
  void vhost(DefinitionItem& item);
  void permission(DefinitionItem& item);
  void topic_permission(DefinitionItem& item);
  void parameter(DefinitionItem& item);
  void policy_parameter(DefinitionItem& item, bool of_operator);
  void vhost_limits(DefinitionItem& item);
  void global_parameter(DefinitionItem& item);
  void policy(DefinitionItem& item);
  void read_policy(DefinitionItem& item, PolicyRecord record);
  void exchange(DefinitionItem& item);
  void queue(DefinitionItem& item);
  void binding(DefinitionItem& item);

  // Unless something was wrong with the item.
  void add(Stage stage, const DefinitionItem& item, Command command) {
    if (item.fault().empty()) stages_[stage].push_back(std::move(command));
  }
  // Something that is honoured in part.
  void remark(std::string_view text) { remarks_.emplace_back(text); }

  const ImportOptions& options_;
  std::array<std::vector<Command>, kStages> stages_;
  std::vector<std::string> remarks_;  // on the item that is being read
  std::vector<std::string> problems_;
};

const std::array<Import::Section, 10> Import::kSections = {
    Section{"users", "user", &Import::user, false},
    Section{"vhosts", "vhost", &Import::vhost, false},
    Section{"permissions", "permissions", &Import::permission, false},
    Section{"topic_permissions", "topic permissions", &Import::topic_permission, false},
    Section{"parameters", "parameter", &Import::parameter, true},
    Section{"global_parameters", "global parameter", &Import::global_parameter, false},
    Section{"policies", "policy", &Import::policy, true},
    Section{"exchanges", "exchange", &Import::exchange, true},
    Section{"queues", "queue", &Import::queue, true},
    Section{"bindings", "binding", &Import::binding, true}};

// Objects that belong to a vhost, none of which says to which.
bool Import::lacks_vhosts(const Json& definitions) const {
  bool any = false;
  for (const Section& section : kSections) {
    const auto items = definitions.find(section.key);
    if (!section.in_vhost || items == definitions.end() || !items->is_array()) continue;
    // Policies and parameters name theirs even there.
    if (section.key == "policies" || section.key == "parameters") continue;
    for (const Json& item : *items) {
      if (!item.is_object()) continue;
      if (item.contains("vhost")) return false;
      any = true;
    }
  }
  return any && !definitions.contains("vhosts");
}

Status Import::run(const Json& definitions) {
  if (!definitions.is_object()) {
    return {Code::kInvalid,
            "no definitions: the JSON has to be an object with lists of users, "
            "vhosts, queues and so on"};
  }
  if (options_.vhost.empty() && lacks_vhosts(definitions)) {
    return {Code::kInvalid,
            "the definitions are those of a single vhost and do not say of which: they have to be "
            "imported into a vhost"};
  }
  for (const Section& section : kSections) {
    const auto items = definitions.find(section.key);
    if (items == definitions.end() || items->is_null()) continue;
    if (options_.vhost.empty() || section.in_vhost) read_section(section, *items);
  }
  for (const auto& member : definitions.items()) {
    const auto is_key = [&](const Section& section) { return section.key == member.key(); };
    if (std::any_of(kSections.begin(), kSections.end(), is_key)) continue;
    if (std::find(kRemarks.begin(), kRemarks.end(), member.key()) != kRemarks.end()) continue;
    problems_.push_back(one_line(fmt::format("key '{}': not known, left out", member.key())));
  }
  return {};
}

void Import::read_section(const Section& section, const Json& items) {
  if (!items.is_array()) {
    problems_.push_back(fmt::format("{}: have to be a list, left out", section.key));
    return;
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string name = label(section, items[i], i);
    if (!items[i].is_object()) {
      problems_.push_back(fmt::format("{}: has to be an object", name));
      continue;
    }
    DefinitionItem item(items[i]);
    (this->*section.read)(item);
    if (!item.fault().empty()) problems_.push_back(one_line(name + ": " + item.fault()));
    for (const std::string& text : remarks_) problems_.push_back(one_line(name + ": " + text));
    remarks_.clear();
  }
}

// "queue 'q' in vhost '/'", as far as the object says so.
std::string Import::label(const Section& section, const Json& object, std::size_t index) const {
  const std::string nameless = fmt::format("{}[{}]", section.key, index);
  if (!object.is_object()) return nameless;
  const std::string vhost = options_.vhost.empty() ? text_in(object, "vhost") : options_.vhost;
  const std::string place = vhost.empty() ? "" : fmt::format(" in vhost '{}'", vhost);
  if (section.read == &Import::binding) {
    return fmt::format("binding of {} '{}' to exchange '{}' with key '{}'{}",
                       text_in(object, "destination_type"), text_in(object, "destination"),
                       text_in(object, "source"), text_in(object, "routing_key"), place);
  }
  const bool of_user =
      section.read == &Import::permission || section.read == &Import::topic_permission;
  const std::string name = text_in(object, of_user ? "user" : "name");
  if (name.empty()) return nameless;
  const std::string component = text_in(object, "component");
  if (section.read == &Import::parameter && !component.empty()) {
    return fmt::format("{} '{}' of component '{}'{}", section.kind, name, component, place);
  }
  return fmt::format("{}{} '{}'{}", section.kind, of_user ? " of user" : "", name, place);
}

std::string Import::vhost_of(DefinitionItem& item) const {
  return options_.vhost.empty() ? item.name("vhost") : options_.vhost;
}

// RabbitMQ's command line exports some objects as lists of pairs, [["max-queues",5]]: those as the
// objects that they stand for; anything else as it is.
Json object_of_pairs(const Json& json) {
  const auto is_pair = [](const Json& item) {
    return item.is_array() && item.size() == 2 && item[0].is_string();
  };
  if (!json.is_array() || json.empty() || !std::all_of(json.begin(), json.end(), is_pair)) {
    return json;
  }
  Json object = Json::object();
  for (const Json& pair : json) object[pair[0].get_ref<const std::string&>()] = pair[1];
  return object;
}

// --- who -----------------------------------------------------------------------------------------

// A limit below zero is none.
std::optional<std::uint64_t> limit_of(DefinitionItem& limits, std::string_view key) {
  const std::int64_t limit = limits.number_or(key, -1);
  return limit < 0 ? std::nullopt : std::optional<std::uint64_t>(limit);
}

void check_limit_names(DefinitionItem& item, const Json& limits,
                       std::array<std::string_view, 2> known) {
  for (const auto& member : limits.items()) {
    if (std::find(known.begin(), known.end(), member.key()) == known.end()) {
      item.fail(fmt::format("there is no limit '{}'", member.key()));
    }
  }
}

// None: there are none.
std::optional<Json> limits_in(DefinitionItem& item, std::string_view key) {
  const Json* found = item.find(key);
  if (found == nullptr || found->empty()) return std::nullopt;
  Json limits = object_of_pairs(*found);
  if (limits.is_object()) return limits;
  item.fail(fmt::format("{} have to be an object, not {}", key, json_text(limits)));
  return std::nullopt;
}

void Import::user(DefinitionItem& item) {
  UserRecord record;
  record.name = item.name("name");
  if (record.name.empty()) item.fail("the name is empty");
  record.tags = item.words("tags");
  // Before tags were introduced (RabbitMQ 2.3).
  if (item.find("tags") == nullptr && item.flag("administrator", false)) {
    record.tags = {"administrator"};
  }
  password(item, record);
  const std::string name = record.name;
  const std::optional<Json> limits = limits_in(item, "limits");
  UserLimits wanted;
  if (limits) {
    check_limit_names(item, *limits, {"max-connections", "max-channels"});
    DefinitionItem values(*limits);
    wanted = {limit_of(values, "max-connections"), limit_of(values, "max-channels")};
    item.fail(values.fault());
  }
  add(kUsers, item, PutUser{std::move(record)});
  if (limits) add(kLimits, item, SetUserLimits{name, wanted});
}

// A hash without the name of its algorithm is told by its size: such files were written when it was
// MD5, and by hand ever since.
void Import::password(DefinitionItem& item, UserRecord& record) {
  if (const Json* plain = item.find("password"); plain != nullptr && !item.find("password_hash")) {
    const std::string password = item.text("password");
    if (password.empty()) return;
    if (options_.hash_password == nullptr) {
      item.fail("a password in clear cannot be taken here");
      return;
    }
    record.password_hash = options_.hash_password(password);
    return;
  }
  const auto hash = base64_decode(item.text_or("password_hash", ""));
  if (!hash) {
    item.fail("password_hash is not Base64");
    return;
  }
  record.password_hash = *hash;
  const std::string algorithm = item.text_or("hashing_algorithm", "");
  const std::size_t size = hash->size();
  if (algorithm.empty()) {
    for (const auto hashing : {PasswordHashing::kMd5, PasswordHashing::kSha512}) {
      if (size == kSaltSize + digest_size(hashing)) record.hashing = hashing;
    }
  } else if (const auto named = hashing_named(algorithm)) {
    record.hashing = *named;
  } else {
    item.fail(fmt::format("there is no hashing_algorithm '{}'", algorithm));
    return;
  }
  if (size != 0 && size != kSaltSize + digest_size(record.hashing)) {
    item.fail(fmt::format("password_hash has {} bytes: salt and digest have {}", size,
                          kSaltSize + digest_size(record.hashing)));
  }
}

void Import::permission(DefinitionItem& item) {
  PermissionRecord record;
  record.vhost = item.name("vhost");
  record.user = item.name("user");
  record.configure = item.text("configure");
  record.write = item.text("write");
  record.read = item.text("read");
  for (const auto& [key, pattern] :
       {std::pair{"configure", record.configure}, std::pair{"write", record.write},
        std::pair{"read", record.read}}) {
    if (const auto fault = fault_of_pattern(key, pattern)) item.fail(*fault);
  }
  add(kPermissions, item, PutPermission{std::move(record)});
}

void Import::topic_permission(DefinitionItem& item) {
  TopicPermissionRecord record;
  record.vhost = item.name("vhost");
  record.user = item.name("user");
  record.exchange = item.name("exchange");
  record.write = item.text("write");
  record.read = item.text("read");
  for (const auto& [key, pattern] :
       {std::pair{"write", record.write}, std::pair{"read", record.read}}) {
    if (const auto fault = fault_of_pattern(key, pattern)) item.fail(*fault);
  }
  add(kTopicPermissions, item, PutTopicPermission{std::move(record)});
}

// --- where ---------------------------------------------------------------------------------------

void Import::vhost(DefinitionItem& item) {
  VhostRecord record;
  record.name = item.name("name");
  if (record.name.empty()) item.fail("the name is empty");
  const Json none = Json::object();
  const Json* metadata = item.find("metadata");
  DefinitionItem inner(metadata != nullptr && metadata->is_object() ? *metadata : none);
  record.description = item.text_or("description", inner.text_or("description", ""));
  record.tags = item.find("tags") != nullptr ? item.words("tags") : inner.words("tags");
  std::string type =
      item.text_or("default_queue_type", inner.text_or("default_queue_type", "undefined"));
  if (type == "rabbit_classic_queue") type = "classic";
  if (type == "rabbit_quorum_queue") type = "quorum";
  if (type == "classic" || type == "quorum") {
    record.default_queue_type = type;
  } else if (!type.empty() && type != "undefined") {
    remark(fmt::format("created without its default_queue_type '{}', which is not known", type));
  }
  if (inner.flag("protected_from_deletion", false)) {
    remark("created, but it can be deleted: protected_from_deletion is not known");
  }
  item.fail(inner.fault());
  const std::string name = record.name;
  add(kVhosts, item, PutVhost{std::move(record)});
  if (const std::optional<Json> limits = limits_in(item, "limits")) {
    check_limit_names(item, *limits, {"max-connections", "max-queues"});
    DefinitionItem values(*limits);
    const VhostLimits wanted{limit_of(values, "max-connections"), limit_of(values, "max-queues")};
    item.fail(values.fault());
    add(kLimits, item, SetVhostLimits{name, wanted});
  }
}

void Import::vhost_limits(DefinitionItem& item) {
  const std::optional<Json> limits = limits_in(item, "value");
  VhostLimits wanted;
  if (limits) {
    check_limit_names(item, *limits, {"max-connections", "max-queues"});
    DefinitionItem values(*limits);
    wanted = {limit_of(values, "max-connections"), limit_of(values, "max-queues")};
    item.fail(values.fault());
  }
  add(kLimits, item, SetVhostLimits{vhost_of(item), wanted});
}

// --- parameters and policies ---------------------------------------------------------------------

void Import::parameter(DefinitionItem& item) {
  ParameterRecord record;
  record.component = item.name("component");
  if (record.component == "vhost-limits") return vhost_limits(item);
  if (record.component == "operator_policy") return policy_parameter(item, true);
  if (record.component == "policy") return policy_parameter(item, false);
  record.vhost = vhost_of(item);
  record.name = item.name("name");
  const Json* value = item.find("value");
  if (value == nullptr) {
    item.fail("value is missing");
  } else {
    record.value = json_text(*value);
  }
  if (record.component.empty()) item.fail("component is empty");
  if (item.fault().empty()) remark("kept, but nothing here acts on it");
  add(kParameters, item, PutParameter{std::move(record)});
}

void Import::policy_parameter(DefinitionItem& item, bool of_operator) {
  PolicyRecord record;
  record.vhost = vhost_of(item);
  record.name = item.name("name");
  record.of_operator = of_operator;
  const Json* value = item.find("value");
  if (value == nullptr || !value->is_object()) {
    item.fail("value has to be an object");
    return;
  }
  DefinitionItem policy(*value);
  policy.fail(item.fault());
  read_policy(policy, std::move(record));
  item.fail(policy.fault());
}

void Import::policy(DefinitionItem& item) {
  PolicyRecord record;
  record.vhost = vhost_of(item);
  record.name = item.name("name");
  read_policy(item, std::move(record));
}

void Import::read_policy(DefinitionItem& item, PolicyRecord record) {
  record.pattern = item.text("pattern");
  record.priority = item.number_or("priority", 0);
  const std::string target = item.text_or("apply-to", "all");
  const auto found = std::find_if(kTargets.begin(), kTargets.end(),
                                  [&](const auto& known) { return known.first == target; });
  if (found == kTargets.end()) {
    item.fail(
        fmt::format("apply-to is '{}': all, queues, exchanges, classic_queues and "
                    "quorum_queues are known",
                    target));
    return;
  }
  record.apply_to = found->second;
  const Json* definition = item.find("definition");
  if (definition == nullptr) {
    item.fail("definition is missing");
    return;
  }
  auto decoded = policy_definition_of_json(object_of_pairs(*definition));
  if (!decoded.ok()) {
    item.fail("definition: " + decoded.status().text());
    return;
  }
  record.definition = std::move(decoded).value();
  if (const auto fault = fault_of_policy(record)) item.fail(*fault);
  std::vector<std::string_view> idle;
  for (const auto& [key, value] : record.definition) {
    if (std::find(kActing.begin(), kActing.end(), key) == kActing.end()) idle.push_back(key);
  }
  if (item.fault().empty() && !idle.empty()) {
    remark(fmt::format("kept, but nothing here acts on {}", fmt::join(idle, ", ")));
  }
  add(kPolicies, item, PutPolicy{std::move(record)});
}

void Import::global_parameter(DefinitionItem& item) {
  ParameterRecord record;
  record.name = item.name("name");
  const Json* value = item.find("value");
  if (value == nullptr) {
    item.fail("value is missing");
  } else {
    record.value = json_text(*value);
  }
  add(kGlobalParameters, item, PutParameter{std::move(record)});
}

// --- what ----------------------------------------------------------------------------------------

void Import::exchange(DefinitionItem& item) {
  ExchangeRecord record;
  record.vhost = vhost_of(item);
  record.name = item.name("name");
  record.type = item.text("type");
  record.durable = item.flag("durable", std::nullopt);
  record.auto_delete = item.flag("auto_delete", false);
  record.internal = item.flag("internal", false);
  record.arguments = item.arguments();
  if (item.fault().empty()) {
    if (const auto fault = fault_of_exchange(record)) item.fail(*fault);
  }
  // The default exchange is always there.
  if (!record.name.empty()) add(kExchanges, item, DeclareExchange{std::move(record)});
}

void Import::queue(DefinitionItem& item) {
  QueueRecord record;
  record.vhost = vhost_of(item);
  record.name = item.name("name");
  if (record.name.empty()) item.fail("the name is empty");
  record.durable = item.flag("durable", std::nullopt);
  record.auto_delete = item.flag("auto_delete", false);
  record.arguments = item.arguments();
  // A quorum queue whose arguments do not say so: declared where the vhost's default is that type.
  const std::string type = item.text_or("type", "classic");
  const Json* arguments = item.find("arguments");
  if (type != "classic" && (arguments == nullptr || !arguments->contains("x-queue-type"))) {
    amqp::FieldTable typed;
    typed.set("x-queue-type", type);
    record.arguments += typed.encode();
  }
  if (item.fault().empty()) {
    if (const auto fault = decode_queue(record, options_.accept_quorum)) item.fail(*fault);
  }
  add(kQueues, item, DeclareQueue{std::move(record), {}, false});
}

void Import::binding(DefinitionItem& item) {
  BindingRecord record;
  record.vhost = vhost_of(item);
  record.source = item.name("source");
  record.destination = item.name("destination");
  record.routing_key = item.name("routing_key");
  record.arguments = item.arguments();  // in the order of their names, as bindings are kept
  const std::string kind = item.text("destination_type");
  if (kind == "exchange") {
    record.kind = DestinationKind::kExchange;
  } else if (kind != "queue") {
    item.fail(fmt::format("destination_type has to be queue or exchange, not '{}'", kind));
  }
  // The default exchange's bindings are implied.
  if (!record.source.empty()) add(kBindings, item, Bind{std::move(record)});
}

ImportedDefinitions Import::result() {
  ImportedDefinitions result;
  result.problems = std::move(problems_);
  for (std::vector<Command>& stage : stages_) {
    std::move(stage.begin(), stage.end(), std::back_inserter(result.commands));
  }
  return result;
}

}  // namespace

Result<ImportedDefinitions> import_definitions(const Json& definitions,
                                               const ImportOptions& options) {
  Import import(options);
  RT_TRY(import.run(definitions));
  return import.result();
}

Result<ImportedDefinitions> import_definitions_text(std::string_view text,
                                                    const ImportOptions& options) {
  // Some editors put a byte order mark in front.
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  const auto json = parse_json(text);
  if (!json.ok()) return json.status();
  return import_definitions(json.value(), options);
}

}  // namespace ringtail::broker
