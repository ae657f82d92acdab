#include "tools/perf/report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace ringtail::perf {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kPercents[] = {50, 75, 95, 99, 99.9};

double ms(std::uint64_t ns) { return static_cast<double>(ns) / 1e6; }

// Three digits behind the point are what the clocks are worth.
double rounded(double value) {
  return static_cast<double>(static_cast<std::int64_t>(value * 1000 + 0.5)) / 1000;
}

std::string percent_name(double percent) { return fmt::format("p{:g}", percent); }

// 1234567 -> "1,234,567"
std::string grouped(std::uint64_t number) {
  const std::string digits = fmt::format("{}", number);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % 3 == 0) text.push_back(',');
    text.push_back(digits[i]);
  }
  return text;
}

std::string rate_text(double rate) {
  return grouped(static_cast<std::uint64_t>(rate + 0.5)) + "/s";
}

Json latency_json(const Histogram& histogram) {
  Json json;
  for (const double percent : kPercents) {
    json[percent_name(percent)] = rounded(ms(histogram.percentile(percent)));
  }
  json["max"] = rounded(ms(histogram.max()));
  json["min"] = rounded(ms(histogram.min()));
  json["samples"] = histogram.count();
  return json;
}

std::string latency_row(const char* name, const Histogram& histogram) {
  if (histogram.count() == 0) return {};
  std::string row = fmt::format("  {:<18}", name);
  for (const double percent : kPercents) {
    row += fmt::format(" {} {:.3f}", percent_name(percent), ms(histogram.percentile(percent)));
  }
  return row + fmt::format("  max {:.3f} ms\n", ms(histogram.max()));
}

std::string row(const char* name, const std::string& value) {
  return fmt::format("  {:<18} {}\n", name, value);
}

std::string gap_text(double gap_ms, double at_s) {
  return fmt::format("{:.1f} ms, {:.3f} s after the start", gap_ms, at_s);
}

std::string counts_table(const Options& options, const Tally& tally, const Summary& summary) {
  std::string text;
  if (options.producers > 0) {
    text += row("published", fmt::format("{:>14}   {}", grouped(tally.published),
                                         rate_text(summary.publish_rate)));
  }
  if (options.confirm_window > 0) {
    text += row("confirmed", fmt::format("{:>14}   {}", grouped(tally.answered - tally.nacked),
                                         rate_text(summary.confirm_rate)));
  }
  if (options.consumers > 0) {
    text += row("consumed", fmt::format("{:>14}   {}", grouped(tally.consumed),
                                        rate_text(summary.consume_rate)));
  }
  return text;
}

std::string verification_table(const Options& options, const Tally& tally, const Summary& summary) {
  const Faults& faults = summary.faults;
  std::string text;
  if (options.consumers > 0 && options.producers == 0) {
    text += row("missing numbers", grouped(summary.holes));
  } else if (options.consumers > 0) {
    text += row(summary.judged ? "lost" : "not seen",
                fmt::format("{} (of these confirmed: {})", grouped(summary.lost),
                            grouped(summary.lost_confirmed)));
  }
  if (options.consumers > 0) {
    text += row("duplicated", grouped(faults.duplicated));
    text += row("reordered", grouped(faults.reordered));
    text += row("redelivered", grouped(faults.redelivered));
  }
  const std::pair<const char*, std::uint64_t> rare[] = {
      {"misrouted", faults.misrouted}, {"damaged", faults.damaged},
      {"foreign", faults.foreign},     {"nacked", tally.nacked},
      {"returned", tally.returned},    {"unanswered", summary.unanswered},
      {"blocked", tally.blocked},      {"consumer cancels", tally.cancels},
  };
  for (const auto& [name, count] : rare) {
    if (count != 0) text += row(name, grouped(count));
  }
  return text;
}

std::string times(std::uint64_t count, const char* what) {
  return fmt::format("{} {}", grouped(count), what);
}

}  // namespace

std::vector<std::string> find_failures(const Options& options, const Tally& tally,
                                       const Summary& summary) {
  const Faults& faults = summary.faults;
  std::vector<std::string> found;
  const auto fail = [&found](bool counts, std::uint64_t count, const char* what) {
    if (counts && count != 0) found.push_back(times(count, what));
  };
  fail(options.fail_on_lost && summary.judged, summary.lost, "messages lost");
  fail(options.fail_on_lost && summary.judged, summary.lost_confirmed, "of them after a confirm");
  fail(options.fail_on_lost && summary.judged, summary.holes, "numbers missing");
  fail(summary.judged, summary.unanswered, "publishes without an answer");
  fail(options.fail_on_duplicated, faults.duplicated, "messages duplicated");
  fail(options.fail_on_reordered, faults.reordered, "messages reordered");
  fail(true, faults.misrouted, "messages misrouted");
  fail(true, faults.damaged, "messages damaged");
  for (const std::string& error : tally.errors) found.push_back(error);
  return found;
}

std::string report_table(const Options& options, const Tally& tally, const Summary& summary) {
  std::string text = counts_table(options, tally, summary);
  text += latency_row("latency", tally.latency.total());
  text += latency_row("confirm latency", tally.confirm_latency.total());
  if (tally.confirms.seen()) {
    text += row("longest silence",
                "confirms " + gap_text(summary.confirm_gap_ms, summary.confirm_gap_at_s));
  }
  if (tally.deliveries.seen()) {
    text += row(tally.confirms.seen() ? "" : "longest silence",
                "deliveries " + gap_text(summary.delivery_gap_ms, summary.delivery_gap_at_s));
  }
  text += verification_table(options, tally, summary);
  const std::vector<std::string> failures = find_failures(options, tally, summary);
  text += row("time", fmt::format("{:.3f} s", summary.elapsed_s));
  text += row("verdict", failures.empty() ? "passed" : "FAILED");
  for (const std::string& failure : failures) text += row("", failure);
  return text;
}

std::string report_json(const Options& options, const Tally& tally, const Summary& summary) {
  const Faults& faults = summary.faults;
  const std::vector<std::string> failures = find_failures(options, tally, summary);
  Json json;
  json["label"] = options.label;
  json["passed"] = failures.empty();
  json["publish_rate"] = rounded(summary.publish_rate);
  json["confirm_rate"] = rounded(summary.confirm_rate);
  json["consume_rate"] = rounded(summary.consume_rate);
  json["published"] = tally.published;
  json["confirmed"] = tally.answered - tally.nacked;
  json["nacked"] = tally.nacked;
  json["returned"] = tally.returned;
  json["unanswered"] = summary.unanswered;
  json["consumed"] = tally.consumed;
  json["latency_ms"] = latency_json(tally.latency.total());
  json["confirm_latency_ms"] = latency_json(tally.confirm_latency.total());
  json["judged"] = summary.judged;
  json["lost"] = summary.lost;
  json["lost_confirmed"] = summary.lost_confirmed;
  json["missing"] = summary.holes;
  json["duplicated"] = faults.duplicated;
  json["redelivered"] = faults.redelivered;
  json["reordered"] = faults.reordered;
  json["misrouted"] = faults.misrouted;
  json["damaged"] = faults.damaged;
  json["foreign"] = faults.foreign;
  json["cancels"] = tally.cancels;
  json["blocked"] = tally.blocked;
  json["longest_confirm_gap_ms"] = rounded(summary.confirm_gap_ms);
  json["confirm_gap_at_s"] = rounded(summary.confirm_gap_at_s);
  json["longest_delivery_gap_ms"] = rounded(summary.delivery_gap_ms);
  json["delivery_gap_at_s"] = rounded(summary.delivery_gap_at_s);
  json["first_delivery_s"] = rounded(summary.first_delivery_s);
  json["elapsed_s"] = rounded(summary.elapsed_s);
  json["failures"] = failures;
  // Texts of a broker need not be UTF-8.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string progress_line(const Options& options, const Tally& tally, const Counts& from,
                          const Counts& to, double at_s) {
  const double seconds = static_cast<double>(to.at_ns - from.at_ns) / 1e9;
  const auto rate = [seconds](std::uint64_t before, std::uint64_t after) {
    return rate_text(seconds > 0 ? static_cast<double>(after - before) / seconds : 0);
  };
  std::string line = fmt::format("{:8.1f} s", at_s);
  if (options.producers > 0) {
    line += fmt::format("  published {:>12}", rate(from.published, to.published));
  }
  if (options.confirm_window > 0) {
    line += fmt::format("  confirmed {:>12}", rate(from.answered, to.answered));
  }
  if (options.consumers > 0) {
    line += fmt::format("  consumed {:>12}", rate(from.consumed, to.consumed));
  }
  const Histogram& latency = tally.latency.interval();
  const Histogram& confirms = tally.confirm_latency.interval();
  const Histogram& shown = latency.count() != 0 ? latency : confirms;
  if (shown.count() != 0) {
    line += fmt::format("  {} p50 {:.3f} p99 {:.3f} max {:.3f} ms",
                        latency.count() != 0 ? "latency" : "confirm", ms(shown.percentile(50)),
                        ms(shown.percentile(99)), ms(shown.max()));
  }
  return line;
}

std::string report_figures(const Options& options, const Figures& figures) {
  if (!options.json) {
    std::string text;
    for (const auto& [name, value] : figures)
      text += fmt::format("  {:<18} {}\n", name, rounded(value));
    return text;
  }
  Json json;
  json["label"] = options.label;
  for (const auto& [name, value] : figures) json[name] = rounded(value);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ringtail::perf
