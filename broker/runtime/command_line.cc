// Flags (cxxopts), and the order: defaults, then the file, then flags, then what the machine gives.
// The flags are plain; cxxopts parses them without std::regex too, which spares half a minute of
// compiling with sanitizers.
#define CXXOPTS_NO_REGEX true

#include <algorithm>
#include <cstring>
#include <cxxopts.hpp>
#include <exception>

#include "broker/runtime/config_file.h"
#include "broker/runtime/config_settings.h"
#include "broker/runtime/machine.h"
#include "broker/runtime/version.h"

namespace ringtail::runtime {

namespace {

constexpr std::size_t kHelpColumn = 38;

void append_help_line(std::string& text, std::string flag, const std::string& help) {
  if (flag.size() + 2 > kHelpColumn) {
    text += flag + "\n" + std::string(kHelpColumn, ' ');
  } else {
    flag.resize(kHelpColumn, ' ');
    text += flag;
  }
  text += help + "\n";
}

std::string help_text() {
  std::string text =
      "Usage: ringtail [flags]\n\n" + std::string(kVersionLine) +
      ": a message broker.\n"
      "Every flag can stand in the --config file too, with underscores: amqp_port = 5672.\n"
      "A flag beats the file. Sizes take units: 64KiB, 128MiB, 2GB.\n";
  const char* group = "";
  for (const Setting& setting : settings()) {
    if (std::strcmp(group, setting.group) != 0) {
      group = setting.group;
      text += "\n" + std::string(group) + ":\n";
    }
    append_help_line(text, "  --" + std::string(setting.flag) + " " + setting.argument,
                     std::string(setting.help) + " (default: " + setting.fallback + ")");
  }
  text += "\nOther:\n";
  append_help_line(text, "  --config FILE", "settings in the style of rabbitmq.conf; with conf.d/");
  append_help_line(text, "  --version", "print the version and end");
  append_help_line(text, "  --help", "print this and end");
  text +=
      "\nThe data directory is /var/lib/ringtail where that exists and root starts the node.\n"
      "The memory watermark is a part of the RAM, or of the cgroup's limit where that is less\n"
      "(0.4), or a size (2GB).\n";
  return text;
}

cxxopts::Options all_flags() {
  cxxopts::Options options("ringtail");
  options.allow_unrecognised_options();
  options.add_options()("h,help", "")("v,version", "")("config", "", cxxopts::value<std::string>());
  for (const Setting& setting : settings()) {
    options.add_options()(setting.flag, "", cxxopts::value<std::string>());
  }
  return options;
}

Status wrong_flag(const std::string& flag, const std::string& text) {
  return Status(Code::kInvalid, "flag --" + flag + ": " + text);
}

Status refuse_unknown(const std::string& argument) {
  if (argument.size() < 2 || argument.front() != '-') {
    return Status(Code::kInvalid, "'" + argument + "' is not a flag; see --help");
  }
  std::string flag = argument.substr(0, argument.find('='));
  flag.erase(0, flag.find_first_not_of('-'));
  if (is_flag_of_later_version(flag)) {
    return wrong_flag(flag,
                      "belongs to a later version of Ringtail; this is " + std::string(kVersion));
  }
  return Status(Code::kInvalid,
                "unknown flag " + argument.substr(0, argument.find('=')) + "; see --help");
}

// --- defaults of this machine ---

void fill_defaults(Config& config, const Machine& machine) {
  if (config.node_name.empty()) config.node_name = "ringtail@" + machine.short_host;
  if (config.data_dir.empty()) {
    config.data_dir =
        machine.root && machine.system_data_dir ? "/var/lib/ringtail" : "./ringtail-data";
  }
  // One core is left to the kernel's network work, the disk's threads and whoever runs beside.
  if (config.shards == 0) config.shards = std::clamp(machine.cores, 2U, 257U) - 1;
  if (config.memory_high_watermark == 0) {
    config.memory_high_watermark = static_cast<std::uint64_t>(
        config.memory_high_watermark_fraction * static_cast<double>(machine.memory_bytes));
  }
  if (config.disk_free_limit_relative > 0) {
    config.disk_free_limit = static_cast<std::uint64_t>(config.disk_free_limit_relative *
                                                        static_cast<double>(machine.memory_bytes));
  }
}

Status apply_file(ConfigDraft& draft, const std::string& path) {
  if (path.empty()) return wrong_flag("config", "'' is not a file name");
  draft.config.config_file = path;
  Result<std::vector<std::string>> paths = config_files(path);
  RT_TRY(paths.status());
  for (const std::string& file : paths.value()) {
    Result<std::string> text = read_config_file(file);
    RT_TRY(text.status());
    RT_TRY(apply_config_lines(draft, text.value(), file));
  }
  file_done(draft);
  return {};
}

Status apply_flags(ConfigDraft& draft, const std::vector<cxxopts::KeyValue>& arguments) {
  std::string bind;  // --bind may be given several times
  for (const cxxopts::KeyValue& argument : arguments) {
    for (const Setting& setting : settings()) {
      if (argument.key() != setting.flag) continue;
      std::string value = argument.value();
      if (argument.key() == "bind") {
        if (!bind.empty()) value = bind + "," + value;
        bind = value;
      }
      const std::string rule = setting.apply(draft, value);
      if (!rule.empty()) return wrong_flag(setting.flag, "'" + value + "' " + rule);
    }
  }
  return {};
}

// What cxxopts takes for a value although it is the next flag.
Status refuse_flag_as_value(const std::vector<cxxopts::KeyValue>& arguments) {
  for (const cxxopts::KeyValue& argument : arguments) {
    if (argument.value().starts_with("--")) return wrong_flag(argument.key(), "needs a value");
  }
  return {};
}

Result<CommandLine> read_flags(int argc, const char* const* argv) {
  cxxopts::Options options = all_flags();
  const cxxopts::ParseResult parsed = options.parse(argc, argv);
  CommandLine line;
  if (parsed.count("help") > 0 || parsed.count("version") > 0) {
    const bool help = parsed.count("help") > 0;
    line.action = help ? CommandLine::Action::kSayHelp : CommandLine::Action::kSayVersion;
    line.text = help ? help_text() : std::string(kVersionLine) + "\n";
    return line;
  }
  RT_TRY(refuse_flag_as_value(parsed.arguments()));
  if (!parsed.unmatched().empty()) return refuse_unknown(parsed.unmatched().front());
  ConfigDraft draft;
  if (parsed.count("config") > 0) RT_TRY(apply_file(draft, parsed["config"].as<std::string>()));
  RT_TRY(apply_flags(draft, parsed.arguments()));
  RT_TRY(all_done(draft));
  fill_defaults(draft.config, read_machine());
  line.config = std::move(draft.config);
  return line;
}

}  // namespace

Result<CommandLine> parse_command_line(int argc, const char* const* argv) {
  try {
    return read_flags(argc, argv);
  } catch (const cxxopts::exceptions::missing_argument&) {
    // Only the last argument can lack a value.
    std::string flag(argv[argc - 1]);
    flag.erase(0, flag.find_first_not_of('-'));
    return wrong_flag(flag, "needs a value");
  } catch (const std::exception& error) {
    return Status(Code::kInvalid, std::string("command line: ") + error.what());
  }
}

}  // namespace ringtail::runtime
