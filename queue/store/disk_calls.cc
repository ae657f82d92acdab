#include "queue/store/disk_calls.h"

#include <utility>

namespace ringtail::queue::store {

DiskCalls::~DiskCalls() {
  under_way_.clear_and_dispose([](DiskCall* call) { delete call; });  // NOLINT: owned by the list
}

DiskCall& DiskCalls::make(std::shared_ptr<runtime::File> file, const std::shared_ptr<bool>& asker,
                          Then then) {
  auto* call = new DiskCall;  // NOLINT: owned by the list
  under_way_.push_back(*call);
  call->file = std::move(file);
  call->request.done = [this, call, alive = std::weak_ptr<bool>(asker),
                        after = std::move(then)](const runtime::Status& status) {
    under_way_.erase(under_way_.iterator_to(*call));
    // This function lives in what is deleted at its end.
    const std::unique_ptr<DiskCall> own(call);
    const Then run = after;
    const std::function<void()> idle = under_way_.empty() ? idle_ : nullptr;
    if (!alive.expired()) run(status, *own);
    if (idle) idle();
  };
  return *call;
}

}  // namespace ringtail::queue::store
