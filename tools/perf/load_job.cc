#include "tools/perf/load_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace ringtail::perf {

namespace {

// Connections that are being set up at a time; the broker's backlog is not what is measured.
constexpr std::size_t kOpeningMax = 64;
constexpr std::uint64_t kDeclareWindow = 256;
// How often phases are looked at; publishing has its own, exact alarm.
constexpr std::uint64_t kTickMs = 10;
// With a rate: sleep at least this long. What is due meanwhile is published together; the stamp
// says when it was due.
constexpr std::uint64_t kShortestSleepNs = 20000;
constexpr std::uint64_t kCloseTimeoutMs = 10000;
constexpr std::size_t kErrorsShown = 20;

std::uint64_t to_ns(double seconds) { return static_cast<std::uint64_t>(seconds * 1e9); }

double per_second(std::uint64_t count, std::uint64_t from_ns, std::uint64_t to_ns) {
  return to_ns > from_ns ? static_cast<double>(count) * 1e9 / static_cast<double>(to_ns - from_ns)
                         : 0;
}

std::uint64_t quota_of(const Options& options, int producer) {
  if (options.count == 0) return UINT64_MAX;
  const auto producers = static_cast<std::uint64_t>(options.producers);
  return options.count / producers +
         (static_cast<std::uint64_t>(producer) < options.count % producers ? 1 : 0);
}

}  // namespace

LoadJob::LoadJob(const JobContext& context)
    : env_(context.env),
      options_(context.options),
      alarm_(context.make_alarm([this] { rang(); })),
      tick_timer_(env_.timers().make([this] { tick(); })),
      close_timer_(env_.timers().make([this] {
        for (auto& producer : producers_) producer->abort();
        for (auto& consumer : consumers_) consumer->abort();
      })) {
  const auto run = static_cast<std::uint16_t>(env_.rng().below(1024));
  verifier_ = std::make_unique<Verifier>(options_, run);
  make_clients(run);
}

void LoadJob::make_clients(std::uint16_t run) {
  LoadEvents& events = *this;
  for (int i = 0; i < options_.producers; ++i) {
    producers_.push_back(
        std::make_unique<Producer>(env_, options_, i, run, quota_of(options_, i), tally_, events));
  }
  for (int i = 0; i < options_.consumers; ++i) {
    consumers_.push_back(std::make_unique<Consumer>(env_, options_, i, tally_, *verifier_, events));
  }
  is_eager_.resize(producers_.size());
}

// --- setting up ---

void LoadJob::start(Finished finished) {
  finished_ = std::move(finished);
  if (options_.existing) {
    connect();
    return;
  }
  declaring_ =
      std::make_unique<Topology>(env_, options_, Topology::Operation::kDeclare, kDeclareWindow);
  declaring_->run([this](const runtime::Status& status) {
    declared_ = status.ok();
    if (!status.ok()) tally_.errors.push_back("declaring: " + status.text());
    if (!status.ok() || interrupts_ != 0) {
      close();
    } else {
      connect();
    }
  });
}

void LoadJob::connect() {
  phase_ = Phase::kConnecting;
  connect_ns_ = env_.clock().monotonic_ns();
  tick_timer_->start(kTickMs, kTickMs);
  while (opened_ - ready_ < kOpeningMax && opened_ < producers_.size() + consumers_.size()) {
    open_next();
  }
}

void LoadJob::open_next() {
  const std::size_t member = opened_++;
  if (member < producers_.size()) {
    producers_[member]->open();
  } else {
    consumers_[member - producers_.size()]->open();
  }
}

void LoadJob::ready() noexcept {
  ++ready_;
  if (phase_ != Phase::kConnecting) return;
  if (opened_ < producers_.size() + consumers_.size()) open_next();
  if (ready_ == producers_.size() + consumers_.size()) begin();
}

void LoadJob::begin() {
  const std::uint64_t now_ns = env_.clock().monotonic_ns();
  // Draining alone counts from when the consumers began to connect: they have messages at once.
  start_ns_ = producers_.empty() ? connect_ns_ : now_ns;
  tally_.last_progress_ns = now_ns;
  next_line_ns_ = now_ns + to_ns(options_.interval_s);
  line_from_ = tally_.counts(now_ns);
  phase_ = producers_.empty() ? Phase::kDraining : Phase::kPublishing;
  for (auto& producer : producers_) producer->start(now_ns);
  if (options_.warmup_s == 0) end_warmup(now_ns);
  if (phase_ == Phase::kPublishing) {
    for (std::size_t i = 0; i < producers_.size(); ++i) {
      eager_.push_back(i);
      is_eager_[i] = true;
    }
    alarm_->set(0);
  }
}

// --- time ---

void LoadJob::rang() {
  if (phase_ != Phase::kPublishing) return;
  const std::uint64_t now_ns = env_.clock().monotonic_ns();
  advance(now_ns);
  if (phase_ != Phase::kPublishing) return;
  if (options_.rate > 0) publish_due(now_ns);
  publish_eager(now_ns);
  set_alarm(now_ns);
}

void LoadJob::tick() {
  const std::uint64_t now_ns = env_.clock().monotonic_ns();
  advance(now_ns);
  if (phase_ == Phase::kDraining && is_drained(now_ns)) close();
}

void LoadJob::advance(std::uint64_t now_ns) {
  if (phase_ != Phase::kPublishing && phase_ != Phase::kDraining) return;
  if (!warm_ && now_ns - start_ns_ >= to_ns(options_.warmup_s)) end_warmup(now_ns);
  if (options_.interval_s > 0 && now_ns >= next_line_ns_) show_progress(now_ns);
  if (phase_ == Phase::kPublishing && publishing_is_over(now_ns)) drain(now_ns);
}

void LoadJob::end_warmup(std::uint64_t now_ns) {
  tally_.latency.end_interval(false);
  tally_.confirm_latency.end_interval(false);
  warm_ = true;
  window_from_ = tally_.counts(now_ns);
}

void LoadJob::show_progress(std::uint64_t now_ns) {
  const Counts now = tally_.counts(now_ns);
  fmt::print(stderr, "{}\n",
             progress_line(options_, tally_, line_from_, now, since_start_s(now_ns)));
  tally_.latency.end_interval(warm_);
  tally_.confirm_latency.end_interval(warm_);
  line_from_ = now;
  // A late line does not make the next one early.
  next_line_ns_ = std::max(next_line_ns_ + to_ns(options_.interval_s), now_ns);
}

double LoadJob::since_start_s(std::uint64_t at_ns) const {
  return at_ns > start_ns_ ? static_cast<double>(at_ns - start_ns_) / 1e9 : 0;
}

// --- publishing ---

void LoadJob::may_publish(std::size_t producer) noexcept {
  if (phase_ != Phase::kPublishing || is_eager_[producer]) return;
  publish_one(producer, env_.clock().monotonic_ns());
  if (is_eager_[producer]) alarm_->set(0);
}

void LoadJob::publish_one(std::size_t producer, std::uint64_t now_ns) {
  const bool more = producers_[producer]->publish(now_ns);
  if (more && !is_eager_[producer]) {
    eager_.push_back(producer);
    is_eager_[producer] = true;
  }
}

// Those who can go on publish a batch each; the loop looks at its sockets in between.
void LoadJob::publish_eager(std::uint64_t now_ns) {
  std::vector<std::size_t> turn;
  turn.swap(eager_);
  for (const std::size_t producer : turn) {
    is_eager_[producer] = false;
    publish_one(producer, now_ns);
  }
}

// With a rate the messages of all producers take turns: the n-th is due n intervals after the start
// and belongs to producer n modulo their number.
void LoadJob::publish_due(std::uint64_t now_ns) {
  const double interval_ns = 1e9 / options_.rate;
  const auto turns =
      static_cast<std::uint64_t>(static_cast<double>(now_ns - start_ns_) / interval_ns) + 1;
  const std::uint64_t producers = producers_.size();
  // One turn is looked at twice: its producer may count a nanosecond differently.
  const std::uint64_t from = turns_done_ == 0 ? 0 : turns_done_ - 1;
  const std::uint64_t to = std::min(turns, from + producers);
  for (std::uint64_t turn = from; turn < to; ++turn) {
    const auto producer = static_cast<std::size_t>(turn % producers);
    if (!is_eager_[producer]) publish_one(producer, now_ns);
  }
  turns_done_ = std::max(turns_done_, turns);
}

void LoadJob::set_alarm(std::uint64_t now_ns) {
  if (!eager_.empty()) {
    alarm_->set(0);
  } else if (options_.rate > 0) {
    const double next = static_cast<double>(turns_done_) * 1e9 / options_.rate;
    const std::uint64_t due_ns = start_ns_ + static_cast<std::uint64_t>(next) + 1;
    alarm_->set(std::max(due_ns, now_ns + kShortestSleepNs));
  }
}

bool LoadJob::publishing_is_over(std::uint64_t now_ns) const {
  if (interrupts_ != 0) return true;
  if (options_.duration_s > 0 && now_ns - start_ns_ >= to_ns(options_.duration_s)) return true;
  // Without a count and with nobody lost there is no other end.
  if (options_.count == 0 && tally_.errors.empty()) return false;
  if (tally_.errors.empty() && tally_.published < options_.count) return false;
  const auto busy = [](const std::unique_ptr<Producer>& producer) {
    return producer->is_open() && !producer->is_finished();
  };
  return std::none_of(producers_.begin(), producers_.end(), busy);
}

// --- draining ---

void LoadJob::drain(std::uint64_t now_ns) {
  phase_ = Phase::kDraining;
  alarm_->stop();
  window_to_ = tally_.counts(now_ns);
  tally_.last_progress_ns = now_ns;
  if (options_.confirm_window == 0 && options_.drain_s > 0) {
    for (auto& producer : producers_) producer->sync();
  }
}

bool LoadJob::is_drained(std::uint64_t now_ns) const {
  if (interrupts_ > 1 || (interrupts_ == 1 && producers_.empty())) return true;
  if (options_.drain_s > 0 && now_ns - tally_.last_progress_ns >= to_ns(options_.drain_s)) {
    return true;
  }
  if (producers_.empty()) return draining_only_is_over(now_ns);
  if (options_.drain_s == 0) return true;
  const auto unsettled = [](const std::unique_ptr<Producer>& producer) {
    return !producer->is_settled();
  };
  if (std::any_of(producers_.begin(), producers_.end(), unsettled)) return false;
  const auto open = [](const std::unique_ptr<Consumer>& consumer) { return consumer->is_open(); };
  if (std::none_of(consumers_.begin(), consumers_.end(), open)) return true;
  return everything_came();
}

bool LoadJob::draining_only_is_over(std::uint64_t now_ns) const {
  if (!tally_.errors.empty()) return true;
  if (options_.count != 0 && verifier_->unique() >= options_.count) return true;
  return options_.duration_s > 0 && now_ns - start_ns_ >= to_ns(options_.duration_s);
}

bool LoadJob::everything_came() const {
  const std::uint64_t expected = tally_.published * verifier_->copies();
  if (verifier_->unique() >= expected) return true;
  if (tally_.nacked + tally_.returned == 0) return false;
  Summary summary;
  count_missing(summary);
  return summary.lost == 0;
}

// --- the end ---

void LoadJob::interrupt() {
  ++interrupts_;
  const std::uint64_t now_ns = env_.clock().monotonic_ns();
  switch (phase_) {
    case Phase::kDeclaring:
      declaring_->stop();
      break;
    case Phase::kConnecting:
      close();
      break;
    case Phase::kPublishing:
      drain(now_ns);
      break;
    case Phase::kDraining:
      if (is_drained(now_ns)) close();
      break;
    case Phase::kClosing:
    case Phase::kDeleting:
    case Phase::kOver:
      break;
  }
}

void LoadJob::lost(const std::string& reason) noexcept {
  if (phase_ == Phase::kClosing || phase_ == Phase::kOver) return;
  tally_.errors.push_back(reason);
  if (tally_.errors.size() <= kErrorsShown) note(reason);
  if (phase_ == Phase::kConnecting) close();
}

void LoadJob::note(const std::string& text) noexcept {
  fmt::print(stderr, "{:8.3f} s  {}\n",
             start_ns_ == 0 ? 0 : since_start_s(env_.clock().monotonic_ns()), text);
}

void LoadJob::close() {
  if (phase_ >= Phase::kClosing) return;
  phase_ = Phase::kClosing;
  end_ns_ = env_.clock().monotonic_ns();
  if (start_ns_ == 0) start_ns_ = end_ns_;  // it never began
  tally_.latency.end_interval(warm_);
  tally_.confirm_latency.end_interval(warm_);
  tick_timer_->stop();
  alarm_->stop();
  close_timer_->start(kCloseTimeoutMs);
  // One more than there are, so that it cannot be over before all have been asked.
  to_close_ = producers_.size() + consumers_.size() + 1;
  for (auto& consumer : consumers_) consumer->close([this] { closed_one(); });
  for (auto& producer : producers_) producer->close([this] { closed_one(); });
  closed_one();
}

void LoadJob::closed_one() {
  if (--to_close_ != 0) return;
  close_timer_->stop();
  delete_queues();
}

void LoadJob::delete_queues() {
  if (!declared_ || options_.keep) {
    finish();
    return;
  }
  phase_ = Phase::kDeleting;
  deleting_ =
      std::make_unique<Topology>(env_, options_, Topology::Operation::kDelete, kDeclareWindow);
  deleting_->run([this](const runtime::Status& status) {
    if (!status.ok()) tally_.errors.push_back("deleting: " + status.text());
    finish();
  });
}

void LoadJob::finish() {
  phase_ = Phase::kOver;
  const Summary summary = summarize();
  fmt::print("{}\n", options_.json ? report_json(options_, tally_, summary)
                                   : report_table(options_, tally_, summary));
  std::fflush(stdout);
  finished_(find_failures(options_, tally_, summary).empty() ? 0 : 1);
}

// --- summing up ---

Summary LoadJob::summarize() const {
  Summary summary;
  summary.faults = verifier_->faults();
  summary.judged = options_.drain_s > 0 && interrupts_ < 2;
  count_missing(summary);
  if (options_.confirm_window != 0) summary.unanswered = tally_.published - tally_.answered;

  LongestGap confirms = tally_.confirms;
  LongestGap deliveries = tally_.deliveries;
  if (summary.unanswered != 0) confirms.unfinished(end_ns_);
  if (summary.lost != 0) deliveries.unfinished(end_ns_);
  summary.confirm_gap_ms = static_cast<double>(confirms.gap_ns()) / 1e6;
  summary.confirm_gap_at_s = since_start_s(confirms.began_ns());
  summary.delivery_gap_ms = static_cast<double>(deliveries.gap_ns()) / 1e6;
  summary.delivery_gap_at_s = since_start_s(deliveries.began_ns());
  if (tally_.first_delivery_ns > connect_ns_) {
    summary.first_delivery_s = static_cast<double>(tally_.first_delivery_ns - connect_ns_) / 1e9;
  }
  summary.elapsed_s = since_start_s(end_ns_);

  const Counts& from = window_from_;
  const Counts& to = window_to_;
  if (options_.duration_s > 0 && to.at_ns > from.at_ns && from.at_ns != 0) {
    summary.publish_rate = per_second(to.published - from.published, from.at_ns, to.at_ns);
    summary.confirm_rate = per_second(to.answered - from.answered, from.at_ns, to.at_ns);
    summary.consume_rate = per_second(to.consumed - from.consumed, from.at_ns, to.at_ns);
  } else {
    const std::uint64_t taken_ns = std::max(tally_.last_publish_ns, tally_.last_sync_ns);
    summary.publish_rate = per_second(tally_.published, start_ns_, taken_ns);
    summary.confirm_rate = per_second(tally_.answered, start_ns_, tally_.confirms.last_ns());
    summary.consume_rate = per_second(tally_.consumed, start_ns_, tally_.deliveries.last_ns());
  }
  return summary;
}

void LoadJob::count_missing(Summary& summary) const {
  if (consumers_.empty()) return;
  if (verifier_->draining_only()) {
    summary.holes = verifier_->holes();
    return;
  }
  for (std::size_t i = 0; i < producers_.size(); ++i) {
    const Producer& producer = *producers_[i];
    verifier_->each_missing(static_cast<int>(i), producer.published(), [&](std::uint64_t number) {
      if (producer.is_refused(number)) return;
      ++summary.lost;
      summary.lost_confirmed += producer.is_confirmed(number) ? 1 : 0;
    });
  }
}

std::unique_ptr<Job> make_load_job(const JobContext& context) {
  return std::make_unique<LoadJob>(context);
}

}  // namespace ringtail::perf
