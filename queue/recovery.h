// A restart, as the queues see it: the journals of the former start are read, each shard its part,
// what they say goes to the shard where the queue lives now, and every durable queue takes up what
// its index and the journals say. Then the node may serve. Behind its back what the former journals
// hold is made safe elsewhere, and when all shards have done that, the files go.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "broker/runtime/letter.h"
#include "broker/runtime/shard.h"
#include "broker/runtime/status.h"
#include "cluster/metadata/view.h"
#include "queue/queue_registry.h"
#include "queue/store/journal_reader.h"
#include "queue/store/store_shard.h"

namespace ringtail::queue {

// One per shard, on its thread; all of them before start() is called on shard 0.
class Recovery final : public runtime::Actor {
 public:
  // `shards`: of this node.
  Recovery(runtime::Shard& shard, std::uint16_t shards, const cluster::metadata::View& view,
           QueueRegistry& queues, store::StoreShard& stores);
  ~Recovery() override;
  Recovery(const Recovery&) = delete;
  Recovery& operator=(const Recovery&) = delete;

  // On shard 0, when every shard knows its queues. `done`: they have what they had, and serve; or
  // why the disk cannot be read: then nothing on it was changed.
  void start(std::function<void(const runtime::Status&)> done);

  void receive(runtime::LetterPtr letter) noexcept override;

 private:
  struct Begin;
  struct Part;
  struct Ready;
  struct RestoreMore;
  struct Serve;
  struct Serving;
  struct FormerLeft;
  struct RemoveFormer;
  struct FormerRemoved;
  struct ReleaseFiles;
  using Journaled = std::map<Qid, store::JournaledQueue>;

  runtime::Address at(std::size_t shard_number) const;
  void begin();
  void read(runtime::Result<store::JournalsRead> result);
  void take(Part& part);
  void restore_some();
  void restored(Qid qid, const runtime::Status& damage);
  void report(const runtime::Status& status);
  void ready(const Ready& letter);
  void serve();
  void serving();
  void leave_some();
  void former_left();
  void remove_former();
  runtime::Status give_up(const std::string& file);
  void former_removed();

  runtime::Shard& shard_;
  const std::uint16_t shards_;
  const cluster::metadata::View& view_;
  QueueRegistry& queues_;
  store::StoreShard& stores_;
  const runtime::Address self_;

  std::function<void(const runtime::Status&)> done_;  // on shard 0
  runtime::Status failure_;
  std::size_t ready_ = 0;    // shards
  std::size_t serving_ = 0;  // shards
  std::size_t left_ = 0;
  std::size_t removed_ = 0;

  std::unique_ptr<store::JournalReader> reader_;
  std::uint64_t last_file_ = 0;
  std::vector<std::string> former_files_;
  bool former_damaged_ = false;
  std::size_t parts_ = 0;  // that have come
  Journaled journaled_;
  std::vector<Qid> waiting_;  // queues to be restored
  bool restoring_some_ = false;
  bool more_posted_ = false;
  runtime::Status unreadable_;  // why one of them cannot be read now, perhaps later
  std::size_t under_way_ = 0;
  std::vector<Qid> to_leave_;  // queues that the journals speak of
  bool leaving_some_ = false;  // one that is left at once calls from inside leave_some()
  bool left_reported_ = false;
};

}  // namespace ringtail::queue
