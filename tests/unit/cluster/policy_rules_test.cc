#include "cluster/metadata/policy_rules.h"

#include <doctest/doctest.h>

namespace policy_rules_test {

using namespace ringtail::cluster::metadata;

namespace {

using Definition = PolicyDefinition;

std::string fault(const Definition& definition, bool of_operator = false) {
  return definition_fault(definition, of_operator);
}

std::int64_t n(std::int64_t number) { return number; }
std::string s(const char* text) { return text; }

}  // namespace

// All texts were recorded from RabbitMQ 3.10.8.
TEST_CASE("values out of range or of the wrong type") {
  CHECK(fault({{"message-ttl", n(-1)}}) == "-1 is not a valid message TTL\n");
  CHECK(fault({{"message-ttl", 1.5}}) == "1.5 is not a valid message TTL\n");
  CHECK(fault({{"message-ttl", s("text")}}) == "<<\"text\">> is not a valid message TTL\n");
  CHECK(fault({{"message-ttl", s("")}}) == "<<>> is not a valid message TTL\n");
  CHECK(fault({{"message-ttl", true}}) == "true is not a valid message TTL\n");
  CHECK(fault({{"message-ttl", std::vector<std::string>{"a"}}}) ==
        "[<<\"a\">>] is not a valid message TTL\n");
  CHECK(fault({{"message-ttl", n(0)}}).empty());
  CHECK(fault({{"expires", n(0)}}) == "0 is not a valid queue expiry\n");
  CHECK(fault({{"expires", n(1)}}).empty());
  CHECK(fault({{"max-length", n(-1)}}) == "-1 is not a valid maximum length\n");
  CHECK(fault({{"max-length-bytes", n(-1)}}) == "-1 is not a valid maximum length in bytes\n");
  CHECK(fault({{"max-in-memory-length", n(-1)}}) == "-1 is not a valid maximum memory in bytes\n");
  CHECK(fault({{"delivery-limit", n(-1)}}) == "-1 is not a valid delivery limit\n");
  CHECK(fault({{"dead-letter-routing-key", n(1)}}) == "1 is not a valid dead letter routing key\n");
  CHECK(fault({{"dead-letter-exchange", n(1)}}) == "1 is not a valid dead letter exchange name\n");
  CHECK(fault({{"alternate-exchange", n(1)}}) == "1 is not a valid alternate exchange name\n");
  CHECK(fault({{"dead-letter-strategy", s("x")}}) ==
        "<<\"x\">> is not a valid dead letter strategy\n");
  CHECK(fault({{"overflow", s("")}}) == "<<>> is not a valid overflow value\n");
  CHECK(fault({{"overflow", s("reject-publish-dlx")}}).empty());
  CHECK(fault({{"queue-mode", s("eager")}}) == "<<\"eager\">> is not a valid queue-mode value\n");
  CHECK(fault({{"queue-version", n(3)}}) == "3 is not a valid queue-version value\n");
  CHECK(fault({{"queue-version", n(2)}}).empty());
  CHECK(fault({{"queue-master-locator", n(1)}}) == "1 invalid queue-master-locator value\n");
  CHECK(fault({{"queue-leader-locator", n(1)}}) == "1 is not a valid queue leader locator value\n");
  CHECK(fault({{"stream-max-segment-size-bytes", n(-1)}}) == "-1 is not a valid segment size\n");
  CHECK(fault({{"initial-cluster-size", n(-1)}}) == "-1 is not a valid cluster size\n");
  CHECK(fault({{"max-age", s("7D")}}).empty());
  CHECK_FALSE(fault({{"max-age", s("7 days")}}).empty());
}

TEST_CASE("of several faults the first by key, unknown keys last and all of them") {
  CHECK(fault({{"message-ttl", n(-1)}, {"expires", n(0)}}) == "0 is not a valid queue expiry\n");
  CHECK(fault({{"zz", n(1)}, {"message-ttl", n(-1)}}) == "-1 is not a valid message TTL\n");
  CHECK(fault({{"ha-mode", s("x")}, {"message-ttl", n(-1)}}) == "-1 is not a valid message TTL\n");
  CHECK(fault({{"zz", n(1)}, {"aa", n(2)}}) ==
        "[{<<\"aa\">>,2},{<<\"zz\">>,1}] are not recognised policy settings\n");
  CHECK(fault({{"zz", s("a\"b\\c\n")}}) ==
        "[{<<\"zz\">>,<<\"a\\\"b\\\\c\\n\">>}] are not recognised policy settings\n");
  CHECK(fault({{"zz", 1.0}}) == "[{<<\"zz\">>,1.0}] are not recognised policy settings\n");
  CHECK(fault({{"zz", 0.1}}) == "[{<<\"zz\">>,0.1}] are not recognised policy settings\n");
  CHECK(fault({{"zz", 1e30}}) == "[{<<\"zz\">>,1.0e30}] are not recognised policy settings\n");
  CHECK(fault({}) == "no policy provided\n");
}

TEST_CASE("the keys of mirroring") {
  const Definition all = {{"ha-mode", s("all")}};
  const auto with = [](Definition definition, const char* key, PolicyValue value) {
    definition.emplace(key, std::move(value));
    return fault(definition);
  };
  CHECK(fault(all).empty());
  CHECK(with(all, "ha-params", n(1)) == "ha-mode=\"all\" does not take parameters\n");
  const Definition exactly = {{"ha-mode", s("exactly")}};
  CHECK(fault(exactly) == "ha-mode=\"exactly\" takes an integer, none given\n");
  CHECK(with(exactly, "ha-params", n(0)) == "ha-mode=\"exactly\" takes an integer, 0 given\n");
  CHECK(with(exactly, "ha-params", s("2")) ==
        "ha-mode=\"exactly\" takes an integer, <<\"2\">> given\n");
  CHECK(with(exactly, "ha-params", n(2)).empty());
  const Definition nodes = {{"ha-mode", s("nodes")}};
  CHECK(fault(nodes) == "ha-mode=\"nodes\" takes a list, none given\n");
  CHECK(with(nodes, "ha-params", n(3)) == "ha-mode=\"nodes\" takes a list, 3 given\n");
  CHECK(with(nodes, "ha-params", std::vector<std::string>{}) ==
        "ha-mode=\"nodes\" list must be non-empty\n");
  CHECK(with(nodes, "ha-params", std::vector<std::string>{"rabbit@a"}).empty());
  CHECK(fault({{"ha-sync-mode", s("automatic")}}) ==
        "ha-mode must be specified to specify ha-params, ha-sync-mode or "
        "ha-promote-on-shutdown\n");
  CHECK(with(all, "ha-sync-mode", s("x")) ==
        "ha-sync-mode must be \"manual\" or \"automatic\", got <<\"x\">>\n");
  CHECK(with(all, "ha-sync-batch-size", n(0)) ==
        "ha-sync-batch-size takes an integer greater than 0, 0 given\n");
  CHECK(with(all, "ha-promote-on-shutdown", s("x")) ==
        "ha-promote-on-shutdown must be \"always\" or \"when-synced\", got <<\"x\">>\n");
  CHECK(with(all, "ha-promote-on-failure", s("when-synced")).empty());
  CHECK(fault({{"ha-mode", s("x")}}) == "<<\"x\">> is not a valid ha-mode value\n");
}

TEST_CASE("the keys of sharding") {
  CHECK(fault({{"shards-per-node", n(-1)}}) ==
        "shards-per-node should be greater than 0, actually was -1\n");
  CHECK(fault({{"shards-per-node", true}}) ==
        "shards-per-node should be a number, actually was true\n");
  CHECK(fault({{"routing-key", s("x")}}) == "shards-per-node must be specified\n");
  CHECK(fault({{"routing-key", s("x")}, {"shards-per-node", n(2)}}).empty());
}

TEST_CASE("operator policies hold limits, not routes") {
  CHECK(fault({{"max-length", n(1)}}, true).empty());
  CHECK(fault({{"max-length", s("x")}}, true) == "<<\"x\">> is not a valid maximum length\n");
  CHECK(fault({{"dead-letter-exchange", s("x")}}, true) ==
        "[{<<\"dead-letter-exchange\">>,<<\"x\">>}] are not recognised policy settings\n");
  CHECK(fault({{"ha-mode", s("all")}}, true).empty());
}

TEST_CASE("a whole policy, and what does not fit into one") {
  PolicyRecord policy{.vhost = "/", .name = "p", .pattern = "("};
  policy.definition = {{"zz", n(-1)}};
  CHECK(policy_fault(policy) ==
        "Validation failed\n\n[{<<\"zz\">>,-1}] are not recognised policy settings\n"
        "pattern should be regular expression but is invalid: {\"missing )\",1}\n");
  CHECK(pattern_fault("*a") ==
        "pattern should be regular expression but is invalid: {\"nothing to repeat\",0}\n");
  CHECK(pattern_fault("").empty());
  policy.pattern = "^x";
  policy.definition = {{"max-length", n(1)}};
  CHECK(policy_fault(policy).empty());
  CHECK(target_fault("foo") ==
        "apply-to 'foo' unrecognised; should be 'queues', 'exchanges' or 'all'\n");
  CHECK(policy_target("classic_queues") == PolicyTarget::kClassicQueues);
  CHECK_FALSE(policy_target("streams"));
  CHECK(name_of(PolicyTarget::kExchanges) == "exchanges");
  CHECK(priority_type_fault("<<\"x\">>") ==
        "priority should be a number, actually was <<\"x\">>\n");
  CHECK(pattern_type_fault("1") == "pattern should be a binary but was 1\n");
  CHECK(unusable_value_fault("message-ttl", "null", false) == "null is not a valid message TTL\n");
  CHECK(unusable_value_fault("zz", "#{}", false) ==
        "[{<<\"zz\">>,#{}}] are not recognised policy settings\n");
  CHECK(unusable_value_fault("ha-params", "[1]", false) ==
        "ha-mode=\"nodes\" takes a list of strings, [1] was not a string\n");
}

}  // namespace policy_rules_test
