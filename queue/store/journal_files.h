// The files of a shard's journal: the one that changes go to, the one that is made ready behind it,
// the older ones that somebody still needs, and those that nobody needs any more.
#pragma once

#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "broker/runtime/shard.h"
#include "broker/runtime/status.h"
#include "queue/store/journal.h"

namespace ringtail::queue::store {

// Owned by the Journal, on its shard.
//
// A file is made ready in steps: its name (a spare one is renamed, else a new one made), the
// directory synced, room for file_size, the header with a fresh salt written and synced. In this
// order: a spare file that had the new header under its old name, after a crash, would look
// damaged.
//
// Files go strictly oldest first, to the spare ones and from there: a removal must not go before
// the publish that it is of.
class JournalFiles {
 public:
  struct Callbacks {
    std::function<void()> ready;                             // one more
    std::function<void(const runtime::Status& why)> failed;  // once; there will be no more files
  };
  JournalFiles(runtime::Shard& shard, std::string directory, const JournalOptions& options,
               Callbacks callbacks);
  ~JournalFiles();
  JournalFiles(const JournalFiles&) = delete;
  JournalFiles& operator=(const JournalFiles&) = delete;

  // Adds `before` to all numbers (which count from 1 until then), and makes the first file ready.
  void open(JournalFileNumber before);
  // From here on a full disk is not waited for: it fails.
  void wait_no_longer();
  // No further step is begun.
  void stop();
  // The same; what is half made is removed. False: a step is under way, after which
  // `ready` is called for the last time.
  bool close();

  // --- the file that changes go to ---
  JournalFileNumber current() const { return current_; }
  std::uint64_t salt() const { return at(current_).salt; }
  // Goes on to the next file, and makes the one behind it ready.
  void begin_next();
  // Null: it is not ready yet.
  runtime::File* ready_file(JournalFileNumber number) const;

  // --- who needs what ---
  void appends(JournalUser& user);
  void left(JournalUser& user, JournalFileNumber needed);
  void forget(JournalUser& user);
  // Takes the user off its list; null: there are none. For a journal that has failed.
  JournalUser* take_user();
  void hold(bool held) { held_ = held; }
  // Gives up the oldest files that nobody needs, all before `unwritten`.
  void release(JournalFileNumber unwritten);
  // More files are in use than should be, and somebody who needs the oldest was not told.
  bool must_tell() const;
  // Tells one of them.
  void tell_one();
  std::size_t in_use() const {
    return static_cast<std::size_t>(current_ - files_.front()->number) + 1;
  }

 private:
  using Users = boost::intrusive::list<
      JournalUser,
      boost::intrusive::member_hook<JournalUser, JournalUser::Hook, &JournalUser::needing_>,
      boost::intrusive::constant_time_size<false>>;
  struct JournalFile {
    JournalFileNumber number = 0;
    std::uint64_t salt = 0;
    bool ready = false;
    std::unique_ptr<runtime::File> file;
    // Whose oldest needed file it is.
    Users needing;
    Users leaving;  // told
  };
  struct SpareFile {
    JournalFileNumber number = 0;
    std::uint64_t size = 0;
  };
  enum class Step : std::uint8_t { kName, kDirectory, kRoom, kHeader };

  JournalFile& at(JournalFileNumber number) {
    return *files_[static_cast<std::size_t>(number - files_.front()->number)];
  }
  const JournalFile& at(JournalFileNumber number) const {
    return *files_[static_cast<std::size_t>(number - files_.front()->number)];
  }
  void add_file();
  std::string path(JournalFileNumber number) const;
  void unlink(JournalUser& user);
  JournalFile* preparing();
  // Makes files ready up to the one behind the current one, one after the other; never at once.
  void prepare();
  void run_step();
  runtime::Status take_name(JournalFile& file);
  void step_done(const runtime::Status& status);
  void step_failed(const runtime::Status& status);
  void drop_half_made();
  void remove_spares();

  runtime::Shard& shard_;
  runtime::Disk& disk_;
  const std::string directory_;
  const JournalOptions& options_;
  const Callbacks callbacks_;
  bool held_ = false;
  std::deque<std::unique_ptr<JournalFile>> files_;  // by number, without a gap
  std::deque<SpareFile> spares_;
  JournalFileNumber current_ = 0;
  JournalFileNumber ready_ = 0;  // the newest that is

  // Of the file behind ready_.
  Step step_ = Step::kName;
  bool named_ = false;    // a spare one was given its name
  bool running_ = false;  // a request is under way
  ByteBuffer header_;
  runtime::DiskRequest request_;
  std::unique_ptr<runtime::Timer> timer_;  // for the next step
  bool open_ = false;
  bool patient_ = true;
  bool full_ = false;
  bool ended_ = false;  // closed or failed
};

}  // namespace ringtail::queue::store
