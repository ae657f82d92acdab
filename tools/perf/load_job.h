// The load run: declare, connect, publish and consume, drain, close, delete, report.
//
//   kDeclaring -> kConnecting -> kPublishing -> kDraining -> kClosing -> kDeleting -> kOver
//
// Without producers kPublishing is left out. An error before kPublishing, or an interrupt, goes on
// with kClosing.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tools/perf/consumer.h"
#include "tools/perf/job.h"
#include "tools/perf/producer.h"
#include "tools/perf/report.h"
#include "tools/perf/tally.h"
#include "tools/perf/topology.h"
#include "tools/perf/verify.h"

namespace ringtail::perf {

class LoadJob final : public Job, private LoadEvents {
 public:
  explicit LoadJob(const JobContext& context);

  void start(Finished finished) override;
  void interrupt() override;

 private:
  enum class Phase : std::uint8_t {
    kDeclaring,
    kConnecting,
    kPublishing,
    kDraining,
    kClosing,
    kDeleting,
    kOver,
  };

  void ready() noexcept override;
  void may_publish(std::size_t producer) noexcept override;
  void lost(const std::string& reason) noexcept override;
  void note(const std::string& text) noexcept override;

  void make_clients(std::uint16_t run);
  void connect();
  void open_next();
  void begin();
  void rang();
  void tick();
  void advance(std::uint64_t now_ns);
  void end_warmup(std::uint64_t now_ns);
  void show_progress(std::uint64_t now_ns);

  void publish_eager(std::uint64_t now_ns);
  void publish_due(std::uint64_t now_ns);
  void publish_one(std::size_t producer, std::uint64_t now_ns);
  void set_alarm(std::uint64_t now_ns);
  bool publishing_is_over(std::uint64_t now_ns) const;

  void drain(std::uint64_t now_ns);
  bool is_drained(std::uint64_t now_ns) const;
  bool draining_only_is_over(std::uint64_t now_ns) const;
  bool everything_came() const;
  void close();
  void closed_one();
  void delete_queues();
  void finish();

  Summary summarize() const;
  void count_missing(Summary& summary) const;
  double since_start_s(std::uint64_t at_ns) const;

  runtime::Env& env_;
  const Options& options_;
  Tally tally_;
  std::unique_ptr<Verifier> verifier_;
  std::vector<std::unique_ptr<Producer>> producers_;
  std::vector<std::unique_ptr<Consumer>> consumers_;
  std::unique_ptr<Topology> declaring_;
  std::unique_ptr<Topology> deleting_;
  std::unique_ptr<runtime::Alarm> alarm_;
  std::unique_ptr<runtime::Timer> tick_timer_;
  std::unique_ptr<runtime::Timer> close_timer_;
  Finished finished_;

  Phase phase_ = Phase::kDeclaring;
  int interrupts_ = 0;
  std::size_t opened_ = 0;  // producers and consumers that began to connect
  std::size_t ready_ = 0;   // and that are set up
  std::size_t to_close_ = 0;

  std::vector<std::size_t> eager_;  // producers that can publish more at once
  std::vector<bool> is_eager_;      // by producer
  std::uint64_t turns_done_ = 0;    // with a rate: messages whose time has come

  bool warm_ = false;
  bool declared_ = false;  // by us, so there is something to delete
  std::uint64_t connect_ns_ = 0;
  std::uint64_t start_ns_ = 0;
  std::uint64_t end_ns_ = 0;
  std::uint64_t next_line_ns_ = 0;
  Counts window_from_;  // between warm-up and the end of publishing
  Counts window_to_;
  Counts line_from_;
};

}  // namespace ringtail::perf
