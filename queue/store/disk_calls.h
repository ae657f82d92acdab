// Requests to the disk that own themselves, with the file and the bytes that they need, until they
// are done: whoever asked may be gone by then.
#pragma once

#include <boost/intrusive/list.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "broker/runtime/disk.h"
#include "broker/runtime/status.h"
#include "queue/store/byte_buffer.h"

namespace ringtail::queue::store {

struct DiskCall : boost::intrusive::list_base_hook<> {
  runtime::DiskRequest request;
  std::shared_ptr<runtime::File> file;
  std::shared_ptr<ByteBuffer> written;
  std::vector<std::uint8_t> read;
};

// One per shard, on its thread; outlives the queues. A process that ends waits until none() is
// under way; one that is killed (in a simulation) drops them.
class DiskCalls {
 public:
  using Then = std::function<void(const runtime::Status&, DiskCall&)>;

  DiskCalls() = default;
  DiskCalls(const DiskCalls&) = delete;
  DiskCalls& operator=(const DiskCalls&) = delete;
  ~DiskCalls();

  // `then` runs when the request has ended, unless `asker` has ended before.
  DiskCall& make(std::shared_ptr<runtime::File> file, const std::shared_ptr<bool>& asker,
                 Then then);
  bool none() const { return under_way_.empty(); }
  // Runs each time when the last one has ended.
  void when_none(std::function<void()> idle) { idle_ = std::move(idle); }

 private:
  boost::intrusive::list<DiskCall> under_way_;
  std::function<void()> idle_;
};

}  // namespace ringtail::queue::store
