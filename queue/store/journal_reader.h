// What the journals of a data directory say, read when a node starts.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "broker/runtime/env.h"
#include "broker/runtime/status.h"
#include "queue/store/journal_format.h"
#include "queue/store/range_set.h"

namespace ringtail::queue::store {

// A file in the directory of a queue that could not be restored: what the journals said of it.
inline constexpr const char* kOwnJournal = "journal";

// What the journals say of one queue.
struct JournaledQueue {
  std::vector<StoredMessage> published;             // in the order of their numbers, each once
  std::map<std::uint8_t, RangeSet> removed;         // numbers, by lane
  std::map<std::uint8_t, std::uint64_t> delivered;  // by lane: perhaps delivered up to
  bool deleted = false;
  bool empty() const {
    return published.empty() && removed.empty() && delivered.empty() && damage.empty() && !deleted;
  }
  std::string damage;  // why it must not be used; empty: it may

  // Adds what another journal says (the number of shards was another one before).
  void merge(JournaledQueue other);
};

struct JournalsRead {
  std::map<Qid, JournaledQueue> queues;
  std::uint64_t last_file = 0;      // highest number among the files that were read; 0: none
  std::vector<std::string> files;   // paths, oldest first
  std::vector<std::string> report;  // a line each for torn tails and damages; for the log
  // Damages that no queue could be found for: all queues of these journals may lack something.
  bool unknown_damage = false;
};

// Adds what a record says; `content`: of the file that it stands in.
runtime::Status add_record(const JournalRecord& record, std::span<const std::uint8_t> content,
                           JournaledQueue& queue);
// What the journal in the directory of a queue says that could not be restored before; `content` of
// the file named `path`. A damage of it is in the result.
JournaledQueue read_own_journal(std::span<const std::uint8_t> content, const std::string& path,
                                Qid qid);
// Lists the shards that have journal files in the directory, ascending.
runtime::Result<std::vector<std::uint16_t>> journal_shards(runtime::Disk& disk,
                                                           const std::string& directory);
// The path of a file: <directory>/<shard, 5 digits>-<number, 10 digits>.
std::string journal_path(const std::string& directory, std::uint16_t shard, std::uint64_t number);

// Reads the journals of some shards, on this shard's thread, a file at a time; lives until `done`
// has run. Damage never fails it: only a disk that cannot be read does.
class JournalReader {
 public:
  JournalReader(runtime::Env& env, std::string directory, std::vector<std::uint16_t> shards);
  ~JournalReader();
  JournalReader(const JournalReader&) = delete;
  JournalReader& operator=(const JournalReader&) = delete;

  void start(std::function<void(runtime::Result<JournalsRead>)> done);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ringtail::queue::store
