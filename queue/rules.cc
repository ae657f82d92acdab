#include "queue/rules.h"

#include <utility>

namespace ringtail::queue {

using cluster::metadata::Overflow;

void Rules::set(cluster::metadata::QueueOptions asked) {
  options = std::move(asked);
  ttl_ms = options.message_ttl_ms.value_or(kNone);
  max_length = options.max_length.value_or(kNone);
  max_bytes = options.max_length_bytes.value_or(kNone);
  delivery_limit = options.delivery_limit.value_or(kNone);
  unused_ms = options.expires_ms.value_or(kNone);
  const bool limited = max_length != kNone || max_bytes != kNone;
  drops_head = limited && options.overflow.value_or(Overflow::kDropHead) == Overflow::kDropHead;
  refuses = limited && !drops_head;
}

}  // namespace ringtail::queue
