// Indexes and identities: what is read can be written and is read the same.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "broker/runtime/check.h"
#include "queue/store/index_format.h"
#include "tests/fuzz/queue_sums.h"

namespace {

using namespace ringtail::queue::store;
namespace fuzz = ringtail::fuzz;

void check_index(const IndexScan& scan, std::size_t size) {
  RT_CHECK(scan.end + scan.torn == size, "bytes that are neither");
  std::vector<const SegmentState*> segments;
  for (const auto& [number, segment] : scan.state.segments) {
    RT_CHECK(number == segment.number, "a segment under another's number");
    segments.push_back(&segment);
  }
  ByteBuffer out;
  put_index_header(out, scan.header);
  put_index_commit(out, scan.header.salt, segments, {}, scan.state);
  const auto again = scan_index(out.span(), "fuzz");
  RT_CHECK(again.ok() && again.value().torn == 0, "what was written is not read");
  RT_CHECK(again.value().state == scan.state, "another state comes back");
}

fuzz::File fixed(std::span<const std::uint8_t> input) {
  if (input.empty()) return {};
  const std::uint8_t mode = input[0];
  fuzz::File file(input.begin() + 1, input.end());
  // The magic of an identity ends in 1: its last field is the sum of all before.
  const bool identity = file.size() > 8 && file[7] == '1';
  fuzz::fix_header(file, identity ? file.size() : kIndexHeaderSize, mode);
  std::size_t at = kIndexHeaderSize;
  const std::uint32_t salt = file.size() < at ? 0 : fuzz::sum(0, file, 20, 8);
  while (!identity && at <= file.size() && file.size() - at >= 8) {
    const std::size_t size = fuzz::size_at(file, at, file.size() - at - 8, mode);
    if ((mode & fuzz::kFixRecords) != 0) {
      fuzz::put_word(file, at + 4, fuzz::sum(fuzz::sum(salt, file, at, 4), file, at + 8, size));
    }
    at += 8 + size;
  }
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t input_size) {
  const fuzz::File bytes = fixed({data, input_size});
  const std::span<const std::uint8_t> file(bytes);
  const auto scan = scan_index(file, "fuzz");
  if (scan.ok()) {
    check_index(scan.value(), bytes.size());
  } else {
    RT_CHECK(scan.status().text().find("fuzz") != std::string::npos, "a file without its name");
  }
  const auto identity = read_identity(file, "fuzz");
  if (identity.ok()) {
    ByteBuffer out;
    put_identity(out, identity.value());
    RT_CHECK(out.size() == bytes.size(), "the identity is of another size");
  }
  return 0;
}
