// The commands besides the load run: connections, queues, ready.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tools/perf/client.h"
#include "tools/perf/job.h"
#include "tools/perf/report.h"
#include "tools/perf/topology.h"

namespace ringtail::perf {

namespace {

double seconds(std::uint64_t ns) { return static_cast<double>(ns) / 1e9; }

void print_figures(const Options& options, const Figures& figures) {
  fmt::print("{}", report_figures(options, figures));
  std::fflush(stdout);
}

// --- connections ---

// Opens N connections of one channel, a few at a time, and holds them.
class ConnectionsJob final : public Job {
 public:
  explicit ConnectionsJob(const JobContext& context)
      : env_(context.env),
        options_(context.options),
        hold_timer_(env_.timers().make([this] { close(); })) {}

  void start(Finished finished) override {
    finished_ = std::move(finished);
    began_ns_ = env_.clock().monotonic_ns();
    for (int i = 0; i < options_.connections; ++i) {
      const auto target = static_cast<std::size_t>(i) % options_.producer_targets.size();
      idle_.push_back(std::make_unique<Idle>(*this, options_.producer_targets[target]));
    }
    while (next_ < idle_.size() && next_ < kOpeningMax) idle_[next_++]->open();
  }
  void interrupt() override { close(); }

 private:
  static constexpr std::size_t kOpeningMax = 32;

  class Idle final : private ClientUser {
   public:
    Idle(ConnectionsJob& job, const Target& target)
        : job_(job), client_(job.env_, target, job.options_.heartbeat_s) {}
    void open() {
      client_.open(*this, [this] { job_.opened(); });
    }
    void close() {
      client_.close([this] { job_.closed(); });
    }

   private:
    bool on_frame(const amqp::Frame&) noexcept override { return false; }
    void on_lost(const std::string& reason) noexcept override {
      job_.lost(client_.name() + ": " + reason);
    }

    ConnectionsJob& job_;
    Client client_;
  };

  void opened() {
    ++open_;
    step();
  }
  void lost(const std::string& reason) {
    if (closing_) return;
    if (++lost_ <= 5) fmt::print(stderr, "{}\n", reason);
    if (!holding_) step();
  }
  void step() {
    if (closing_) return;
    if (next_ < idle_.size()) idle_[next_++]->open();
    if (open_ + lost_ == idle_.size()) hold();
  }
  void hold() {
    holding_ = true;
    const double elapsed_s = seconds(env_.clock().monotonic_ns() - began_ns_);
    print_figures(options_, {{"connections", static_cast<double>(open_)},
                             {"failed", static_cast<double>(lost_)},
                             {"open_s", elapsed_s},
                             {"open_rate", static_cast<double>(open_) / elapsed_s}});
    if (options_.hold_s >= 0) {
      hold_timer_->start(static_cast<std::uint64_t>(options_.hold_s * 1000));
    }
  }
  void close() {
    if (std::exchange(closing_, true)) return;
    hold_timer_->stop();
    to_close_ = idle_.size() + 1;
    for (auto& idle : idle_) idle->close();
    closed();
  }
  void closed() {
    if (--to_close_ != 0) return;
    if (holding_ && lost_ != 0) fmt::print(stderr, "{} connections failed or were lost\n", lost_);
    finished_(holding_ && lost_ == 0 ? 0 : 1);
  }

  runtime::Env& env_;
  const Options& options_;
  std::unique_ptr<runtime::Timer> hold_timer_;
  std::vector<std::unique_ptr<Idle>> idle_;
  Finished finished_;
  std::uint64_t began_ns_ = 0;
  std::size_t next_ = 0;
  std::size_t open_ = 0;
  std::size_t lost_ = 0;
  std::size_t to_close_ = 0;
  bool holding_ = false;
  bool closing_ = false;
};

// --- queues ---

// Declares or deletes N queues, at most --pipeline requests without an answer.
class QueuesJob final : public Job {
 public:
  explicit QueuesJob(const JobContext& context)
      : options_(context.options),
        topology_(context.env, context.options,
                  context.options.delete_only ? Topology::Operation::kDelete
                                              : Topology::Operation::kDeclare,
                  context.options.pipeline) {}

  void start(Finished finished) override {
    finished_ = std::move(finished);
    topology_.run([this](const runtime::Status& status) { done(status); });
  }
  void interrupt() override { topology_.stop(); }

 private:
  void done(const runtime::Status& status) {
    if (!status.ok()) fmt::print(stderr, "ringtail-perf: {}\n", status.text());
    const double elapsed_s = seconds(topology_.elapsed_ns());
    const auto count = static_cast<double>(topology_.answered());
    print_figures(options_, {{options_.delete_only ? "deleted" : "declared", count},
                             {"elapsed_s", elapsed_s},
                             {"rate", elapsed_s > 0 ? count / elapsed_s : 0},
                             {"slowest_ms", seconds(topology_.slowest_ns()) * 1000}});
    finished_(status.ok() ? 0 : 1);
  }

  const Options& options_;
  Topology topology_;
  Finished finished_;
};

// --- ready ---

// Tries until the broker opens a connection and, where asked, until its queue holds M messages.
class ReadyJob final : public Job, private ClientUser {
 public:
  explicit ReadyJob(const JobContext& context)
      : env_(context.env),
        options_(context.options),
        retry_timer_(env_.timers().make([this] { attempt(); })),
        poll_timer_(env_.timers().make([this] { ask(); })),
        give_up_timer_(env_.timers().make([this] { end(1); })) {}

  void start(Finished finished) override {
    finished_ = std::move(finished);
    began_ns_ = env_.clock().monotonic_ns();
    const double limit_s = options_.duration_s > 0 ? options_.duration_s : kLimitS;
    give_up_timer_->start(static_cast<std::uint64_t>(limit_s * 1000));
    attempt();
  }
  void interrupt() override {
    why_ = "interrupted";
    end(1);
  }

 private:
  static constexpr double kLimitS = 300;
  static constexpr std::uint64_t kRetryMs = 5;

  void attempt() {
    client_ = std::make_unique<Client>(env_, options_.control, options_.heartbeat_s);
    client_->open(*this, [this] {
      if (connected_ns_ == 0) connected_ns_ = env_.clock().monotonic_ns();
      ask();
    });
  }
  void ask() {
    if (options_.wait_messages < 0) {
      found();
      return;
    }
    const std::string queue = options_.queue_at(0);
    amqp::QueueDeclare declare;
    declare.queue = queue;
    declare.passive = true;
    client_->call<amqp::QueueDeclareOk>(declare, [this](std::span<const std::uint8_t> arguments) {
      amqp::QueueDeclareOk ok;
      if (ok.decode(arguments) && ok.message_count >= options_.wait_messages) {
        found();
      } else {
        poll_timer_->start(kRetryMs);
      }
    });
    client_->flush();
  }
  void found() {
    const std::uint64_t now_ns = env_.clock().monotonic_ns();
    print_figures(options_, {{"ready_s", seconds(now_ns - began_ns_)},
                             {"connected_s", seconds(connected_ns_ - began_ns_)}});
    end(0);
  }
  bool on_frame(const amqp::Frame&) noexcept override { return false; }
  void on_lost(const std::string& reason) noexcept override {
    why_ = reason;
    poll_timer_->stop();
    if (!ending_) {
      client_->close([this] {
        if (!ending_) retry_timer_->start(kRetryMs);
      });
    }
  }
  void end(int exit_code) {
    if (std::exchange(ending_, true)) return;
    retry_timer_->stop();
    poll_timer_->stop();
    give_up_timer_->stop();
    if (exit_code != 0) fmt::print(stderr, "ringtail-perf: not ready: {}\n", why_);
    client_->close([this, exit_code] { finished_(exit_code); });
  }

  runtime::Env& env_;
  const Options& options_;
  std::unique_ptr<runtime::Timer> retry_timer_;
  std::unique_ptr<runtime::Timer> poll_timer_;
  std::unique_ptr<runtime::Timer> give_up_timer_;
  std::unique_ptr<Client> client_;
  Finished finished_;
  std::uint64_t began_ns_ = 0;
  std::uint64_t connected_ns_ = 0;
  std::string why_ = "the queue does not hold the messages yet";
  bool ending_ = false;
};

}  // namespace

std::unique_ptr<Job> make_connections_job(const JobContext& context) {
  return std::make_unique<ConnectionsJob>(context);
}
std::unique_ptr<Job> make_queues_job(const JobContext& context) {
  return std::make_unique<QueuesJob>(context);
}
std::unique_ptr<Job> make_ready_job(const JobContext& context) {
  return std::make_unique<ReadyJob>(context);
}

}  // namespace ringtail::perf
