// The limits of the links between nodes, each with its reason.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ringtail::cluster {

// --- handshake ---

// The longest message of a handshake; the fields of one are under 700 bytes.
inline constexpr std::size_t kHandshakeMessageMax = 1024;
// From the connection to the welcome. A node that lives answers within a few round trips.
inline constexpr std::uint64_t kHandshakeTimeoutMs = 5000;
// Connections that have not proven themselves; more are closed at once. Members that start together
// and are more than that for a moment try again.
inline constexpr std::size_t kUnprovenMax = 64;

// --- frames ---

// The payload of a frame. Long enough that its header and checksum cost nothing, short enough that
// a receiver that has to hold one until it is whole holds little.
inline constexpr std::size_t kFramePayloadMax = 256 * 1024;
// One envelope. A batch of publishes may exceed its window (limits.h, kPublishWindowBytes) by one
// message, and a snapshot of the metadata is one.
inline constexpr std::size_t kEnvelopeMax = 1024 * 1024 * 1024;
// Bodies up to this size are copied behind their header, so that a letter of a few bytes does not
// pin the whole block that its encoder took until the peer has acknowledged it.
inline constexpr std::size_t kCopyBodyMax = 16 * 1024;
// Memory that the assembly of an envelope keeps for the next one.
inline constexpr std::size_t kAssemblyKept = 256 * 1024;
// Memory that the assembly takes at the first word of an envelope's size.
inline constexpr std::size_t kAssemblyAtOnceMax = 4 * 1024 * 1024;
// What one write takes: a link that has much to send again does not hold its shard's turn.
inline constexpr std::size_t kWriteAtOnceMax = 4 * 1024 * 1024;

// --- sessions ---

// What is kept for a peer until it has acknowledged it. Above it the peer is congested, below the
// low mark it is no more.
inline constexpr std::size_t kKeptHighMark = 64 * 1024 * 1024;
inline constexpr std::size_t kKeptLowMark = 32 * 1024 * 1024;
// Frames are acknowledged together: when so many bytes of them have come, or after so long. Two
// threads would wake for each alone, while its sender waits for nothing but memory.
inline constexpr std::size_t kAcknowledgeBytes = 64 * 1024;
inline constexpr std::uint64_t kAcknowledgeDelayMs = 5;
// A link on which frames are under way and none is acknowledged for so long is taken for dead and
// made again: a half-open connection does not end by itself.
inline constexpr std::uint64_t kAcknowledgeTimeoutMs = 10'000;
// A node without a control connection for so long is said not to be reached: by then a majority
// would have declared it down (2 s).
inline constexpr std::uint64_t kUnreachedMs = 2500;
// How often that is looked at.
inline constexpr std::uint64_t kAcknowledgeCheckMs = 1000;

// --- control ---

// Small messages that wait for one node, in bytes: more is dropped. Raft repeats what is lost.
inline constexpr std::size_t kUrgentWaitingMax = 16 * 1024 * 1024;
// Large messages (over kBulkMin) that wait for one node: one more is taken while less than this
// waits, so that a snapshot of any size passes.
inline constexpr std::size_t kBulkWaitingMax = 64 * 1024 * 1024;
inline constexpr std::size_t kBulkMin = 64 * 1024;
// Large messages go in frames of this size, and at most so much of them is under way: what a small
// message may find in front of it (2 ms of a gigabit line).
inline constexpr std::size_t kBulkFrameMax = 64 * 1024;
inline constexpr std::size_t kBulkUnderWayMax = 256 * 1024;

// --- reconnecting ---

inline constexpr std::uint64_t kReconnectMinMs = 50;
inline constexpr std::uint64_t kReconnectMaxMs = 2000;
// An attempt to connect: name look-up, connection, handshake.
inline constexpr std::uint64_t kLinkTimeoutMs = 5000;
// What is refused for a reason that passes is no trouble before it has lasted so long.
inline constexpr std::uint64_t kRefusalPassesMs = 10'000;
// The same trouble with the same node is logged once in so long.
inline constexpr std::uint64_t kLogAgainMs = 10'000;
// And one place logs at most so many lines in that time.
inline constexpr unsigned kLogLinesMax = 10;

}  // namespace ringtail::cluster
