// What the metadata costs one shard: declaring and binding, a change of a policy over all queues,
// encoding for the log, a walk for a snapshot, reading it back; and the memory of a queue and of a
// binding.
//
// usage: metadata_bench [thousands of queues] [thousands of bindings]
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#include "cluster/metadata/commands_codec.h"
#include "cluster/metadata/kept_state.h"
#include "cluster/metadata/store.h"

namespace ringtail::cluster::metadata {
namespace {

// Of the processor: what else runs on the machine does not count.
double seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// Of this process, in bytes.
double resident() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  long total = 0;
  long pages = 0;
  if (file == nullptr || std::fscanf(file, "%ld %ld", &total, &pages) != 2) std::abort();
  std::fclose(file);
  return static_cast<double>(pages) * 4096;
}

template <typename Work>
void report(const char* what, int count, const Work& work) {
  const double before = resident();
  const double begin = seconds();
  work();
  const double took = seconds() - begin;
  std::printf("%-34s %9d in %8.1f ms, %8.0f ns each, %6.0f bytes each\n", what, count, took * 1e3,
              took * 1e9 / count, (resident() - before) / count);
}

PutPolicy policy(const std::string& name, const std::string& pattern, std::int32_t priority) {
  PutPolicy command;
  command.record = {.vhost = "/",
                    .name = name,
                    .pattern = pattern,
                    .priority = priority,
                    .definition = {{"max-length", std::int64_t{priority}}}};
  return command;
}

int run(int queues, int bindings) {
  Store store(1);
  const KeptState kept(store);
  report("declare durable queue", queues, [&] {
    for (int i = 0; i < queues; ++i) {
      DeclareQueue command;
      command.record.vhost = "/";
      command.record.name = "queue-" + std::to_string(i);
      command.record.durable = true;
      store.apply(command);
    }
  });
  report("bind to a topic exchange", bindings, [&] {
    for (int i = 0; i < bindings; ++i) {
      store.apply(Bind{{.vhost = "/",
                        .source = "amq.topic",
                        .destination = "queue-" + std::to_string(i % queues),
                        .routing_key = "key." + std::to_string(i)}});
    }
  });
  report("policy: put, matches every queue", queues, [&] { store.apply(policy("a", "^q", 1)); });
  report("policy: put again, changed", queues, [&] { store.apply(policy("a", "^queue", 2)); });
  report("policy: 100 that match no queue", queues, [&] {
    for (int i = 0; i < 100; ++i) {
      store.apply(policy("p" + std::to_string(i), "^nothing" + std::to_string(i), 5));
    }
  });
  report("policy: put, weaker than the other", queues, [&] { store.apply(policy("z", "", 0)); });
  report("policy: delete", queues, [&] { store.apply(DeletePolicy{"/", "a", false}); });
  std::string snapshot;
  report("snapshot: encoded", queues + bindings, [&] { snapshot = encode(store.save()); });
  std::printf("snapshot: %zu bytes\n", snapshot.size());
  report("snapshot: kept, taken", 1, [&] {
    if (kept.snapshot(0).size() != snapshot.size()) std::abort();
  });
  runtime::Result<SavedState> saved = SavedState{};
  report("snapshot: decoded", queues + bindings, [&] {
    saved = decode_state(snapshot);
    if (!saved.ok()) std::abort();
  });
  report("a new replica from it", queues + bindings, [&] {
    auto* other = new Store;
    other->restore(saved.value());
  });
  report("a replica that is behind, from it", queues + bindings, [&] {
    auto* other = new Store(1);
    other->restore(saved.value());
  });
  return 0;
}

}  // namespace
}  // namespace ringtail::cluster::metadata

int main(int argc, char** argv) {
  const int queues = argc > 1 ? std::atoi(argv[1]) : 100;
  const int bindings = argc > 2 ? std::atoi(argv[2]) : 300;
  return ringtail::cluster::metadata::run(queues * 1000, bindings * 1000);
}
