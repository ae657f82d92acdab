#include "broker/death.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ringtail::broker {

using amqp::FieldArray;
using amqp::FieldTable;
using amqp::FieldValue;

namespace {

constexpr std::string_view kXDeath = "x-death";
constexpr std::string_view kCount = "count";
constexpr std::string_view kQueue = "queue";
constexpr std::string_view kReason = "reason";

void sort_by_name(FieldTable& table) {
  std::stable_sort(table.entries().begin(), table.entries().end(),
                   [](const auto& a, const auto& b) { return a.name < b.name; });
}

// Which queue and reason a table counts; a missing one equals a missing one.
struct Kind {
  const FieldValue* queue;
  const FieldValue* reason;
};
Kind kind_of(const FieldTable& table) { return {table.find(kQueue), table.find(kReason)}; }

bool same(const FieldValue* a, const FieldValue* b) {
  if (a == nullptr || b == nullptr) return a == b;
  return *a == *b;
}
bool same(const Kind& a, const Kind& b) {
  return same(a.queue, b.queue) && same(a.reason, b.reason);
}

bool is_text(const FieldValue* value, std::string_view text) {
  return value != nullptr && value->as_text() == text;
}

void put_count_first(FieldTable& table, std::int64_t count) {
  table.erase(kCount);
  table.prepend(kCount, count);
}

// One table for each kind of death, the others' order turned round. A client may have written
// several of a kind, and without counts: their number counts then.
std::vector<FieldTable> grouped(std::vector<FieldTable> tables) {
  if (tables.size() < 2) return tables;
  std::vector<FieldTable> groups;
  std::vector<std::int64_t> sizes;
  for (FieldTable& table : tables) {
    const auto known = std::find_if(groups.begin(), groups.end(), [&](const FieldTable& group) {
      return same(kind_of(group), kind_of(table));
    });
    if (known == groups.end()) {
      groups.push_back(std::move(table));
      sizes.push_back(1);
    } else {
      ++sizes[static_cast<std::size_t>(known - groups.begin())];
    }
  }
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].find(kCount) == nullptr) groups[i].prepend(kCount, sizes[i]);
  }
  std::reverse(groups.begin(), groups.end());
  return groups;
}

void count_once_more(FieldTable& table) {
  const FieldValue* count = table.find(kCount);
  const auto before = count == nullptr ? std::nullopt : count->as_int();
  if (!before || *before == INT64_MAX) {
    put_count_first(table, 1);
  } else {
    table.set(kCount, *before + 1);
  }
}

FieldTable table_of(const Death& death, const amqp::BasicProperties& properties) {
  FieldArray keys;
  keys.add(death.routing_key);
  const FieldValue* cc = properties.headers ? properties.headers->find("CC") : nullptr;
  if (cc != nullptr && cc->as_array() != nullptr) {
    for (const FieldValue& key : cc->as_array()->items()) {
      if (key.as_text()) keys.add(key);
    }
  }
  FieldTable table;
  table.set(kCount, std::int64_t{1})
      .set(kReason, death_reason_name(death.reason))
      .set(kQueue, death.queue)
      .set("time", amqp::Timestamp{death.seconds})
      .set("exchange", death.exchange)
      .set("routing-keys", std::move(keys));
  if (properties.expiration) table.set("original-expiration", *properties.expiration);
  return table;
}

FieldArray array_of(FieldTable table) {
  FieldArray array;
  array.add(std::move(table));
  return array;
}

// The newest death and those before it.
FieldArray with_history(FieldTable newest, const FieldArray& history) {
  std::vector<FieldTable> tables;
  for (const FieldValue& item : history.items()) {
    if (const FieldTable* table = item.as_table()) tables.push_back(*table);
  }
  tables = grouped(std::move(tables));
  const Kind kind = kind_of(newest);
  const auto known = std::find_if(tables.begin(), tables.end(), [&kind](const FieldTable& table) {
    return same(kind_of(table), kind);
  });
  if (known != tables.end()) {
    FieldTable again = std::move(*known);
    tables.erase(known);
    count_once_more(again);
    newest = std::move(again);
  }
  sort_by_name(newest);
  FieldArray all = array_of(std::move(newest));
  for (FieldTable& table : tables) all.add(std::move(table));
  return all;
}

}  // namespace

std::string_view death_reason_name(queue::DeathReason reason) {
  switch (reason) {
    case queue::DeathReason::kRejected:
      return "rejected";
    case queue::DeathReason::kExpired:
      return "expired";
    case queue::DeathReason::kMaxLength:
      return "maxlen";
    case queue::DeathReason::kDeliveryLimit:
      return "delivery_limit";
  }
  return "rejected";
}

void record_death(const Death& death, amqp::BasicProperties& properties) {
  FieldTable table = table_of(death, properties);
  if (!properties.headers) properties.headers.emplace();
  FieldTable& headers = *properties.headers;
  const FieldValue* history = headers.find(kXDeath);
  if (history == nullptr) {
    headers.set("x-first-death-reason", death_reason_name(death.reason))
        .set("x-first-death-queue", death.queue)
        .set("x-first-death-exchange", death.exchange)
        .set(kXDeath, array_of(std::move(table)));
  } else if (history->as_array() == nullptr) {
    headers.set(kXDeath, array_of(std::move(table)));
  } else {
    headers.set(kXDeath, with_history(std::move(table), *history->as_array()));
  }
  sort_by_name(headers);
  properties.expiration.reset();
}

bool goes_round(const FieldTable& headers, std::string_view queue) {
  const FieldValue* value = headers.find(kXDeath);
  if (value == nullptr || value->as_array() == nullptr) return false;
  for (const FieldValue& item : value->as_array()->items()) {
    const FieldTable* table = item.as_table();
    if (table == nullptr || is_text(table->find(kReason), "rejected")) return false;
    if (is_text(table->find(kQueue), queue)) return true;
  }
  return false;
}

}  // namespace ringtail::broker
