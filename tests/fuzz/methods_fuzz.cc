// Methods: what decodes, encodes and decodes to the same, and passes through writer and reader.
// Input: the payload of a method frame.
#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "broker/amqp/field_table.h"
#include "broker/amqp/frame_writer.h"
#include "broker/runtime/check.h"

namespace {

using namespace ringtail::amqp;
using Buffer = std::vector<std::uint8_t>;

template <typename Method>
std::string fields_text(const Method& method) {
  std::string out;
  Method::visit_fields(method, [&out](const char* name, const auto& value) {
    using Value = std::decay_t<decltype(value)>;
    out += name;
    if constexpr (std::is_integral_v<Value>) {
      out += std::to_string(value);
    } else if constexpr (std::is_same_v<Value, std::string_view>) {
      out += value;
    } else {
      RT_CHECK(validate_table(value), "a malformed table got through");
      out += ringtail::runtime::as_text(value);
    }
    out += ';';
  });
  return out;
}

template <typename Method>
void check_method(Method method, std::span<const std::uint8_t> arguments) {
  const MethodInfo* info = find_method(Method::kClassId, Method::kMethodId);
  RT_CHECK(info != nullptr && info->has_content == Method::kHasContent, "the lookup differs");
  if (!method.decode(arguments)) return;
  const std::string fields = fields_text(method);
  // Reserved strings are not kept, so it may have become shorter.
  RT_CHECK(method.encoded_size() <= arguments.size(), "encodes to more than there was");

  ringtail::runtime::OutChain out;
  write_method(out, 7, method);
  ringtail::runtime::OutChain::Piece piece[1];
  RT_CHECK(out.peek(piece) == 1 && piece[0].size == out.size(), "not in one piece");
  std::span<const std::uint8_t> written(piece[0].data, piece[0].size);
  FrameReader reader;
  reader.set_payload_max(0xFFFFFFFF);
  Frame frame{};
  RT_CHECK(reader.next(written, frame) == FrameReader::Outcome::kFrame, "no frame was written");
  RT_CHECK(written.empty() && frame.type == FrameType::kMethod, "another frame was written");
  RT_CHECK(load_u32(frame.payload.data()) == kMethodKey<Method>, "another method was written");

  Method again;
  RT_CHECK(again.decode(frame.payload.subspan(4)), "does not decode again");
  RT_CHECK(fields_text(again) == fields, "decodes to other fields");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 4) return 0;
  const std::uint16_t class_id = load_u16(data);
  const std::uint16_t method_id = load_u16(data + 2);
  const std::span<const std::uint8_t> arguments(data + 4, size - 4);
  const bool known =
      visit_method(class_id, method_id, [&](auto method) { check_method(method, arguments); });
  RT_CHECK(known == (method_name(class_id, method_id) != nullptr), "the lookup differs");
  return 0;
}
