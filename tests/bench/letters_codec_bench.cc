// What a message costs on its way to another node beside the link itself: Publish and Deliver
// letters encoded into an OutChain and decoded again, nanoseconds a message.
//
// usage: letters_codec_bench [rounds]
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "broker/runtime/check.h"
#include "broker/runtime/envelope.h"
#include "queue/letters.h"
#include "queue/letters_codec.h"

namespace ringtail::queue {
namespace {

using runtime::Letter;
using runtime::LetterCodec;

// Messages between two looks at the clock, which takes half a microsecond.
constexpr std::size_t kMessages = 64;

// Of the thread, so that other programs do not count.
std::uint64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

MessageRef make_message(std::size_t size) {
  static constexpr char kRoute[] = "\x08\x65xchange\x0Bsome.queue.";
  static constexpr char kProperties[] = "\x10\x00\x02";
  Message* message = Message::create(runtime::as_bytes({kRoute, sizeof(kRoute) - 1}),
                                     runtime::as_bytes({kProperties, 3}), size, {});
  message->append_body(runtime::as_bytes(std::string(size, 'x')));
  return MessageRef(message);
}

// As a link does: the pieces are copied once, by the kernel, into what was read.
void read_back(runtime::EncodedLetter& encoded, std::vector<std::uint8_t>& body) {
  body.clear();
  while (!encoded.body.empty()) {
    runtime::OutChain::Piece piece{};
    encoded.body.peek({&piece, 1});
    body.insert(body.end(), piece.data, piece.data + piece.size);
    encoded.body.consume(piece.size);
  }
}

void measure(const char* name, const LetterCodec& codec, const Letter& letter, std::size_t count,
             std::uint64_t rounds) {
  const std::size_t at_once = std::max<std::size_t>(kMessages / count, 1);
  std::uint64_t encoding = 0;
  std::uint64_t decoding = 0;
  std::vector<std::vector<std::uint8_t>> bodies(at_once);
  std::vector<runtime::LetterPtr> letters(at_once);
  for (std::uint64_t i = 0; i < rounds; i += at_once) {
    std::vector<runtime::EncodedLetter> encoded(at_once);
    const std::uint64_t begin = now_ns();
    for (runtime::EncodedLetter& one : encoded) codec.encode(letter, one);
    encoding += now_ns() - begin;
    for (std::size_t at = 0; at < at_once; ++at) read_back(encoded[at], bodies[at]);
    const std::uint64_t read = now_ns();
    for (std::size_t at = 0; at < at_once; ++at) {
      auto decoded = codec.decode(encoded[at].header, bodies[at]);
      RT_CHECK(decoded.ok(), "what was written is not read");
      letters[at] = std::move(decoded).value();
    }
    decoding += now_ns() - read;
  }
  rounds = (rounds + at_once - 1) / at_once * at_once;
  const double messages = static_cast<double>(rounds) * static_cast<double>(count);
  std::printf("%-24s %5zu a letter: encode %6.1f ns, decode %6.1f ns a message\n", name, count,
              static_cast<double>(encoding) / messages, static_cast<double>(decoding) / messages);
}

void run(std::uint64_t rounds) {
  runtime::LetterCodecs codecs;
  add_codecs(codecs);
  for (const std::size_t size : {std::size_t{16}, std::size_t{1024}, std::size_t{65536}}) {
    for (const std::size_t count : {std::size_t{1}, std::size_t{20}, std::size_t{200}}) {
      Publish publish(Qid{123456});
      publish.first_number = 1'000'000;
      Deliver deliver(Qid{123456});
      for (std::size_t i = 0; i < count; ++i) {
        publish.messages.push_back(make_message(size));
        Delivery& delivery = deliver.deliveries.emplace_back();
        delivery.consumer = 3;
        delivery.token = 0x1234567'0000ULL + i;
        delivery.message = make_message(size);
      }
      const std::uint64_t times = 1 + rounds / count / (1 + size / 1024);
      const std::string text = std::to_string(size) + " bytes";
      measure(("Publish, " + text).c_str(), *codecs.find(kPublish), publish, count, times);
      measure(("Deliver, " + text).c_str(), *codecs.find(kDeliver), deliver, count, times);
    }
  }
}

}  // namespace
}  // namespace ringtail::queue

int main(int argc, char** argv) {
  ringtail::queue::run(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 500'000);
  return 0;
}
