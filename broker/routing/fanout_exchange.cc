// Fanout: every binding matches.
#include "broker/routing/exchange.h"

namespace ringtail::broker {

namespace {

class FanoutIndex : public BindingIndex {
 public:
  void add(std::string_view, std::string_view, const Target& target) override {
    targets_.add(target);
  }
  void remove(std::string_view, std::string_view, const Target& target) override {
    targets_.remove(target);
  }
  void match(const Routable&, Matches& matches) const override { targets_.reach_all(matches); }

 private:
  TargetSet targets_;
};

}  // namespace

std::unique_ptr<BindingIndex> make_fanout_index(const ExchangeRecord&) {
  return std::make_unique<FanoutIndex>();
}

}  // namespace ringtail::broker
