#include "broker/amqp/frame_reader.h"

#include "tests/unit/amqp/wire_tools.h"

namespace frame_reader_test {

using namespace ringtail::amqp;

namespace {

constexpr std::uint32_t kPayloadMax = 4088;

void add_frame(Buffer& out, std::uint8_t type, std::uint16_t channel, const Buffer& payload) {
  std::uint8_t head[kFrameHeaderSize];
  head[0] = type;
  store_u16(head + 1, channel);
  store_u32(head + 3, static_cast<std::uint32_t>(payload.size()));
  out.insert(out.end(), head, head + sizeof head);
  out.insert(out.end(), payload.begin(), payload.end());
  out.push_back(kFrameEnd);
}

FrameReader::Outcome read_one(FrameReader& reader, const Buffer& input, Frame& frame,
                              std::size_t& left) {
  std::span<const std::uint8_t> span(input);
  const FrameReader::Outcome outcome = reader.next(span, frame);
  left = span.size();
  return outcome;
}

}  // namespace

TEST_CASE("a method frame comes out whole") {
  const Buffer input = wire("01 0007 00000005 '12345' CE 08");
  FrameReader reader;
  Frame frame{};
  std::size_t left = 0;
  REQUIRE(read_one(reader, input, frame, left) == FrameReader::Outcome::kFrame);
  CHECK(frame.type == FrameType::kMethod);
  CHECK(frame.channel == 7);
  CHECK(to_string(frame.payload) == "12345");
  CHECK(frame.payload.data() == input.data() + 7);  // a slice, not a copy
  CHECK(frame.frame_size == 5);
  CHECK(frame.last_part);
  CHECK(left == 1);
}

TEST_CASE("a frame cut short waits, at every place") {
  for (const char* text : {"01 0001 00000003 'abc' CE", "02 0001 00000003 'abc' CE",
                           "08 0000 00000000 CE", "03 0001 00000000 CE"}) {
    const Buffer whole = wire(text);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const Buffer part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      FrameReader reader;
      Frame frame{};
      std::size_t left = 0;
      CHECK(read_one(reader, part, frame, left) == FrameReader::Outcome::kNeedMore);
      CHECK(left == size);
    }
  }
}

TEST_CASE("a body frame comes in parts, the last with its end octet only") {
  FrameReader reader;
  Frame frame{};
  std::size_t left = 0;
  const Buffer head = wire("03 0002 00000006 'a'");
  CHECK(read_one(reader, head, frame, left) == FrameReader::Outcome::kNeedMore);
  CHECK(left == head.size());  // a part of one byte is not worth it: nothing taken yet

  REQUIRE(read_one(reader, kept_wire("03 0002 00000006 'abc'"), frame, left) ==
          FrameReader::Outcome::kFrame);
  CHECK(to_string(frame.payload) == "abc");
  CHECK(frame.frame_size == 6);
  CHECK_FALSE(frame.last_part);
  CHECK(left == 0);

  CHECK(read_one(reader, {}, frame, left) == FrameReader::Outcome::kNeedMore);
  // All of the payload but not the end octet: the last byte stays back.
  REQUIRE(read_one(reader, kept_wire("'def'"), frame, left) == FrameReader::Outcome::kFrame);
  CHECK(to_string(frame.payload) == "de");
  CHECK_FALSE(frame.last_part);
  CHECK(left == 1);
  CHECK(read_one(reader, kept_wire("'f'"), frame, left) == FrameReader::Outcome::kNeedMore);

  REQUIRE(read_one(reader, kept_wire("'f' CE 01"), frame, left) == FrameReader::Outcome::kFrame);
  CHECK(to_string(frame.payload) == "f");
  CHECK(frame.channel == 2);
  CHECK(frame.last_part);
  CHECK(left == 1);
}

TEST_CASE("an empty body frame is one empty part") {
  FrameReader reader;
  Frame frame{};
  std::size_t left = 0;
  REQUIRE(read_one(reader, kept_wire("03 0001 00000000 CE"), frame, left) ==
          FrameReader::Outcome::kFrame);
  CHECK(frame.payload.empty());
  CHECK(frame.last_part);
  CHECK(left == 0);
}

TEST_CASE("faults") {
  struct Case {
    const char* input;
    FrameFault fault;
    std::uint32_t value;
  };
  const Case cases[] = {
      {"00 0000 00000000 CE", FrameFault::kUnknownType, 0},
      {"04 0000 00000000 CE", FrameFault::kUnknownType, 4},
      {"07 0000 FFFFFFFF", FrameFault::kUnknownType, 7},
      {"09 0000 00000000 CE", FrameFault::kUnknownType, 9},
      {"'AMQP' 00 00 09 01", FrameFault::kUnknownType, 'A'},
      {"01 0000 00000FF9", FrameFault::kTooLarge, 4089},
      {"03 0000 FFFFFFFF", FrameFault::kTooLarge, 0xFFFFFFFF},
      {"03 0000 FFFFFFF8 00", FrameFault::kTooLarge, 0xFFFFFFF8},
      {"01 0000 00000002 'ab' CD", FrameFault::kBadEnd, 0xCD},
      {"08 0000 00000000 00", FrameFault::kBadEnd, 0},
      {"03 0000 00000001 'a' 7F", FrameFault::kBadEnd, 0x7F},
  };
  for (const Case& a_case : cases) {
    CAPTURE(a_case.input);
    for (const std::size_t step : {std::size_t{1}, std::size_t{3}, std::size_t{100}}) {
      const ReadResult result = read_frames(wire(a_case.input), step, kPayloadMax);
      CHECK(result.fault == a_case.fault);
      CHECK(result.fault_value == a_case.value);
      CHECK(result.frames.empty());
    }
  }
}

TEST_CASE("a fault is for good") {
  FrameReader reader;
  Frame frame{};
  std::size_t left = 0;
  CHECK(read_one(reader, kept_wire("05 0000 00000000 CE"), frame, left) ==
        FrameReader::Outcome::kFault);
  CHECK(left == 8);
  for (const char* more : {"", "08", "03 0001 00000004 'ab'"}) {
    CHECK(read_one(reader, kept_wire(more), frame, left) == FrameReader::Outcome::kFault);
  }
  CHECK(reader.fault() == FrameFault::kUnknownType);
  CHECK(reader.fault_value() == 5);
}

TEST_CASE("a wrong end behind a body in parts is a fault") {
  Buffer input = wire("03 0001 00000008 '12345678' CF 08 0000 00000000 CE");
  for (std::size_t step = 1; step < input.size(); ++step) {
    const ReadResult result = read_frames(input, step, kPayloadMax);
    CHECK(result.fault == FrameFault::kBadEnd);
    CHECK(result.fault_value == 0xCF);
  }
}

TEST_CASE("a frame of exactly the limit passes, with the limit at its largest too") {
  Buffer input;
  add_frame(input, 3, 1, Buffer(kPayloadMax, 'x'));
  CHECK(read_frames(input, input.size(), kPayloadMax).frames.size() == 1);
  CHECK(read_frames(input, input.size(), kPayloadMax - 1).fault == FrameFault::kTooLarge);
  CHECK(read_frames(input, 100, 0xFFFFFFFF).frames.size() == 1);
  // A size near 2^32 must not wrap around when the envelope is added.
  const ReadResult huge = read_frames(wire("01 0000 FFFFFFFF 'abcdefgh'"), 100, 0xFFFFFFFF);
  CHECK(huge.fault == FrameFault::kNone);
  CHECK(huge.frames.empty());
  CHECK(huge.left == 15);
}

TEST_CASE("any cutting of the stream gives the same frames") {
  std::mt19937 random(2);
  for (int round = 0; round < 30; ++round) {
    Buffer input;
    for (int i = 0; i < 12; ++i) {
      static constexpr std::uint8_t kTypes[] = {1, 2, 3, 3, 3, 8};
      Buffer payload(random() % 4 == 0 ? random() % 4 : random() % 90);
      for (std::uint8_t& octet : payload) octet = static_cast<std::uint8_t>(random());
      add_frame(input, kTypes[random() % 6], static_cast<std::uint16_t>(random()), payload);
    }
    const ReadResult whole = read_frames(input, input.size(), kPayloadMax);
    CHECK(whole.frames.size() == 12);
    CHECK(whole.left == 0);
    for (const std::size_t step : {1u, 2u, 3u, 7u, 8u, 9u, 15u, 64u}) {
      const ReadResult cut = read_frames(input, step, kPayloadMax);
      CHECK(cut.fault == FrameFault::kNone);
      CHECK(cut.frames == whole.frames);
      CHECK(cut.left == 0);
    }
  }
}

}  // namespace frame_reader_test
