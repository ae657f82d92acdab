// What the HTTP server allows its clients, each with its reason.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ringtail::broker::http {

// Threads that work on requests. They mostly wait for shards, and what they compute shall leave the
// cores to them.
inline constexpr std::size_t kThreads = 8;
// Requests whose heads are here and that wait for a thread; above it no connection is accepted, and
// the kernel's backlog holds those that come.
inline constexpr std::size_t kReadyMax = 128;
// Connections on which nothing is worked on: a descriptor each. Above it the oldest goes.
inline constexpr std::size_t kParkedMax = 256;
inline constexpr int kBacklog = 128;
// The line and headers of a request, and its body (definitions of a large broker), as RabbitMQ's
// max_body_size.
inline constexpr std::size_t kHeadMax = 64 * 1024;
inline constexpr std::size_t kBodyMax = 20'000'000;
// How long the head of a request may take, its body, and the answer.
inline constexpr int kHeadTimeoutMs = 5000;
inline constexpr int kBodyTimeoutMs = 60000;
inline constexpr int kAnswerTimeoutMs = 60000;
// An idle connection is kept so long.
inline constexpr int kIdleTimeoutMs = 30000;
// Requests on one connection.
inline constexpr int kRequestsPerConnection = 10000;
// How long a shard may take to answer.
inline constexpr std::uint64_t kGatewayTimeoutMs = 10000;
// Queues, bindings or connections that are read in one go on a shard: a few hundred microseconds.
inline constexpr std::size_t kPortion = 2000;
// Proposals of one import that are on their way at a time: they travel and are written together.
inline constexpr std::size_t kProposalsAtATime = 1024;
// The same of questions to queues of other nodes, for a list.
inline constexpr std::size_t kQuestionsAtATime = 1024;

}  // namespace ringtail::broker::http
