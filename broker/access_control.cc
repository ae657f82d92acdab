#include "broker/access_control.h"

#include "broker/runtime/log.h"

namespace ringtail::broker {

using amqp::Permission;

namespace {

bool is_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

void append_quoted(std::string& out, std::string_view text) {
  for (const char c : text) {
    if (!is_word(c)) out += '\\';
    out += c;
  }
}

}  // namespace

NamePattern::NamePattern(std::string_view text) {
  if (text.empty()) {
    kind_ = Kind::kEmptyName;
    return;
  }
  if (text == ".*") {
    kind_ = Kind::kEverything;
    return;
  }
  auto compiled = runtime::Pattern::compile(text);
  if (!compiled) {
    runtime::log(runtime::LogLevel::kError, "access", "a permission allows nothing: {}",
                 compiled.status().text());
    return;
  }
  kind_ = Kind::kPattern;
  pattern_ = std::move(compiled).value();
}

bool NamePattern::matches(std::string_view name) const {
  switch (kind_) {
    case Kind::kEverything:
      return true;
    case Kind::kEmptyName:
      return name.empty();
    case Kind::kPattern:
      return pattern_->matches(name);
    case Kind::kNothing:
      return false;
  }
  return false;
}

std::string with_variables(std::string_view pattern, std::string_view user,
                           std::string_view vhost) {
  static constexpr std::string_view kUser = "{username}";
  static constexpr std::string_view kVhost = "{vhost}";
  std::string out;
  while (!pattern.empty()) {
    if (pattern.starts_with(kUser)) {
      append_quoted(out, user);
      pattern.remove_prefix(kUser.size());
    } else if (pattern.starts_with(kVhost)) {
      append_quoted(out, vhost);
      pattern.remove_prefix(kVhost.size());
    } else {
      out += pattern.front();
      pattern.remove_prefix(1);
    }
  }
  return out;
}

bool AccessControl::may_enter(std::string_view user, std::string_view vhost) const {
  return view_.permission(vhost, user) != nullptr;
}

AccessControl::Rules& AccessControl::rules(std::string_view user, std::string_view vhost) {
  if (rules_version_ != view_.access_version()) {
    rules_.clear();
    rules_version_ = view_.access_version();
  }
  Key key(user, vhost);
  const auto found = rules_.find(key);
  if (found != rules_.end()) return found->second;
  // A user whose permissions in the vhost were taken away while he is connected may do nothing, as
  // one with empty patterns (which match no name that a client can use).
  const auto record = view_.permission(vhost, user);
  const auto text = [&record](auto field) {
    return NamePattern(record == nullptr ? std::string_view() : std::string_view((*record).*field));
  };
  using cluster::metadata::PermissionRecord;
  return rules_
      .emplace(std::move(key), Rules{text(&PermissionRecord::configure),
                                     text(&PermissionRecord::write),
                                     text(&PermissionRecord::read),
                                     {}})
      .first->second;
}

bool AccessControl::allows(std::string_view user, std::string_view vhost, Permission permission,
                           std::string_view name) {
  const Rules& known = rules(user, vhost);
  switch (permission) {
    case Permission::kConfigure:
      return known.configure.matches(name);
    case Permission::kWrite:
      return known.write.matches(name);
    case Permission::kRead:
      return known.read.matches(name);
  }
  return false;
}

const NamePattern* AccessControl::topic_pattern(std::string_view user, std::string_view vhost,
                                                std::string_view exchange, Permission permission) {
  Rules& known = rules(user, vhost);
  auto found = known.topics.find(exchange);
  if (found == known.topics.end()) {
    const auto record = view_.topic_permission(vhost, user, exchange);
    if (record == nullptr) return nullptr;
    auto compiled = std::make_unique<TopicRules>(
        TopicRules{NamePattern(with_variables(record->write, user, vhost)),
                   NamePattern(with_variables(record->read, user, vhost))});
    found = known.topics.emplace(exchange, std::move(compiled)).first;
  }
  return permission == Permission::kWrite ? &found->second->write : &found->second->read;
}

}  // namespace ringtail::broker
