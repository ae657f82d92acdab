// Every limit of the program with its reason. A limit that an operator may set is a key of
// Config (config.h); what stands here is fixed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ringtail::runtime {

// --- bytes (STYLE rule B3) ---

// Bodies up to this size lie in the message itself: one allocation, and a queued message never
// pins a read block.
inline constexpr std::size_t kInlineBodyMax = 4096;
// Bodies up to this size are copied into the output block behind their frame headers; larger ones
// go out as slices of their own. Below it a copy is cheaper than one more piece for writev.
inline constexpr std::size_t kCopyOutMax = 4096;
// Output is gathered in blocks of this size.
inline constexpr std::size_t kOutBlockSize = 64 * 1024;
// Idle output blocks that one shard keeps for reuse; 32 x 64 KiB is what a busy turn uses.
inline constexpr std::size_t kOutBlocksKept = 32;
// The read buffer, one per shard, shared by all its streams: what one read may bring.
inline constexpr std::size_t kReadBufferSize = 256 * 1024;
// Space in front of it where a stream puts the incomplete frame that the last read left: the
// largest frame there is (frame_max) and its 8 bytes of envelope.
inline constexpr std::size_t kReadHeadroom = 128 * 1024 + 64;

// --- shards ---

// Letters of one (sender shard, receiver shard) ring. A letter carries a batch, so a few
// thousand are far more than credit lets be on their way; the rest waits at the sender.
inline constexpr std::size_t kMailboxCapacity = 1024;
// Rounds of letters, flushes and output in one turn before the loop looks at its sockets again.
inline constexpr int kRoundsPerTurn = 8;

// --- flow (derived from positions: sent minus settled, sent minus written) ---

// Publishes a channel may have sent to one queue without an answer, in messages and bytes. At
// 3 million messages a second this is a few milliseconds of work for the queue's shard.
inline constexpr std::uint64_t kPublishWindowMessages = 16 * 1024;
inline constexpr std::uint64_t kPublishWindowBytes = 16 * 1024 * 1024;
// Deliveries a queue may have sent to one consumer that its connection has not yet written.
inline constexpr std::uint64_t kDeliverWindowMessages = 16 * 1024;
inline constexpr std::uint64_t kDeliverWindowBytes = 1024 * 1024;
// What the consumers of one connection may together be sent ahead, about: each gets its part of it,
// at least the floor.
inline constexpr std::uint64_t kConnectionWindowBytes = 4 * 1024 * 1024;
inline constexpr std::uint64_t kDeliverWindowFloorBytes = 16 * 1024;
// Unwritten output above which a connection gives its consumers no more credit.
inline constexpr std::size_t kOutputHighMark = 1024 * 1024;
// Unwritten output above which a connection is not read: a client that asks and never listens. Far
// above the high mark, because a client that blocks on writing must still be read to get unstuck.
inline constexpr std::size_t kOutputReadStop = 16 * 1024 * 1024;
// Frames of channels that wait for an answer, kept per connection before its reading stops.
inline constexpr std::size_t kPendingFramesMax = 1024 * 1024;

// --- exchanges ---

// What one exchange of type x-recent-history keeps, whatever length it was declared with: RabbitMQ
// has no bound, here a client's argument must not fill the memory for good.
inline constexpr std::uint64_t kHistoryMessagesMax = 64 * 1024;
inline constexpr std::uint64_t kHistoryBytesMax = 64 * 1024 * 1024;

// --- connections ---

// tcp_listen_options.backlog; the kernel cuts it at net.core.somaxconn.
inline constexpr std::uint16_t kListenBacklog = 1024;

// How long an attempt to connect may take; the kernel's own limit is about two minutes.
inline constexpr std::uint64_t kConnectTimeoutMs = 5000;

// A handshake that failed is answered with silence for this long (RabbitMQ does the same: a client
// that guesses passwords waits, the node does not).
inline constexpr std::uint64_t kRefusalPauseMs = 3000;
// A client that can be told why waits this long for the 403 of a failed login: enough to make
// guessing slow, short enough for a person.
inline constexpr std::uint64_t kLoginPauseMs = 1000;
// Failed handshakes that wait, per shard: a connection each. Above it they are answered at once.
inline constexpr std::size_t kRefusalsHeldMax = 1024;
// How long the client may take to answer connection.close.
inline constexpr std::uint64_t kCloseTimeoutMs = 5000;
// How long clients together may take when the node stops.
inline constexpr std::uint64_t kShutDownTimeoutMs = 3000;
// Memory goes back to the kernel when this much was freed and the use has stood still for so many
// checks: not in the middle of work.
inline constexpr std::uint64_t kTrimBytes = 32 * 1024 * 1024;
inline constexpr int kTrimQuietChecks = 4;
inline constexpr std::uint64_t kTrimQuietBytes = 1024 * 1024;  // a smaller change is none
// How often the counted memory is compared with the watermark.
inline constexpr std::uint64_t kMemoryCheckMs = 50;
// How often the free space of the disk is compared with its limit: far from it, and at most. In
// between, as long as a disk that takes 250 MB a second (as RabbitMQ reckons) needs to get there.
inline constexpr std::uint64_t kDiskCheckMs = 2000;
inline constexpr std::uint64_t kDiskCheckNearMs = 100;
inline constexpr std::uint64_t kDiskFillBytesPerMs = 250'000;

// --- TLS ---

// Handshakes under way on one shard. Each holds some 30 KiB; an honest one takes milliseconds.
inline constexpr std::size_t kTlsHandshakesMax = 512;
// Steps of handshakes in one turn of the loop. The dear one is a signature, near a millisecond with
// RSA keys: what others wait for.
inline constexpr int kTlsStepsPerTurn = 4;
inline constexpr std::uint64_t kTlsTurnMs = 1;
// How often the node looks whether certificate files have changed.
inline constexpr std::uint64_t kTlsFilesCheckMs = 2000;
// How often a channel looks for deliveries that are unacknowledged for too long: so many times
// within the timeout, at least once a minute (as RabbitMQ).
inline constexpr std::uint64_t kAckTimeoutChecks = 10;
inline constexpr std::uint64_t kAckTimeoutCheckMs = 60'000;

// --- cluster ---

// Where nodes listen for each other (25672), unless told otherwise.
inline constexpr std::uint16_t kClusterPort = 25672;

// --- metadata ---

// A change of the metadata is given up, and its proposer told, when the cluster has not agreed on
// it by then: a client does not wait longer than that for a declare-ok or an error.
inline constexpr std::uint64_t kProposalTimeoutMs = 5000;
// What was proposed and has not come back is sent again after this long: far above what a healthy
// cluster takes, far below the time-out.
inline constexpr std::uint64_t kProposalAgainMs = 1000;
inline constexpr std::uint64_t kProposalTickMs = 250;
// Declarations, bindings or deletions of one channel that are under way at once.
inline constexpr std::size_t kPipelinedMethods = 256;
// Proposals that a node has under way; and how many of them share an entry of the log.
inline constexpr std::size_t kProposalsUnderWay = 4096;
inline constexpr std::size_t kProposalCommands = 256;

// A node that leaves its cluster for good waits so long to be forgotten.
inline constexpr std::uint64_t kRetireTimeoutMs = 15'000;
// A node that stops in order waits so long for the others to agree.
inline constexpr std::uint64_t kLeaveTimeoutMs = 3000;

// --- protocol ---

// RabbitMQ refuses a frame_max below this (AMQP 0-9-1, 4.2.3: frame-min-size).
inline constexpr std::uint32_t kFrameMinSize = 4096;
// Nesting of tables and arrays; RabbitMQ has no limit, a stack has.
inline constexpr int kTableDepthMax = 64;
// Longest short string of the protocol, so of every queue, exchange, vhost and consumer name.
inline constexpr std::size_t kShortStringMax = 255;

}  // namespace ringtail::runtime
