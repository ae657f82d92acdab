#include <string>
#include <utility>
#include <vector>

#include "broker/runtime/sim/sim_env.h"
#include "broker/runtime/sim/sim_net.h"

namespace ringtail::runtime {

namespace {

bool is_numeric(const std::string& host) {
  return host.find(':') != std::string::npos ||
         host.find_first_not_of("0123456789.") == std::string::npos;
}

}  // namespace

void SimNet::resolve(const std::string& host,
                     std::function<void(Result<std::vector<std::string>>)> done) {
  Result<std::vector<std::string>> answer =
      Status(Code::kNotFound, "cannot resolve " + host + ": no such name");
  const std::vector<std::string>* const known = env_.world().network().addresses_of(host);
  if (is_numeric(host)) {
    answer = std::vector<std::string>{host};
  } else if (known != nullptr && !known->empty()) {
    answer = *known;
  }
  SimNetwork& network = env_.world().network();
  const std::uint64_t latency_ns = network.latency_ns(env_.host().number(), env_.host().number());
  env_.schedule(is_numeric(host) ? 0 : latency_ns, SimEventKind::kWork,
                [answer = std::move(answer), done = std::move(done)] { done(answer); });
}

}  // namespace ringtail::runtime
