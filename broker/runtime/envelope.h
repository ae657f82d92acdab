// How a letter crosses to another node. The folder that owns a kind of letters registers how they
// are written and read; the peer links (cluster/peer_link.h) know none of them.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "broker/runtime/bytes.h"
#include "broker/runtime/check.h"
#include "broker/runtime/letter.h"
#include "broker/runtime/status.h"

namespace ringtail::runtime {

// A letter's own bytes: a header (Protobuf of the folder that owns it), then what follows it raw:
// message bodies never enter a Protobuf field. Kind and addresses travel beside them.
struct EncodedLetter {
  std::string header;
  OutChain body;
};

struct LetterCodec {
  // `letter` is of the kind that the codec was registered for. Large bodies are slipped in as
  // slices.
  void (*encode)(const Letter& letter, EncodedLetter& out) = nullptr;
  // The bytes are valid during the call only. kCorrupt: they are not such a letter; says why.
  Result<LetterPtr> (*decode)(std::string_view header,
                              std::span<const std::uint8_t> body) = nullptr;
};

// By kind. Filled before the shards start, then read on all of them.
class LetterCodecs {
 public:
  void add(LetterKind kind, LetterCodec codec) {
    const bool added = codecs_.emplace(kind, codec).second;
    RT_CHECK(added, "a kind of letters has two codecs");
  }
  // Null: letters of this kind stay within a node.
  const LetterCodec* find(LetterKind kind) const {
    const auto found = codecs_.find(kind);
    return found == codecs_.end() ? nullptr : &found->second;
  }

 private:
  std::map<LetterKind, LetterCodec> codecs_;
};

}  // namespace ringtail::runtime
