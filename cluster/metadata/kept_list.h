// Encoded records of one kind in an order, as a snapshot has them. A copy of all of them costs time
// by the number of pieces, not of records, and stays as it is whatever happens afterwards: what a
// copy has is never written over. That is what makes a snapshot of any size a matter of
// microseconds for the shard that has to answer in time.
//
// On the control shard; pieces of a copy may go to other threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>
#include <utility>
#include <vector>

#include "broker/runtime/bytes.h"

namespace ringtail::cluster::metadata {

class KeptList {
 public:
  // Adds a record in the place that `key` gives it, or replaces it.
  void put(std::uint64_t key, std::string_view encoded);
  // What is not there is not removed.
  void remove(std::uint64_t key);
  // Empty when it is not there; valid until the next change.
  std::string_view find(std::uint64_t key) const;
  void clear();

  std::size_t size() const { return size_; }
  std::size_t pieces() const { return pieces_.size(); }
  void append_to(runtime::BytesChain& chain) const;

 private:
  struct Record {
    std::uint64_t key;
    std::uint32_t size;
  };
  struct Piece {
    std::vector<Record> records;  // by key, as their bytes
    runtime::Bytes bytes;
    runtime::Block* block;  // that of `bytes`; behind them there may be room
  };
  using Pieces = std::deque<Piece>;

  static Piece make_piece(std::size_t capacity);
  static void append(Piece& piece, Record record, std::string_view encoded);
  // The piece that has the key or would get it; there is one.
  Pieces::iterator piece_of(std::uint64_t key);
  Pieces::const_iterator piece_of(std::uint64_t key) const;
  // The piece again without the record `key`, and with `encoded` in its place if that is not null.
  void rewrite(Pieces::iterator piece, std::uint64_t key, const std::string_view* encoded);
  void join(std::size_t at);

  Pieces pieces_;
  std::size_t size_ = 0;
};

}  // namespace ringtail::cluster::metadata
