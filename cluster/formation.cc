#include "cluster/formation.h"

#include <algorithm>
#include <utility>

#include "broker/runtime/log.h"
#include "cluster/control.pb.h"

namespace ringtail::cluster {

using runtime::Code;
using runtime::log;
using runtime::LogLevel;
using runtime::Result;
using runtime::Status;

namespace {

constexpr std::uint64_t kAskTimeoutMs = 3000;
constexpr std::uint64_t kAgainMs = 500;
constexpr std::uint64_t kSoonMs = 50;

}  // namespace

Formation::Formation(runtime::Shard& shard, ControlBus& bus, MemberAddress own,
                     FormationOptions options, std::function<void(const Outcome&)> done)
    : shard_(shard),
      bus_(bus),
      own_(std::move(own)),
      options_(std::move(options)),
      done_(std::move(done)),
      join_(options_.join) {
  timer_ = shard_.env().timers().make([this] { attempt(); });
}

void Formation::start() { again(0); }

void Formation::again(std::uint64_t after_ms) { timer_->start(after_ms); }

void Formation::attempt() {
  if (!join_.empty()) {
    ask_to_join(join_[next_ % join_.size()]);
  } else if (!options_.listed.empty()) {
    look_around();
  } else {
    Outcome outcome;
    outcome.begins = !options_.again;
    if (options_.again) {
      outcome.status = {Code::kInvalid,
                        "the node has joined a cluster, and has nothing of it yet: name a member "
                        "(--join), or remove the data directory"};
    }
    end(std::move(outcome));
  }
}

// --- joining -------------------------------------------------------------------------------------

void Formation::ask_to_join(const PeerAddress& address) {
  wire::Question question;
  question.mutable_join()->set_node(own_.node.value);
  question.mutable_join()->set_address(to_text(own_));
  bus_.ask(address, question.SerializeAsString(), kAskTimeoutMs,
           lifeline_.guard([this, address](const Result<ControlAnswer>& answer) {
             join_answered(address, answer);
           }));
}

void Formation::join_answered(const PeerAddress& address, const Result<ControlAnswer>& result) {
  wire::Answer answer;
  std::string said;
  if (!result.ok()) {
    said = result.status().text();
    ++next_;
  } else if (!answer.ParseFromString(result.value().text)) {
    said = "answers what is no answer";
    ++next_;
  } else if (answer.verdict() == wire::Answer::JOINED) {
    Outcome outcome;
    outcome.cluster = result.value().from.cluster;
    outcome.force_generation = result.value().from.force_generation;
    for (const wire::Member& member : answer.members()) {
      if (auto known = parse_member(member.address())) outcome.members.push_back(*std::move(known));
    }
    return end(std::move(outcome));
  } else if (answer.verdict() == wire::Answer::REFUSED) {
    Outcome outcome;
    outcome.status = {Code::kInvalid,
                      "cannot join the cluster of " + to_text(address) + ": " + answer.reason()};
    return end(std::move(outcome));
  } else if (answer.verdict() == wire::Answer::ELSEWHERE) {
    const auto leader = parse_member(answer.leader().address());
    if (leader && leader->where != address) {
      join_.insert(join_.begin(), leader->where);
      next_ = 0;
      if (join_.size() > options_.join.size() + options_.listed.size() + 8) join_.pop_back();
      return again(kSoonMs);
    }
    said = "says that another leads, and not where";
    ++next_;
  } else {
    said = answer.reason().empty() ? "belongs to a cluster that nobody leads now" : answer.reason();
    ++next_;
  }
  if (said != last_said_) {
    log(LogLevel::kWarning, "cluster", "waiting to join a cluster: {}: {}", to_text(address), said);
    last_said_ = said;
  }
  // Who was found by looking around may be gone: look again.
  if (options_.join.empty() && next_ >= join_.size()) {
    join_.clear();
    next_ = 0;
  }
  again(kAgainMs);
}

// --- beginning together --------------------------------------------------------------------------

const MemberAddress& Formation::first_listed() const {
  return *std::min_element(
      options_.listed.begin(), options_.listed.end(),
      [](const MemberAddress& a, const MemberAddress& b) { return a.name < b.name; });
}

void Formation::look_around() {
  empty_ = 0;
  found_.clear();
  awaited_ = 1;
  const std::string question = wire::Question().SerializeAsString();
  for (const MemberAddress& one : options_.listed) {
    if (one.name == own_.name) {
      ++empty_;
      continue;
    }
    ++awaited_;
    bus_.ask(one.where, question, kAskTimeoutMs,
             lifeline_.guard([this, where = one.where](const Result<ControlAnswer>& answer) {
               looked_at(where, answer);
             }));
  }
  if (--awaited_ == 0) looked_around();
}

void Formation::looked_at(const PeerAddress& address, const Result<ControlAnswer>& answer) {
  if (answer.ok() && answer.value().from.cluster != ClusterId{}) {
    found_.push_back(address);
  } else if (answer.ok()) {
    ++empty_;
  }
  if (--awaited_ == 0) looked_around();
}

void Formation::looked_around() {
  if (!found_.empty()) {
    join_ = found_;
    next_ = 0;
    return again(0);
  }
  const MemberAddress& first = first_listed();
  const bool is_first = first.name == own_.name;
  if (!options_.again && is_first && empty_ > options_.listed.size() / 2) {
    Outcome outcome;
    outcome.begins = true;
    return end(std::move(outcome));
  }
  const std::string said = is_first ? "most of the listed nodes do not answer yet"
                                    : first.name + ", the first of them, begins it";
  if (said != last_said_) {
    log(LogLevel::kInfo, "cluster", "waiting for a cluster of the {} listed nodes: {}",
        options_.listed.size(), said);
    last_said_ = said;
  }
  again(kAgainMs);
}

void Formation::end(Outcome outcome) {
  const auto done = std::exchange(done_, nullptr);
  timer_->stop();
  done(outcome);
}

}  // namespace ringtail::cluster
