// What is done with the data directory of a node that does not run; nobody is asked.
#include <fmt/format.h>

#include <array>
#include <map>
#include <ostream>
#include <string>
#include <utility>

#include "queue/store/directory_name.h"
#include "tools/ctl/command.h"
#include "tools/ctl/message_json.h"
#include "tools/ctl/queue_contents.h"

namespace ringtail::ctl {

namespace {

using runtime::Code;
using runtime::Qid;
using runtime::Status;

// The exit codes of programs that compare and check.
constexpr int kExitDamaged = 1;
constexpr int kExitNotRead = 2;

// A directory that a deleted queue has left, and that goes bit by bit.
constexpr std::string_view kGone = ".gone";

// --- check_data ----------------------------------------------------------------------------------

class Check final : public Findings {
 public:
  Check(Context& context, DataDirectory& data) : context_(context), data_(data) {}

  int run() {
    const Status metadata = data_.read_queues();
    if (!metadata.ok()) damage(metadata.text());
    know_queues_ = metadata.ok();
    if (const Status journals = data_.read_journals(); journals.ok()) {
      tell_of_journals();
    } else {
      damage(journals.text());
    }
    const auto names = data_.disk().list(data_.path() + "/queues");
    if (names.ok()) {
      for (const std::string& name : names.value()) check_directory(name);
    } else if (names.status().code() != Code::kNotFound) {
      damage(names.status().text());
    }
    for (const auto& [directory, queue] : data_.queues()) {
      if (!seen_.contains(directory)) check_queue(directory, queue.qid);
    }
    summary();
    return damages_ == 0 ? kExitOk : kExitDamaged;
  }

  void damage(const std::string& text) override {
    ++damages_;
    say("damage", text);
  }
  void note(const std::string& text) override { say("note", text); }

 private:
  void say(const char* kind, const std::string& text) {
    if (context_.json()) {
      context_.out << json_line(Json{{"finding", kind}, {"text", text}}) << '\n';
    } else {
      context_.out << kind << ": " << text << '\n';
    }
  }

  // The reader tells damage and what was only cut off in one list; which of them is damage, the
  // queues know.
  void tell_of_journals() {
    auto& journals = data_.journals();
    bool damaged = journals.unknown_damage;
    for (const auto& [qid, queue] : journals.queues) damaged |= !queue.damage.empty();
    for (const std::string& line : journals.report) {
      const bool harmless = line.find(": the last write was cut off: ") != std::string::npos ||
                            line.ends_with("as one that was not ready for use");
      damaged && !harmless ? damage(line) : note(line);
    }
  }

  void check_directory(const std::string& name) {
    const std::string path = data_.queue_path(name);
    if (name.find(kGone) != std::string::npos) {
      return note(path + ": of a queue that was deleted; the next start removes it");
    }
    seen_[name] = true;
    const auto known = data_.queues().find(name);
    const auto content = data_.disk().read(path + "/queue");
    Qid identified;
    if (content.ok()) {
      const auto identity = queue::store::read_identity(content.value(), path + "/queue");
      if (identity.ok()) identified = identity.value().qid;
      // Nothing relies on it.
      if (!identity.ok()) note(identity.status().text());
    } else {
      note(content.status().text());
    }
    if (known != data_.queues().end()) {
      if (identified != Qid{} && identified != known->second.qid) {
        return note(
            fmt::format("{}: of a queue with the number {} that is no more; the one of "
                        "this name has {}",
                        path, identified.value, known->second.qid.value));
      }
      return check_queue(name, known->second.qid);
    }
    if (know_queues_) return note(path + ": there is no durable queue of this name");
    if (identified != Qid{}) check_queue(name, identified);
  }

  void check_queue(const std::string& directory, Qid qid) {
    QueueContents contents(data_, data_.queue_path(directory), qid, *this);
    contents.read();
    ++queues_;
    segments_ += contents.segments();
    messages_ += contents.count();
  }

  void summary() {
    const std::size_t journals = data_.journals().files.size();
    if (context_.json()) {
      context_.out << json_line(Json{{"journals", journals},
                                     {"queues", queues_},
                                     {"segments", segments_},
                                     {"messages", messages_},
                                     {"damages", damages_}})
                   << '\n';
      return;
    }
    context_.out << fmt::format("{}: {} journals, {} queues, {} segments, {} messages: {}\n",
                                data_.path(), journals, queues_, segments_, messages_,
                                damages_ == 0   ? "no damage"
                                : damages_ == 1 ? "1 damage"
                                                : fmt::format("{} damages", damages_));
  }

  Context& context_;
  DataDirectory& data_;
  bool know_queues_ = false;
  std::map<std::string, bool> seen_;
  std::uint64_t damages_ = 0;
  std::uint64_t queues_ = 0;
  std::uint64_t segments_ = 0;
  std::uint64_t messages_ = 0;
};

int check_data(Context& context) {
  context.banner(fmt::format("Checking the data directory {} ...", context.argument(0)));
  DataDirectory data(context.argument(0));
  if (const Status status = data.lock(); !status.ok()) {
    return context.fail(kExitNotRead, status.text());
  }
  return Check(context, data).run();
}

// --- export_messages -----------------------------------------------------------------------------

// On the standard error: the standard output has messages.
class ExportFindings final : public Findings {
 public:
  explicit ExportFindings(Context& context) : context_(context) {}
  void damage(const std::string& text) override {
    damaged_ = true;
    context_.err << "damage: " << text << '\n';
  }
  void note(const std::string&) override {}
  bool damaged() const { return damaged_; }

 private:
  Context& context_;
  bool damaged_ = false;
};

// Where the metadata does not say it, the directory itself does.
Qid qid_in(DataDirectory& data, const std::string& directory) {
  const auto content = data.disk().read(data.queue_path(directory) + "/queue");
  if (!content.ok()) return {};
  const auto identity = queue::store::read_identity(content.value(), directory);
  return identity.ok() ? identity.value().qid : Qid{};
}

int export_from(Context& context, DataDirectory& data, const std::string& directory) {
  ExportFindings findings(context);
  const Status metadata = data.read_queues();
  if (!metadata.ok()) findings.damage(metadata.text());
  const auto known = data.queues().find(directory);
  Qid qid;
  if (known != data.queues().end()) {
    qid = known->second.qid;
  } else if (!metadata.ok()) {
    qid = qid_in(data, directory);
  }
  if (qid == Qid{}) {
    return context.fail(kExitNotRead, fmt::format("{} has no durable queue of the directory {}",
                                                  data.path(), directory));
  }
  if (const Status journals = data.read_journals(); !journals.ok()) {
    findings.damage(journals.text());
  }
  if (const std::string& damage = data.journaled(qid).damage; !damage.empty()) {
    findings.damage(damage);
  }
  if (data.journals().unknown_damage) {
    findings.damage(data.path() + "/journal: what is damaged there may be of this queue");
  }
  QueueContents contents(data, data.queue_path(directory), qid, findings);
  contents.read();
  contents.for_each([&](const queue::store::StoredMessage& message) {
    context.out << json_line(json_of_message(message)) << '\n';
  });
  return findings.damaged() ? kExitDamaged : kExitOk;
}

int export_messages(Context& context) {
  const bool by_directory = context.line.has("directory");
  if (by_directory != (context.line.arguments.size() == 1)) {
    return context.fail(kExitUsage, "either a queue or --directory and its name is needed");
  }
  std::string directory = context.line.value("directory", "");
  if (!by_directory) {
    const auto made = queue::store::directory_name(context.line.vhost(), context.argument(1));
    if (!made.ok()) return context.fail(kExitData, made.status().text());
    directory = made.value();
  }
  DataDirectory data(context.argument(0));
  if (const Status status = data.lock(); !status.ok()) {
    return context.fail(kExitNotRead, status.text());
  }
  return export_from(context, data, directory);
}

}  // namespace

std::span<const Command> data_commands() {
  static constexpr std::string_view kGroup = "Data directory";
  static constexpr std::array kCommands = {
      Command{kGroup, "check_data", "<data directory>",
              "Looks for damage in the files of a node that does not run", 1, 1, "", check_data},
      Command{kGroup, "export_messages",
              "<data directory> [--vhost <vhost>] <queue> | <data directory> --directory <name>",
              "Prints the messages of a queue of a node that does not run, a line of JSON for each",
              1, 2, "vhost directory", export_messages},
  };
  return kCommands;
}

}  // namespace ringtail::ctl
