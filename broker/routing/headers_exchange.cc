// Headers: the binding's arguments are a pattern for the message's headers. `x-match` says whether
// all of its entries (the default) or any of them must be met; an entry of type void is met by a
// header of that name, any other by one of the same value. Entries whose name begins with "x-"
// count only with all-with-x and any-with-x. Both sides are walked in the order of names, as
// RabbitMQ does, so that a repeated name has the same effect here.
//
// Not every pattern is tried: one that needs all is filed under the rarest of its entries, one that
// needs any under each, and a message looks where its headers point.
#include <algorithm>
#include <unordered_map>

#include "broker/amqp/content_header.h"
#include "broker/amqp/field_table.h"
#include "broker/routing/erlang_text.h"
#include "broker/routing/exchange.h"
#include "broker/routing/header_value.h"
#include "broker/runtime/bytes.h"
#include "broker/runtime/check.h"

namespace ringtail::broker {

using amqp::FieldType;
using amqp::ValueView;

namespace {

struct Header {
  std::string_view name;
  ValueView value;
  std::uint32_t place = 0;  // in its table
};

// In the order of names; repeated ones stay in their order.
void sort_by_name(std::vector<Header>& headers) {
  std::sort(headers.begin(), headers.end(), [](const Header& a, const Header& b) {
    const int order = a.name.compare(b.name);
    return order != 0 ? order < 0 : a.place < b.place;
  });
}

void read_table(std::span<const std::uint8_t> table, std::vector<Header>& out) {
  out.clear();
  amqp::TableWalk walk(table);
  Header header;
  while (walk.next(header.name, header.value)) {
    out.push_back(header);
    ++header.place;
  }
  sort_by_name(out);
}

constexpr std::string_view kMatch = "x-match";

struct Mode {
  bool any = false;
  bool with_x = false;
};

std::optional<Mode> mode_named(std::string_view text) {
  if (text == "all") return Mode{false, false};
  if (text == "any") return Mode{true, false};
  if (text == "all-with-x") return Mode{false, true};
  if (text == "any-with-x") return Mode{true, true};
  return std::nullopt;
}

Mode mode_of(std::string_view arguments) {
  const auto value = amqp::find_in_table(runtime::as_bytes(arguments), kMatch);
  const auto text = value ? value->as_text() : std::nullopt;
  return text ? mode_named(*text).value_or(Mode()) : Mode();
}

// The bindings of equal arguments: they match together.
struct Group {
  Mode mode;
  std::vector<Header> pattern;  // slices the arguments
  TargetSet targets;
  // Where it is filed: for each shelf its key and the place on it.
  struct Filing {
    std::uint64_t shelf;
    std::size_t place;
  };
  std::vector<Filing> filed;
  mutable std::uint64_t tried_in = 0;  // the last call that tried it
};

// `headers` and the pattern are in the order of names.
bool matches_pattern(const Group& group, const std::vector<Header>& headers) {
  auto header = headers.begin();
  for (auto wanted = group.pattern.begin(); wanted != group.pattern.end();) {
    if (header == headers.end()) return false;
    const int order = wanted->name.compare(header->name);
    if (order > 0) {
      ++header;
      continue;
    }
    const bool met = order == 0 && (wanted->value.type == FieldType::kVoid ||
                                    same_header_value(wanted->value, header->value));
    if (met == group.mode.any) return met;
    ++wanted;
    if (order == 0) ++header;
  }
  return !group.mode.any;
}

class HeadersIndex : public BindingIndex {
 public:
  void add(std::string_view, std::string_view arguments, const Target& target) override {
    auto found = groups_.find(arguments);
    if (found == groups_.end()) {
      found = groups_.emplace(arguments, std::make_unique<Group>()).first;
      make_group(found->first, *found->second);
    }
    found->second->targets.add(target);
  }

  void remove(std::string_view, std::string_view arguments, const Target& target) override {
    const auto found = groups_.find(arguments);
    RT_CHECK(found != groups_.end(), "a binding is removed that was never added");
    Group& group = *found->second;
    group.targets.remove(target);
    if (!group.targets.empty()) return;
    while (!group.filed.empty()) unfile_last(group);
    groups_.erase(found);
  }

  void match(const Routable& message, Matches& matches) const override {
    headers_.clear();
    if (const auto table = amqp::PropertiesView(message.properties).headers()) {
      read_table(*table, headers_);
    }
    try_shelf(kUnconditional, matches);
    for (const Header& header : headers_) {
      const std::uint64_t name = name_shelf(header.name);
      try_shelf(name, matches);
      try_shelf(value_shelf(name, header.value), matches);
    }
  }

 private:
  struct Filed {
    Group* group;
    std::size_t which;  // of its filings
  };
  using Shelf = std::vector<Filed>;

  // Shelves are keyed by hashes. Two that fall together only cost a vain try. The first is looked
  // at for every message.
  static constexpr std::uint64_t kUnconditional = 0;
  static std::uint64_t name_shelf(std::string_view name) {
    return std::hash<std::string_view>()(name) | 1;
  }
  static std::uint64_t value_shelf(std::uint64_t name, const ValueView& value) {
    return (name ^ (hash_header_value(value) + 0x632BE59BD9B4E019ULL)) * 0x9E3779B97F4A7C15ULL;
  }
  static std::uint64_t shelf_for(const Header& wanted) {
    const std::uint64_t name = name_shelf(wanted.name);
    return wanted.value.type == FieldType::kVoid ? name : value_shelf(name, wanted.value);
  }

  void make_group(std::string_view arguments, Group& group) {
    group.mode = mode_of(arguments);
    read_table(runtime::as_bytes(arguments), group.pattern);
    std::erase_if(group.pattern, [&group](const Header& header) {
      return header.name == kMatch || (!group.mode.with_x && header.name.starts_with("x-"));
    });
    if (group.mode.any) {
      for (const Header& wanted : group.pattern) file(group, shelf_for(wanted));
      return;
    }
    std::uint64_t rarest = kUnconditional;
    std::size_t least = ~std::size_t{0};
    for (const Header& wanted : group.pattern) {
      const std::uint64_t shelf = shelf_for(wanted);
      const auto found = shelves_.find(shelf);
      const std::size_t size = found == shelves_.end() ? 0 : found->second.size();
      if (size < least) {
        least = size;
        rarest = shelf;
      }
    }
    file(group, rarest);
  }

  void file(Group& group, std::uint64_t shelf) {
    Shelf& on = shelves_[shelf];
    on.push_back({&group, group.filed.size()});
    group.filed.push_back({shelf, on.size() - 1});
  }

  void unfile_last(Group& group) {
    const Group::Filing filing = group.filed.back();
    group.filed.pop_back();
    const auto found = shelves_.find(filing.shelf);
    Shelf& shelf = found->second;
    if (filing.place + 1 < shelf.size()) {
      shelf[filing.place] = shelf.back();
      shelf[filing.place].group->filed[shelf[filing.place].which].place = filing.place;
    }
    shelf.pop_back();
    if (shelf.empty()) shelves_.erase(found);
  }

  void try_shelf(std::uint64_t key, Matches& matches) const {
    const auto found = shelves_.find(key);
    if (found == shelves_.end()) return;
    for (const Filed& filed : found->second) {
      const Group& group = *filed.group;
      if (group.tried_in == matches.call()) continue;
      group.tried_in = matches.call();
      if (matches_pattern(group, headers_)) group.targets.reach_all(matches);
    }
  }

  std::unordered_map<std::string, std::unique_ptr<Group>, TextHash, std::equal_to<>> groups_;
  std::unordered_map<std::uint64_t, Shelf> shelves_;
  mutable std::vector<Header> headers_;  // of the message that is being matched
};

}  // namespace

std::unique_ptr<BindingIndex> make_headers_index(const ExchangeRecord&) {
  return std::make_unique<HeadersIndex>();
}

Fault fault_of_headers_binding(std::string_view, std::string_view arguments) {
  const auto value = amqp::find_in_table(runtime::as_bytes(arguments), kMatch);
  if (!value) return std::nullopt;
  const auto text = value->as_text();
  if (!text) {
    return std::string("Invalid x-match field type ") + amqp::type_name(value->type) + " (value " +
           amqp::to_text(value->decode()) + "); expected longstr";
  }
  if (mode_named(*text)) return std::nullopt;
  return "Invalid x-match field value " + erlang_binary(*text) +
         "; expected all, any, all-with-x, or any-with-x";
}

}  // namespace ringtail::broker
