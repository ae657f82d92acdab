// A TlsContext that may be replaced while other threads use it: certificates are renewed.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "broker/runtime/tls/tls_context.h"

namespace ringtail::runtime {

// Any thread.
class TlsBox {
 public:
  void put(TlsContext context) {
    content_.store(std::make_shared<const TlsContext>(std::move(context)));
  }
  // Something has been put in.
  TlsContext get() const { return *content_.load(); }

 private:
  std::atomic<std::shared_ptr<const TlsContext>> content_;
};

}  // namespace ringtail::runtime
