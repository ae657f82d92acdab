// The files of a node that does not run, behind the door through which the broker's own readers
// look: read only, and synchronous.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "broker/runtime/env.h"

namespace ringtail::ctl {

// What is asked for is done in run(), one thing after the other. Outlives its files.
class DataDisk final : public runtime::Disk {
 public:
  // Carries out requests until there are no more.
  void run();

  // For reading alone.
  runtime::Result<std::unique_ptr<runtime::File>> open(const std::string& path,
                                                       runtime::OpenMode mode) override;
  runtime::Result<std::vector<std::string>> list(const std::string& path) override;
  // kNotFound: there is no such file; it is not made.
  runtime::Result<std::unique_ptr<runtime::FileLock>> lock(const std::string& path) override;
  runtime::Result<std::string> content(const std::string& path) override;
  runtime::Result<bool> readable_by_others(const std::string& path) override;
  // A whole file.
  runtime::Result<std::vector<std::uint8_t>> read(const std::string& path);

  // What would change something is refused.
  runtime::Status make_directory(const std::string& path) override;
  runtime::Status rename(const std::string& from, const std::string& to) override;
  runtime::Status remove(const std::string& path) override;
  runtime::Status remove_tree(const std::string& path) override;
  runtime::Status sync_directory(const std::string& path) override;
  runtime::Status replace(const std::string& path, std::string_view content) override;
  runtime::Result<std::uint64_t> free_bytes(const std::string& path) override;

 private:
  class DataFile;
  struct Completion {
    runtime::DiskRequest* request;
    runtime::Status status;
  };
  std::deque<Completion> completions_;
};

// Has a disk and nothing else.
class DataEnv final : public runtime::Env {
 public:
  explicit DataEnv(DataDisk& disk) : disk_(disk) {}
  runtime::Disk& disk() override { return disk_; }
  runtime::Clock& clock() override;
  runtime::Timers& timers() override;
  runtime::Rng& rng() override;
  runtime::Net& net() override;

 private:
  DataDisk& disk_;
};

}  // namespace ringtail::ctl
