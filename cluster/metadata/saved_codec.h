// Records as bytes (saved.proto), and the bytes put together again to what they leave.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>

#include "broker/runtime/status.h"
#include "cluster/metadata/changes.h"

namespace ringtail::cluster::metadata {

// Collects changes in their encoded form. Such texts joined are again one.
class ChangeEncoder final : public ChangeSink {
 public:
  void changed(ChangeKind kind, AnyRecord record) override;
  const std::string& bytes() const { return bytes_; }
  std::string take() { return std::exchange(bytes_, {}); }

 private:
  std::string bytes_;
};

// Applies changes to nothing, one after the other: what is left is the saved state.
class SavedStateBuilder {
 public:
  SavedStateBuilder();
  ~SavedStateBuilder();

  // kCorrupt: these bytes are not encoded changes.
  runtime::Status apply(std::string_view changes);
  // What came of it; the builder is spent. Bindings without both their ends, and whatever is in a
  // vhost that is not there, are left out and named in the log: a correct log leaves none.
  SavedState finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ringtail::cluster::metadata
