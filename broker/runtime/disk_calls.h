// Requests to the disk that own themselves, with the file and the bytes that they need, until they
// are done: whoever asked may be gone by then.
#pragma once

#include <boost/intrusive/list.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "broker/runtime/bytes.h"
#include "broker/runtime/disk.h"
#include "broker/runtime/status.h"

namespace ringtail::runtime {

// An open file that stays open as long as somebody, or a request, has it.
using FileRef = std::shared_ptr<File>;

// A member of whoever asks, by which a request knows whether he is still there.
class Alive {
 public:
  Alive() : token_(std::make_shared<bool>(true)) {}
  Alive(const Alive&) = delete;
  Alive& operator=(const Alive&) = delete;

 private:
  friend class DiskCalls;
  const std::shared_ptr<bool> token_;
};

struct DiskCall : boost::intrusive::list_base_hook<> {
  DiskRequest request;
  FileRef file;
  Bytes written;
  std::vector<std::uint8_t> read;
};

// One per shard, on its thread; outlives who asks. A process that ends waits until none() is
// under way; one that is killed (in a simulation) drops them.
class DiskCalls {
 public:
  using Then = std::function<void(const Status&, DiskCall&)>;

  DiskCalls() = default;
  DiskCalls(const DiskCalls&) = delete;
  DiskCalls& operator=(const DiskCalls&) = delete;
  ~DiskCalls();

  // `then` runs when the request has ended, unless `asker` has ended before.
  DiskCall& make(FileRef file, const Alive& asker, Then then);
  bool none() const { return under_way_.empty(); }
  // Runs each time when the last one has ended.
  void when_none(std::function<void()> idle) { idle_ = std::move(idle); }

 private:
  boost::intrusive::list<DiskCall> under_way_;
  std::function<void()> idle_;
};

}  // namespace ringtail::runtime
