// Letters as they travel between nodes: one envelope after the other, without regard for frames
// (docs/FORMATS.md, "Between nodes"). Pure; on any shard.
//
//   envelope = kind:short to-shard:short from-actor:longlong to-actor:longlong
//              header-size:long body-size:long header body
//
// The nodes at both ends and the sender's shard are those of the link.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "broker/runtime/bytes.h"
#include "broker/runtime/ids.h"
#include "broker/runtime/letter.h"
#include "broker/runtime/status.h"

namespace ringtail::cluster {

inline constexpr std::size_t kEnvelopePrefixSize = 28;

struct EnvelopePrefix {
  runtime::LetterKind kind = 0;
  runtime::ShardId to_shard;
  runtime::ActorId from_actor;
  runtime::ActorId to_actor;
  friend bool operator==(const EnvelopePrefix&, const EnvelopePrefix&) = default;
};

// Appends an envelope; takes all of `body`. False: it is larger than kEnvelopeMax, and left out.
bool append_envelope(runtime::OutChain& to, const EnvelopePrefix& prefix, std::string_view header,
                     runtime::OutChain& body);

// Who gets the envelopes that were read.
class EnvelopeSink {
 public:
  virtual ~EnvelopeSink() = default;
  // The bytes are valid during the call. False: read no further, whoever reads may be gone.
  virtual bool envelope(const EnvelopePrefix& prefix, std::string_view header,
                        std::span<const std::uint8_t> body) noexcept = 0;
};

// Puts envelopes together again. One that lies in one piece is handed on where it lies.
class EnvelopeReader {
 public:
  // The next bytes of the stream. kCorrupt: they are no envelopes; nothing can be read from here
  // on. kClosed: the sink wanted no more.
  runtime::Status read(std::span<const std::uint8_t> bytes, EnvelopeSink& sink);

 private:
  // Moves bytes to partial_ until it has `size`; true: it has.
  bool collect(std::span<const std::uint8_t>& bytes, std::size_t size);
  runtime::Status read_partial(std::span<const std::uint8_t>& bytes, EnvelopeSink& sink);

  std::vector<std::uint8_t> partial_;
};

}  // namespace ringtail::cluster
