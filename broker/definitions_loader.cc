#include "broker/definitions_loader.h"

#include <utility>

#include "broker/runtime/config_file.h"
#include "broker/runtime/log.h"

namespace ringtail::broker {

using cluster::metadata::CommandResult;
using cluster::metadata::Outcome;
using runtime::log;
using runtime::LogLevel;
using runtime::Status;

namespace {

// Proposals on their way at a time: enough that they travel and are written together.
constexpr std::size_t kWindow = 1024;
// Lines of problems in the log; beyond it they are counted.
constexpr std::size_t kProblemsLogged = 1000;

}  // namespace

void DefinitionsLoader::start(const std::string& path, std::function<void(const Status&)> done) {
  path_ = path;
  done_ = std::move(done);
  const auto text = runtime::read_config_file(path);
  if (!text.ok()) return std::exchange(done_, nullptr)(text.status().within("definitions"));
  auto imported = import_definitions_text(text.value(), options_);
  if (!imported.ok()) {
    return std::exchange(done_, nullptr)(imported.status().within("definitions file " + path));
  }
  for (const std::string& problem : imported.value().problems) report(problem);
  commands_ = std::move(imported.value().commands);
  if (commands_.empty()) return end();
  while (proposed_ < commands_.size() && proposed_ < kWindow) propose_next();
}

void DefinitionsLoader::propose_next() {
  const std::size_t index = proposed_++;
  broker_shard_.propose(commands_[index], [this, index](const CommandResult& result) {
    answered(index, result.outcome);
  });
}

void DefinitionsLoader::answered(std::size_t index, Outcome outcome) {
  ++answered_;
  if (const std::string why = problem_of(outcome); !why.empty()) {
    report(subject_of(commands_[index]) + ": " + why);
  }
  if (proposed_ < commands_.size()) {
    propose_next();
  } else if (answered_ == commands_.size()) {
    end();
  }
}

void DefinitionsLoader::report(const std::string& problem) {
  ++problems_;
  if (problems_ <= kProblemsLogged) log(LogLevel::kWarning, "definitions", "{}", problem);
}

void DefinitionsLoader::end() {
  log(problems_ == 0 ? LogLevel::kInfo : LogLevel::kWarning, "definitions",
      "imported {}: {} definitions, {} problems{}", path_, commands_.size(), problems_,
      problems_ > kProblemsLogged ? ", not all of them logged" : "");
  std::exchange(done_, nullptr)({});
}

}  // namespace ringtail::broker
