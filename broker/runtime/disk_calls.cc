#include "broker/runtime/disk_calls.h"

#include <utility>

namespace ringtail::runtime {

DiskCalls::~DiskCalls() {
  under_way_.clear_and_dispose([](DiskCall* call) { delete call; });  // NOLINT: owned by the list
}

DiskCall& DiskCalls::make(FileRef file, const Alive& asker, Then then) {
  auto* call = new DiskCall;  // NOLINT: owned by the list
  under_way_.push_back(*call);
  call->file = std::move(file);
  call->request.done = [this, call, alive = std::weak_ptr<bool>(asker.token_),
                        after = std::move(then)](const Status& status) {
    under_way_.erase(under_way_.iterator_to(*call));
    // This function lives in what is deleted at its end.
    const std::unique_ptr<DiskCall> own(call);
    const Then run = after;
    if (!alive.expired()) run(status, *own);
    // What ran may have asked for more.
    if (!under_way_.empty() || !idle_) return;
    const std::function<void()> idle = idle_;
    idle();
  };
  return *call;
}

}  // namespace ringtail::runtime
