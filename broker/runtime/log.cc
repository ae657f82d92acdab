#include "broker/runtime/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <exception>
#include <memory>

namespace ringtail::runtime {

namespace {

constinit std::atomic<LogLevel> lowest_level{LogLevel::kInfo};

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kNone:
      break;
  }
  return spdlog::level::off;
}

// Never destroyed, so that what ends last can still say something. Null if spdlog refuses.
spdlog::logger* logger() {
  static spdlog::logger* const instance = []() -> spdlog::logger* {
    try {
      auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
      auto created = std::make_unique<spdlog::logger>("ringtail", std::move(sink));
      created->set_level(spdlog::level::trace);  // lowest_level decides
      created->set_pattern("%Y-%m-%d %H:%M:%S.%e [%l] %v");
      created->flush_on(spdlog::level::trace);
      return created.release();
    } catch (const std::exception&) {
      return nullptr;
    }
  }();
  return instance;
}

}  // namespace

Result<LogLevel> parse_log_level(std::string_view text) {
  if (text == "debug") return LogLevel::kDebug;
  if (text == "info") return LogLevel::kInfo;
  if (text == "warning") return LogLevel::kWarning;
  // Nothing is logged above error, which is therefore what "critical" comes closest to.
  if (text == "error" || text == "critical") return LogLevel::kError;
  if (text == "none") return LogLevel::kNone;
  return Status(Code::kInvalid,
                fmt::format("log level '{}' is none of debug, info, warning, error, "
                            "critical, none",
                            text));
}

void set_log_level(LogLevel level) { lowest_level.store(level, std::memory_order_relaxed); }

bool log_enabled(LogLevel level) {
  return level != LogLevel::kNone && level >= lowest_level.load(std::memory_order_relaxed);
}

void log_line(LogLevel level, std::string_view component, std::string_view text) {
  if (!log_enabled(level)) return;
  spdlog::logger* const target = logger();
  if (target == nullptr) return;
  target->log(spdlog_level(level), "[{}] {}", component, text);  // spdlog keeps its exceptions
}

}  // namespace ringtail::runtime
