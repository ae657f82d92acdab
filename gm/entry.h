// What goes round a ring: a batch of changes to what the ring keeps alike, opaque here. The origin
// numbers batches, not changes, so that the ring's cost is per turn of its loop and not per message
// (docs/decisions/0014-entries-are-batches.md).
#pragma once

#include <cstddef>
#include <utility>

#include "broker/runtime/bytes.h"
#include "gm/ring_view.h"

namespace ringtail::gm {

struct Entry {
  Position at;
  // A new master's first one: it holds no change, and says where its epoch begins.
  bool begins_epoch = false;
  runtime::Bytes changes;      // encoded
  runtime::BytesChain bodies;  // raw, beside them

  std::size_t size() const { return changes.size() + bodies.size(); }
};

}  // namespace ringtail::gm
