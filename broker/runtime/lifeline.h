// Callbacks that an object has given away and that must do nothing once it is gone: a connection
// attempt under way, say, which cannot be called back.
#pragma once

#include <memory>
#include <utility>

namespace ringtail::runtime {

// A member of the object; on its shard.
class Lifeline {
 public:
  // The callback, which does nothing after cut() or the end of this.
  template <typename Callback>
  auto guard(Callback callback) const {
    return
        [alive = std::weak_ptr<const char>(mark_), run = std::move(callback)](auto&&... arguments) {
          if (!alive.expired()) run(std::forward<decltype(arguments)>(arguments)...);
        };
  }
  void cut() { mark_ = std::make_shared<const char>('\0'); }

 private:
  std::shared_ptr<const char> mark_ = std::make_shared<const char>('\0');
};

}  // namespace ringtail::runtime
