#include <netdb.h>
#include <sys/socket.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "broker/runtime/uv/uv_error.h"
#include "broker/runtime/uv/uv_listener.h"
#include "broker/runtime/uv/uv_tcp.h"

namespace ringtail::runtime {

namespace {

using Resolved = std::function<void(Result<std::vector<std::string>>)>;

struct LookUp {
  uv_getaddrinfo_t request{};
  std::string host;
  Resolved done;
};

// The system's answer, each address once.
std::vector<std::string> numeric_addresses(const addrinfo* list) {
  std::vector<std::string> addresses;
  for (; list != nullptr; list = list->ai_next) {
    char text[NI_MAXHOST] = {};
    if (::getnameinfo(list->ai_addr, list->ai_addrlen, text, sizeof text, nullptr, 0,
                      NI_NUMERICHOST) == 0) {
      addresses.emplace_back(text);
    }
  }
  return addresses;
}

void on_resolved(uv_getaddrinfo_t* request, int error, addrinfo* list) noexcept {
  const std::unique_ptr<LookUp> own(static_cast<LookUp*>(request->data));
  const std::vector<std::string> addresses = numeric_addresses(list);
  uv_freeaddrinfo(list);
  if (error == UV_ECANCELED) return;  // the loop is ending, and so is whoever asked
  if (error != 0 || addresses.empty()) {
    const std::string why = error != 0 ? uv_strerror(error) : "no address";
    own->done(Status(Code::kNotFound, "cannot resolve " + own->host + ": " + why));
    return;
  }
  own->done(addresses);
}

}  // namespace

// A look-up under way when the loop ends holds that up until the system gives its answer.
void UvNet::resolve(const std::string& host, Resolved done) {
  sockaddr_storage numeric{};
  if (parse_address(host, 0, numeric).ok()) {
    loop_.defer([host, done = std::move(done)] { done(std::vector<std::string>{host}); });
    return;
  }
  auto look_up = std::make_unique<LookUp>();
  look_up->host = host;
  look_up->done = done;
  look_up->request.data = look_up.get();
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  const int error =
      uv_getaddrinfo(loop_.handle(), &look_up->request, on_resolved, host.c_str(), nullptr, &hints);
  if (error == 0) {
    static_cast<void>(look_up.release());  // on_resolved() has it
    return;
  }
  const Status failed = uv_status(error, "cannot resolve " + host);
  loop_.defer([failed, done = std::move(done)] { done(failed); });
}

}  // namespace ringtail::runtime
