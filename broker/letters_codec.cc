#include "broker/letters_codec.h"

#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "broker/direct_reply.h"
#include "broker/letters.pb.h"
#include "broker/runtime/check.h"
#include "queue/letters_codec.h"

namespace ringtail::broker {

using runtime::EncodedLetter;
using runtime::Letter;
using runtime::LetterPtr;
using runtime::Result;

namespace {

using Octets = std::span<const std::uint8_t>;

runtime::Status corrupt(const char* why) {
  return {runtime::Code::kCorrupt, std::string("a letter about a direct reply: ") + why};
}

template <typename Header>
bool parse(std::string_view bytes, Header& header) {
  return bytes.size() <= std::numeric_limits<int>::max() &&
         header.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

void encode_reply(const Letter& letter, EncodedLetter& out) {
  const auto& own = static_cast<const DirectReply&>(letter);
  wire::DirectReply header;
  header.set_name(own.name);
  queue::encode_message(*own.message, *header.mutable_head(), out.body);
  RT_CHECK(header.SerializeToString(&out.header), "a header of two gigabytes");
}
Result<LetterPtr> decode_reply(std::string_view bytes, Octets body) {
  wire::DirectReply header;
  if (!parse(bytes, header)) return corrupt("a header that is none");
  auto message = queue::decode_message(header.head(), body);
  if (!message.ok()) return message.status();
  auto letter = std::make_unique<DirectReply>();
  letter->name = header.name();
  letter->message = std::move(message).value();
  return LetterPtr(std::move(letter));
}

void encode_probe(const Letter& letter, EncodedLetter& out) {
  const auto& own = static_cast<const ProbeReply&>(letter);
  wire::ProbeReply header;
  header.set_request(own.request);
  header.set_name(own.name);
  RT_CHECK(header.SerializeToString(&out.header), "a header of two gigabytes");
}
Result<LetterPtr> decode_probe(std::string_view bytes, Octets body) {
  wire::ProbeReply header;
  if (!parse(bytes, header)) return corrupt("a header that is none");
  if (!body.empty()) return corrupt("octets behind the header");
  auto letter = std::make_unique<ProbeReply>();
  letter->request = header.request();
  letter->name = header.name();
  return LetterPtr(std::move(letter));
}

void encode_probed(const Letter& letter, EncodedLetter& out) {
  const auto& own = static_cast<const ReplyProbed&>(letter);
  wire::ReplyProbed header;
  header.set_request(own.request);
  header.set_exists(own.exists);
  RT_CHECK(header.SerializeToString(&out.header), "a header of two gigabytes");
}
Result<LetterPtr> decode_probed(std::string_view bytes, Octets body) {
  wire::ReplyProbed header;
  if (!parse(bytes, header)) return corrupt("a header that is none");
  if (!body.empty()) return corrupt("octets behind the header");
  auto letter = std::make_unique<ReplyProbed>();
  letter->request = header.request();
  letter->exists = header.exists();
  return LetterPtr(std::move(letter));
}

}  // namespace

void add_codecs(runtime::LetterCodecs& codecs) {
  codecs.add(kDirectReply, {&encode_reply, &decode_reply});
  codecs.add(kProbeReply, {&encode_probe, &decode_probe});
  codecs.add(kReplyProbed, {&encode_probed, &decode_probed});
}

}  // namespace ringtail::broker
