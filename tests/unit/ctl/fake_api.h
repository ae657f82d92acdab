// A broker that answers what a test has told it to.
#pragma once

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tools/ctl/command.h"

namespace ringtail::ctl {

class FakeApi final : public Api {
 public:
  // "GET queues/%2F" -> the reply. What is not here is answered 404.
  std::map<std::string, Reply> replies;
  // "PUT users/u {...}", as they came; requests that only read are left out.
  std::vector<std::string> changes;
  std::vector<Request> requests;
  runtime::Status down;  // not ok: nobody answers
  int pauses_left = 0;

  void answer(const std::string& what, const std::string& body, int status = 200) {
    replies[what] = {status, body};
  }

  runtime::Result<Reply> call(const Request& request) override {
    requests.push_back(request);
    if (!down.ok()) return down;
    const std::string what = request.method + " " + request.path;
    if (request.method != "GET")
      changes.push_back(what + (request.body ? " " + *request.body : ""));
    const auto found = replies.find(what);
    if (found != replies.end()) return found->second;
    return Reply{404, R"({"error":"Object Not Found","reason":"Not Found"})"};
  }
  bool connects(const std::string&, std::uint16_t port) override { return port != 1; }
  bool pause() override { return pauses_left-- > 0; }
  std::string where() const override { return "http://there:15672"; }
};

struct Ran {
  int code = 0;
  std::string out;
  std::string err;
};

inline Ran run(FakeApi& api, std::vector<const char*> words, const std::string& input = "") {
  words.insert(words.begin(), "/usr/sbin/ringtailctl");
  const auto line = parse_command_line(static_cast<int>(words.size()), words.data());
  if (!line.ok()) return {kExitUsage, "", line.status().text()};
  std::istringstream in(input);
  std::ostringstream out;
  std::ostringstream err;
  Context context(line.value(), api, in, out, err);
  const int code = run_command(context);
  return {code, out.str(), err.str()};
}

}  // namespace ringtail::ctl
