// Where the fields of a journal stand; for its writer and its reader.
#pragma once

#include <cstddef>
#include <string_view>

namespace ringtail::queue::store {

inline constexpr std::string_view kJournalMagic = "RTJOURNL";
// In the header of a batch, behind size, records and index.
inline constexpr std::size_t kBatchSumAt = 16;
// In the header of a record.
inline constexpr std::size_t kRecordTypeAt = 4;
inline constexpr std::size_t kRecordQidAt = 5;
inline constexpr std::size_t kRecordHeadSumAt = 13;
inline constexpr std::size_t kRecordSumAt = 17;

}  // namespace ringtail::queue::store
