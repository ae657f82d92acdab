#include "broker/amqp/frame_writer.h"

#include <algorithm>

#include "tests/unit/amqp/wire_tools.h"

namespace frame_writer_test {

using namespace ringtail::amqp;
namespace runtime = ringtail::runtime;

namespace {

constexpr std::uint32_t kFrameMax = 4096;

Buffer pattern(std::size_t size) {
  Buffer out(size);
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<std::uint8_t>(i * 7 + i / 251);
  return out;
}

// Reads what was written back and puts the body together; checks each frame against frame_max.
struct ReadContent {
  ContentHeader header;
  Buffer properties;
  Buffer body;
  std::size_t body_frames = 0;
};

ReadResult read_back(const Buffer& bytes, std::uint32_t frame_max) {
  const std::uint32_t payload_max = frame_max == 0 ? 0xFFFFFFFF : frame_max - 8;
  ReadResult result = read_frames(bytes, bytes.size(), payload_max);
  CHECK(result.fault == FrameFault::kNone);
  CHECK(result.left == 0);
  return result;
}

ReadContent content_of(const ReadResult& result, std::size_t first, std::uint16_t channel) {
  ReadContent content;
  REQUIRE(result.frames.size() > first);
  CHECK(result.frames[first].type == FrameType::kHeader);
  REQUIRE(content.header.parse(result.frames[first].payload));
  content.properties = to_buffer(content.header.properties);
  for (std::size_t i = first; i < result.frames.size(); ++i) {
    CHECK(result.frames[i].channel == channel);
    if (i == first) continue;
    CHECK(result.frames[i].type == FrameType::kBody);
    const Buffer& part = result.frames[i].payload;
    content.body.insert(content.body.end(), part.begin(), part.end());
    ++content.body_frames;
  }
  CHECK(content.header.class_id == 60);
  CHECK(content.header.body_size == content.body.size());
  return content;
}

runtime::BytesChain chain_of(const Buffer& body, std::initializer_list<std::size_t> sizes) {
  runtime::BytesChain chain;
  std::size_t at = 0;
  for (const std::size_t size : sizes) {
    chain.append(runtime::Bytes::copy(std::span(body).subspan(at, size)));
    at += size;
  }
  REQUIRE(at == body.size());
  return chain;
}

}  // namespace

TEST_CASE("a method frame") {
  runtime::OutChain out;
  ChannelClose close;
  close.reply_code = 404;
  close.reply_text = "NOT_FOUND";
  close.class_id = 60;
  close.method_id = 40;
  write_method(out, 5, close);
  write_method(out, 0, ConnectionCloseOk{});
  write_heartbeat(out);
  write_protocol_header(out);
  CHECK(drain(out) == wire("01 0005 00000014 0014 0028 0194 09 'NOT_FOUND' 003C 0028 CE"
                           "01 0000 00000004 000A 0033 CE"
                           "08 0000 00000000 CE"
                           "'AMQP' 00 00 09 01"));
}

TEST_CASE("deliver of a small message, octet by octet") {
  runtime::OutChain out;
  const Buffer route = wire("01 'e' 02 'rk'");
  const Buffer properties = wire("1000 02");
  const Buffer body = wire("'hello'");
  Deliver deliver;
  deliver.channel = 3;
  deliver.redelivered = true;
  deliver.frame_max = kFrameMax;
  deliver.delivery_tag = 0x0102030405060708;
  deliver.consumer_tag = "ctag";
  deliver.route = route;
  deliver.content = {properties, body};
  write_deliver(out, deliver);
  CHECK(drain(out) == wire("01 0003 00000017 003C 003C 04 'ctag' 0102030405060708 01 01 'e' 02 'rk'"
                           "CE 02 0003 0000000F 003C 0000 0000000000000005 1000 02 CE"
                           "03 0003 00000005 'hello' CE"));
}

TEST_CASE("deliver of bodies of all sizes reads back") {
  const Buffer route = wire("00 03 'key'");
  for (const std::uint32_t frame_max : {kFrameMax, 131072u, 0u}) {
    for (const std::size_t size :
         {0u, 1u, 100u, 4087u, 4088u, 4089u, 4096u, 4097u, 8176u, 8177u, 70000u, 200000u}) {
      CAPTURE(frame_max);
      CAPTURE(size);
      const Buffer body = pattern(size);
      for (const bool chained : {false, true}) {
        runtime::BytesChain chain;
        chain.append(runtime::Bytes::copy(body));
        runtime::OutChain out;
        Deliver deliver;
        deliver.channel = 9;
        deliver.frame_max = frame_max;
        deliver.delivery_tag = 77;
        deliver.route = route;
        deliver.content.chain = chained ? &chain : nullptr;
        if (!chained) deliver.content.body = body;
        write_deliver(out, deliver);
        const ReadResult result = read_back(drain(out), frame_max);
        BasicDeliver method;
        REQUIRE(method.decode(std::span(result.frames[0].payload).subspan(4)));
        CHECK(method.delivery_tag == 77);
        CHECK(method.consumer_tag.empty());
        CHECK(method.routing_key == "key");
        const ReadContent content = content_of(result, 1, 9);
        CHECK(content.body == body);
        CHECK(content.properties == wire("0000"));
        const std::size_t most = body_payload_max(frame_max);
        CHECK(content.body_frames == (size + most - 1) / most);
      }
    }
  }
}

TEST_CASE("a chain is cut at frame_max across its pieces") {
  const Buffer body = pattern(100000);
  const runtime::BytesChain chain = chain_of(body, {1, 5000, 4088, 3, 50000, 4096, 36812});
  for (const std::uint32_t frame_max : {kFrameMax, 10000u, 65536u, 131072u}) {
    runtime::OutChain out;
    write_content(out, 1, {wire("0000"), {}, &chain}, frame_max);
    const ReadContent content = content_of(read_back(drain(out), frame_max), 0, 1);
    CHECK(content.body == body);
    CHECK(content.body_frames == (body.size() + frame_max - 9) / (frame_max - 8));
  }
}

TEST_CASE("large pieces go out as slices, small ones copied") {
  const Buffer body = pattern(60000);
  runtime::BytesChain chain = chain_of(body, {60000});
  const std::uint8_t* source = chain.pieces()[0].data();
  runtime::OutChain out;
  write_body(out, 1, chain, 131072);
  runtime::OutChain::Piece pieces[8];
  const std::size_t count = out.peek(pieces);
  CHECK(std::any_of(pieces, pieces + count, [&](const runtime::OutChain::Piece& piece) {
    return piece.data == source && piece.size == 60000;
  }));

  runtime::OutChain small_out;
  const runtime::BytesChain small = chain_of(pattern(4096), {4096});
  write_body(small_out, 1, small, 131072);
  CHECK(small_out.peek(pieces) == 1);
}

TEST_CASE("the chain outlives the body it slices") {
  runtime::OutChain out;
  const Buffer body = pattern(20000);
  {
    const runtime::BytesChain chain = chain_of(body, {20000});
    write_content(out, 1, {{}, {}, &chain}, 131072);
  }
  CHECK(content_of(read_back(drain(out), 131072), 0, 1).body == body);
}

TEST_CASE("get-ok and return with content") {
  const Buffer route = wire("02 'ex' 03 'key'");
  const Buffer properties = wire("8000 0A 'text/plain'");
  const Buffer body = pattern(5000);
  runtime::OutChain out;
  GetOk get_ok;
  get_ok.channel = 4;
  get_ok.redelivered = true;
  get_ok.frame_max = kFrameMax;
  get_ok.delivery_tag = 11;
  get_ok.message_count = 12;
  get_ok.route = route;
  get_ok.content = {properties, body};
  write_get_ok(out, get_ok);
  ReadResult result = read_back(drain(out), kFrameMax);
  CHECK(load_u32(result.frames[0].payload.data()) == kMethodKey<BasicGetOk>);
  BasicGetOk got;
  REQUIRE(got.decode(std::span(result.frames[0].payload).subspan(4)));
  CHECK(got.delivery_tag == 11);
  CHECK(got.redelivered);
  CHECK(got.exchange == "ex");
  CHECK(got.routing_key == "key");
  CHECK(got.message_count == 12);
  CHECK(content_of(result, 1, 4).body == body);
  CHECK(content_of(result, 1, 4).properties == properties);

  Return returned;
  returned.channel = 6;
  returned.frame_max = kFrameMax;
  returned.route = route;
  returned.content = {properties, body};
  write_return(out, returned);
  result = read_back(drain(out), kFrameMax);
  CHECK(load_u32(result.frames[0].payload.data()) == kMethodKey<BasicReturn>);
  BasicReturn back;
  REQUIRE(back.decode(std::span(result.frames[0].payload).subspan(4)));
  CHECK(back.reply_code == 312);
  CHECK(back.reply_text == "NO_ROUTE");
  CHECK(back.exchange == "ex");
  CHECK(content_of(result, 1, 6).body == body);
}

TEST_CASE("many small messages fill blocks and stay in order") {
  runtime::OutChain out;
  const Buffer route = wire("00 01 'q'");
  for (std::uint64_t tag = 1; tag <= 5000; ++tag) {
    const Buffer body = pattern(tag % 300);
    Deliver deliver;
    deliver.channel = 1;
    deliver.frame_max = 131072;
    deliver.delivery_tag = tag;
    deliver.consumer_tag = "consumer";
    deliver.route = route;
    deliver.content.body = body;
    write_deliver(out, deliver);
  }
  const ReadResult result = read_back(drain(out), 131072);
  std::uint64_t tag = 0;
  for (const WholeFrame& frame : result.frames) {
    if (frame.type != FrameType::kMethod) continue;
    BasicDeliver method;
    REQUIRE(method.decode(std::span(frame.payload).subspan(4)));
    CHECK(method.delivery_tag == ++tag);
  }
  CHECK(tag == 5000);
}

}  // namespace frame_writer_test
