#include "broker/runtime/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include <array>
#include <cstdint>

#include "broker/runtime/check.h"

namespace ringtail::runtime {

namespace {

// Steps of matching, and kibibytes for going back: far above what names need.
constexpr std::uint32_t kMatchLimit = 100'000;
constexpr std::uint32_t kHeapLimitKiB = 4096;

template <auto kFree>
struct Freer {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};

}  // namespace

struct Pattern::Impl {
  std::unique_ptr<pcre2_code, Freer<pcre2_code_free>> code;
  std::unique_ptr<pcre2_match_data, Freer<pcre2_match_data_free>> match;
  std::unique_ptr<pcre2_match_context, Freer<pcre2_match_context_free>> context;
};

Pattern::Pattern(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;
Pattern::~Pattern() = default;

Result<Pattern> Pattern::compile(std::string_view text) {
  int error = 0;
  PCRE2_SIZE at = 0;
  auto impl = std::make_unique<Impl>();
  impl->code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                                 PCRE2_DOLLAR_ENDONLY, &error, &at, nullptr));
  if (impl->code == nullptr) {
    std::array<PCRE2_UCHAR, 256> message{};
    pcre2_get_error_message(error, message.data(), message.size());
    return Status(Code::kInvalid,
                  fmt::format("'{}' is not a regular expression: {} at character {}", text,
                              reinterpret_cast<const char*>(message.data()), at));
  }
  pcre2_jit_compile(impl->code.get(), PCRE2_JIT_COMPLETE);  // where it cannot, it is interpreted
  impl->match.reset(pcre2_match_data_create_from_pattern(impl->code.get(), nullptr));
  impl->context.reset(pcre2_match_context_create(nullptr));
  RT_CHECK(impl->match != nullptr && impl->context != nullptr, "out of memory");
  pcre2_set_match_limit(impl->context.get(), kMatchLimit);
  pcre2_set_heap_limit(impl->context.get(), kHeapLimitKiB);
  return Pattern(std::move(impl));
}

bool Pattern::matches(std::string_view subject) const {
  return pcre2_match(impl_->code.get(), reinterpret_cast<PCRE2_SPTR>(subject.data()),
                     subject.size(), 0, 0, impl_->match.get(), impl_->context.get()) >= 0;
}

}  // namespace ringtail::runtime
