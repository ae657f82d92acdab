// ringtail-perf: load, latency and verification for any AMQP 0-9-1 broker.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "broker/runtime/uv/uv_program.h"
#include "broker/runtime/version.h"
#include "tools/perf/job.h"
#include "tools/perf/options.h"
#include "tools/perf/tls_env.h"

namespace {

using ringtail::perf::Command;
using ringtail::perf::Job;
using ringtail::perf::JobContext;
using ringtail::perf::Options;
using ringtail::perf::Target;
using ringtail::perf::TlsEnv;
using ringtail::runtime::Status;
using ringtail::runtime::UvProgram;

constexpr int kExitUsage = 2;
// Interrupted so often that it has to end as it is.
constexpr int kPatience = 3;
constexpr int kExitInterrupted = 130;

std::unique_ptr<Job> make_job(const JobContext& context) {
  switch (context.options.command) {
    case Command::kConnections:
      return make_connections_job(context);
    case Command::kQueues:
      return make_queues_job(context);
    case Command::kReady:
      return make_ready_job(context);
    case Command::kHelp:
    case Command::kVersion:
    case Command::kLoad:
      break;
  }
  return make_load_job(context);
}

Status resolve(std::vector<Target>& targets) {
  for (Target& target : targets) {
    auto address = UvProgram::resolve(target.host);
    if (!address.ok()) return address.status();
    target.host = std::move(address).value();
  }
  return {};
}

Status resolve_all(Options& options) {
  RT_TRY(resolve(options.producer_targets));
  RT_TRY(resolve(options.consumer_targets));
  std::vector<Target> control = {options.control};
  RT_TRY(resolve(control));
  options.control = control.front();
  return {};
}

std::vector<Target> all_targets(const Options& options) {
  std::vector<Target> targets = options.producer_targets;
  targets.insert(targets.end(), options.consumer_targets.begin(), options.consumer_targets.end());
  targets.push_back(options.control);
  return targets;
}

int run(const Options& options, ringtail::runtime::TlsContext tls) {
  UvProgram::raise_descriptor_limit();
  int exit_code = 1;
  int interrupts = 0;
  std::optional<TlsEnv> tls_env;
  std::unique_ptr<Job> job;
  UvProgram program([&](int) {
    if (++interrupts >= kPatience) std::_Exit(kExitInterrupted);
    if (job != nullptr) job->interrupt();
  });
  tls_env.emplace(program.env(), std::move(tls));
  for (const Target& target : all_targets(options)) tls_env->add(target);
  const JobContext context{
      *tls_env, [&](std::function<void()> rung) { return program.make_alarm(std::move(rung)); },
      options};
  job = make_job(context);
  job->start([&](int code) {
    exit_code = code;
    program.stop();
  });
  program.run();
  job.reset();
  tls_env.reset();
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  auto parsed = ringtail::perf::parse_options(argc, argv);
  if (!parsed.ok()) {
    fmt::print(stderr, "ringtail-perf: {}\nTry ringtail-perf --help.\n", parsed.status().text());
    return kExitUsage;
  }
  Options options = std::move(parsed).value();
  if (options.command == Command::kHelp) {
    fmt::print("{}", options.text);
    return 0;
  }
  if (options.command == Command::kVersion) {
    fmt::print("ringtail-perf of {}\n", ringtail::runtime::kVersionLine);
    return 0;
  }
  if (const Status status = resolve_all(options); !status.ok()) {
    fmt::print(stderr, "ringtail-perf: {}\n", status.text());
    return 1;
  }
  auto tls = ringtail::perf::make_tls_context(options);
  if (!tls.ok()) {
    fmt::print(stderr, "ringtail-perf: --ca-file: {}\n", tls.status().text());
    return kExitUsage;
  }
  return run(options, std::move(tls).value());
}
