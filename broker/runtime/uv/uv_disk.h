// Files by libuv: reads, writes and syncs on its pool of threads, names and directories directly.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "broker/runtime/disk.h"
#include "broker/runtime/uv/uv_loop.h"

namespace ringtail::runtime {

// Owned by a UvEnv; its files are closed before the loop ends.
class UvDisk final : public Disk {
 public:
  explicit UvDisk(UvLoop& loop) : loop_(loop) {}

  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override;
  Status make_directory(const std::string& path) override;
  Result<std::vector<std::string>> list(const std::string& path) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status remove(const std::string& path) override;
  Status remove_tree(const std::string& path) override;
  Status sync_directory(const std::string& path) override;
  Status replace(const std::string& path, std::string_view content) override;
  Result<std::string> content(const std::string& path) override;
  Result<bool> readable_by_others(const std::string& path) override;
  Result<std::unique_ptr<FileLock>> lock(const std::string& path) override;
  Result<std::uint64_t> free_bytes(const std::string& path) override;

 private:
  UvLoop& loop_;
};

}  // namespace ringtail::runtime
