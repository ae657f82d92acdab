// Whether routing, declaring and binding stay as cheap with a million bindings as with a thousand:
// a topic exchange with N bindings to N/10 queues, through the metadata store and the route table,
// on one core. Prints a table; with a file's name also draws it (docs/routing-scale.svg):
//   cmake --build <dir> --target routing_scale_bench && <dir>/routing_scale_bench [chart.svg]
// Processor time, so that a busy machine disturbs less.
#include <malloc.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "broker/routing/route_table.h"
#include "cluster/metadata/store.h"

namespace {

std::size_t g_allocated = 0;

}  // namespace

// What the structures hold is counted where they take it.
__attribute__((noinline)) void* operator new(std::size_t size) {
  void* memory = std::malloc(size);
  if (memory == nullptr) std::abort();
  g_allocated += malloc_usable_size(memory);
  return memory;
}
__attribute__((noinline)) void operator delete(void* memory) noexcept {
  g_allocated -= malloc_usable_size(memory);
  std::free(memory);
}
__attribute__((noinline)) void operator delete(void* memory, std::size_t) noexcept {
  g_allocated -= malloc_usable_size(memory);
  std::free(memory);
}

namespace {

using namespace ringtail;
using namespace ringtail::cluster::metadata;
using broker::RouteTable;

std::uint64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1000000000U +
         static_cast<std::uint64_t>(time.tv_nsec);
}

struct Cost {
  double mean_ns = 0;
  double worst_us = 0;  // the slowest batch
};

// Runs work(0) to work(count - 1), timed in batches: reading the clock costs, too.
Cost measure(std::size_t count, const std::function<void(std::size_t)>& work) {
  constexpr std::size_t kBatch = 64;
  std::uint64_t total = 0;
  std::uint64_t worst = 0;
  for (std::size_t from = 0; from < count; from += kBatch) {
    const std::uint64_t begin = now_ns();
    for (std::size_t i = from; i < std::min(from + kBatch, count); ++i) work(i);
    const std::uint64_t taken = now_ns() - begin;
    total += taken;
    worst = std::max(worst, taken);
  }
  return {static_cast<double>(total) / static_cast<double>(count),
          static_cast<double>(worst) / 1000};
}

std::string number(std::size_t value) { return std::to_string(value); }

// One in five with wildcards, the rest plain; every one different.
std::string binding_key(std::size_t i) {
  const std::string site = "site" + number(i % 100);
  const std::string device = "device" + number(i / 100 % 1000);
  const std::string sensor = "sensor" + number(i);
  switch (i % 10) {
    case 0:
      return site + ".*." + sensor;
    case 5:
      return site + "." + device + "." + sensor + ".#";
    default:
      return site + "." + device + "." + sensor;
  }
}

std::string routing_key(std::size_t i) {
  return "site" + number(i % 100) + ".device" + number(i / 100 % 1000) + ".sensor" + number(i);
}

struct Row {
  std::size_t bindings = 0;
  std::size_t queues = 0;
  Cost declare;
  Cost bind;
  Cost route;
  Cost unbind;
  Cost remove;  // a queue
  double bytes = 0;
  double reached = 0;
};

Row run(std::size_t bindings) {
  Row row;
  row.bindings = bindings;
  row.queues = bindings / 10;
  auto store = std::make_unique<Store>(1);
  RouteTable table(*store);
  std::vector<runtime::Qid> qids(row.queues);
  row.declare = measure(row.queues, [&](std::size_t i) {
    DeclareQueue command;
    command.record.vhost = "/";
    command.record.name = "queue" + number(i);
    qids[i] = store->apply(command).queue->qid;
  });
  const auto record = [&](std::size_t i) {
    return BindingRecord{
        "/", "amq.topic", DestinationKind::kQueue, "queue" + number(i % row.queues), binding_key(i),
        ""};
  };
  const std::size_t before = g_allocated;
  row.bind = measure(bindings, [&](std::size_t i) { store->apply(Bind{record(i)}); });
  row.bytes = static_cast<double>(g_allocated - before) / static_cast<double>(bindings);

  std::vector<std::string> keys;
  for (std::size_t i = 0; i < 8192; ++i) keys.push_back(routing_key(i * 7919 % bindings));
  const broker::Exchange* exchange = table.find("/", "amq.topic");
  std::vector<const QueueRecord*> reached;
  std::size_t total = 0;
  constexpr std::size_t kRoutes = 500000;
  row.route = measure(kRoutes, [&](std::size_t i) {
    reached.clear();
    table.route(*exchange, broker::Routable{keys[i % keys.size()], {}}, reached);
    total += reached.size();
  });
  row.reached = static_cast<double>(total) / static_cast<double>(kRoutes);
  // Half goes by unbinding, half with its queue.
  row.unbind = measure(bindings / 2, [&](std::size_t i) { store->apply(Unbind{record(i)}); });
  row.remove = measure(row.queues, [&](std::size_t i) {
    store->apply(DeleteQueue{"/", "queue" + number(i), qids[i]});
  });
  return row;
}

// --- the chart: both axes logarithmic, one line per operation ---

constexpr double kLeft = 70;
constexpr double kTop = 40;
constexpr double kWidth = 560;
constexpr double kHeight = 300;
constexpr double kLowNs = 100;
constexpr double kHighNs = 100000;

double x_of(std::size_t bindings) {
  return kLeft + (std::log10(static_cast<double>(bindings)) - 3) / 3 * kWidth;
}
double y_of(double nanoseconds) {
  const double place = std::log10(nanoseconds / kLowNs) / std::log10(kHighNs / kLowNs);
  return kTop + kHeight * (1 - std::clamp(place, 0.0, 1.0));
}

void draw_axes(std::FILE* out) {
  std::fprintf(
      out,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 800 400\" "
      "font-family=\"sans-serif\" font-size=\"13\">\n"
      "<rect width=\"800\" height=\"400\" fill=\"white\"/>\n"
      "<text x=\"%g\" y=\"22\" font-size=\"15\">A topic exchange from a thousand to a million "
      "bindings: processor time per operation</text>\n",
      kLeft);
  const char* const times[] = {"100 ns", "1 µs", "10 µs", "100 µs"};
  for (int i = 0; i < 4; ++i) {
    const double y = y_of(kLowNs * std::pow(10, i));
    std::fprintf(out,
                 "<path d=\"M%g %gH%g\" stroke=\"#ddd\"/>"
                 "<text x=\"%g\" y=\"%g\" text-anchor=\"end\">%s</text>\n",
                 kLeft, y, kLeft + kWidth, kLeft - 8, y + 4, times[i]);
  }
  const char* const counts[] = {"1,000", "10,000", "100,000", "1,000,000"};
  std::size_t bindings = 1000;
  for (const char* count : counts) {
    std::fprintf(out, "<text x=\"%g\" y=\"%g\" text-anchor=\"middle\">%s</text>\n", x_of(bindings),
                 kTop + kHeight + 22, count);
    bindings *= 10;
  }
  std::fprintf(out, "<text x=\"%g\" y=\"%g\" text-anchor=\"middle\">bindings</text>\n",
               kLeft + kWidth / 2, kTop + kHeight + 44);
}

void draw(const std::vector<Row>& rows, const char* path) {
  std::FILE* out = std::fopen(path, "w");
  if (out == nullptr) {
    std::fprintf(stderr, "cannot write %s\n", path);
    return;
  }
  draw_axes(out);
  struct Line {
    const char* name;
    const char* colour;
    const Cost Row::*cost;
  };
  const Line lines[] = {{"route a message", "#c0392b", &Row::route},
                        {"bind", "#2471a3", &Row::bind},
                        {"unbind", "#7fb3d5", &Row::unbind},
                        {"declare a queue", "#1e8449", &Row::declare}};
  double label = kTop + 20;
  for (const Line& line : lines) {
    std::fprintf(out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"",
                 line.colour);
    for (const Row& row : rows) {
      std::fprintf(out, "%.1f,%.1f ", x_of(row.bindings), y_of((row.*line.cost).mean_ns));
    }
    std::fprintf(out, "\"/>\n<text x=\"%g\" y=\"%g\" fill=\"%s\">%s</text>\n", kLeft + kWidth + 14,
                 label, line.colour, line.name);
    label += 22;
  }
  std::fprintf(out, "</svg>\n");
  std::fclose(out);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<Row> rows;
  std::printf(
      "| bindings | queues | declare | bind | unbind | delete a queue | route | reached | "
      "bytes per binding | slowest 64 binds, declares "
      "|\n|---|---|---|---|---|---|---|---|---|---|\n");
  for (const std::size_t bindings : {1000, 10000, 100000, 1000000}) {
    rows.push_back(run(bindings));
    const Row& row = rows.back();
    std::printf(
        "| %zu | %zu | %.0f ns | %.0f ns | %.0f ns | %.0f ns | %.0f ns | %.2f | %.0f | "
        "%.1f ms, %.1f ms |\n",
        row.bindings, row.queues, row.declare.mean_ns, row.bind.mean_ns, row.unbind.mean_ns,
        row.remove.mean_ns, row.route.mean_ns, row.reached, row.bytes, row.bind.worst_us / 1000,
        row.declare.worst_us / 1000);
    std::fflush(stdout);
  }
  if (argc > 1) draw(rows, argv[1]);
  return 0;
}
