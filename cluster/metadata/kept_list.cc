#include "cluster/metadata/kept_list.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace ringtail::cluster::metadata {

using runtime::Block;
using runtime::Bytes;

namespace {

// Large enough that a million records are few pieces, small enough to be written again for a record
// that goes from the middle.
constexpr std::size_t kPieceBytes = 16 * 1024;

}  // namespace

KeptList::Piece KeptList::make_piece(std::size_t capacity) {
  Block* const block = Block::create(std::max(capacity, kPieceBytes), false);
  return {{}, Bytes::adopt(block, block->data(), 0), block};
}

// Behind what the piece has. Copies of it end before these bytes.
void KeptList::append(Piece& piece, Record record, std::string_view encoded) {
  const std::size_t size = piece.bytes.size();
  std::memcpy(piece.block->data() + size, encoded.data(), encoded.size());
  piece.block->ref();
  piece.bytes = Bytes::adopt(piece.block, piece.block->data(), size + encoded.size());
  piece.records.push_back(record);
}

KeptList::Pieces::const_iterator KeptList::piece_of(std::uint64_t key) const {
  const auto behind = std::upper_bound(
      pieces_.begin(), pieces_.end(), key,
      [](std::uint64_t wanted, const Piece& piece) { return wanted < piece.records.front().key; });
  return behind == pieces_.begin() ? behind : std::prev(behind);
}

KeptList::Pieces::iterator KeptList::piece_of(std::uint64_t key) {
  return pieces_.begin() + (std::as_const(*this).piece_of(key) - pieces_.cbegin());
}

void KeptList::put(std::uint64_t key, std::string_view encoded) {
  if (!pieces_.empty() && key <= pieces_.back().records.back().key) {
    return rewrite(piece_of(key), key, &encoded);
  }
  if (pieces_.empty() ||
      pieces_.back().block->capacity() - pieces_.back().bytes.size() < encoded.size()) {
    pieces_.push_back(make_piece(encoded.size()));
  }
  append(pieces_.back(), {key, static_cast<std::uint32_t>(encoded.size())}, encoded);
  ++size_;
}

void KeptList::remove(std::uint64_t key) {
  if (pieces_.empty()) return;
  const auto piece = piece_of(key);
  rewrite(piece, key, nullptr);
  if (piece->records.empty()) {
    pieces_.erase(piece);
    return;
  }
  const auto at = static_cast<std::size_t>(piece - pieces_.begin());
  join(at);
  if (at > 0) join(at - 1);
}

void KeptList::rewrite(Pieces::iterator piece, std::uint64_t key, const std::string_view* encoded) {
  const Piece old = std::exchange(
      *piece, make_piece(piece->bytes.size() + (encoded == nullptr ? 0 : encoded->size())));
  const auto put_new = [&] {
    if (encoded == nullptr) return;
    append(*piece, {key, static_cast<std::uint32_t>(encoded->size())}, *encoded);
    encoded = nullptr;
    ++size_;
  };
  std::string_view rest = runtime::as_text(old.bytes.span());
  for (const Record& record : old.records) {
    if (record.key >= key) put_new();
    if (record.key == key) {
      --size_;
    } else {
      append(*piece, record, rest.substr(0, record.size));
    }
    rest.remove_prefix(record.size);
  }
  put_new();
}

// Pieces that have become small are one with the next, so that their number follows that of the
// records.
void KeptList::join(std::size_t at) {
  if (at + 1 >= pieces_.size()) return;
  Piece& piece = pieces_[at];
  const Piece& next = pieces_[at + 1];
  if (piece.bytes.size() + next.bytes.size() > kPieceBytes / 2) return;
  std::string_view rest = runtime::as_text(next.bytes.span());
  for (const Record& record : next.records) {
    append(piece, record, rest.substr(0, record.size));
    rest.remove_prefix(record.size);
  }
  pieces_.erase(pieces_.begin() + static_cast<std::ptrdiff_t>(at) + 1);
}

std::string_view KeptList::find(std::uint64_t key) const {
  if (pieces_.empty()) return {};
  const Piece& piece = *piece_of(key);
  std::size_t offset = 0;
  for (const Record& record : piece.records) {
    if (record.key == key) {
      return runtime::as_text(piece.bytes.span()).substr(offset, record.size);
    }
    offset += record.size;
  }
  return {};
}

void KeptList::clear() {
  pieces_.clear();
  size_ = 0;
}

void KeptList::append_to(runtime::BytesChain& chain) const {
  for (const Piece& piece : pieces_) chain.append(piece.bytes);
}

}  // namespace ringtail::cluster::metadata
