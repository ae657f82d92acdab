#include "tools/perf/report.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace report_test {

using namespace ringtail::perf;

TEST_CASE("what fails a run, and what is allowed") {
  Options options;
  Tally tally;
  Summary summary;
  CHECK(find_failures(options, tally, summary).empty());
  summary.faults.redelivered = 5;
  summary.faults.foreign = 5;
  CHECK(find_failures(options, tally, summary).empty());
  summary.lost = 2;
  CHECK(find_failures(options, tally, summary).size() == 1);
  summary.judged = false;
  CHECK(find_failures(options, tally, summary).empty());
  summary.judged = true;
  summary.lost_confirmed = 1;
  summary.faults.duplicated = 1;
  summary.faults.reordered = 1;
  summary.unanswered = 1;
  CHECK(find_failures(options, tally, summary).size() == 5);
  options.fail_on_lost = options.fail_on_duplicated = options.fail_on_reordered = false;
  CHECK(find_failures(options, tally, summary).size() == 1);
  tally.errors.push_back("producer lost");
  CHECK(find_failures(options, tally, summary).back() == "producer lost");
}

TEST_CASE("JSON can be read back, whatever the texts hold") {
  Options options;
  options.label = "a \"quoted\"\n\xff label";
  Tally tally;
  tally.published = 12345678;
  tally.latency.record(1500000);
  tally.latency.end_interval(true);
  tally.confirm_latency.record(99);
  tally.confirm_latency.end_interval(false);  // of the warm-up
  Summary summary;
  summary.publish_rate = 1234.5678;
  const std::string text = report_json(options, tally, summary);
  CHECK(text.find('\n') == std::string::npos);
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  REQUIRE_FALSE(json.is_discarded());
  CHECK(json["published"] == 12345678);
  CHECK(json["publish_rate"] == 1234.568);
  CHECK(json["latency_ms"]["p50"] == 1.5);
  CHECK(json["latency_ms"]["samples"] == 1);
  CHECK(json["confirm_latency_ms"]["samples"] == 0);
  CHECK(json["passed"] == true);
}

TEST_CASE("a progress line gives the rates of its interval") {
  Options options;
  options.confirm_window = 1;
  const Tally tally;
  const Counts from{1000, 500, 0, 1000000000};
  const Counts to{3001000, 2500, 20, 3000000000};
  const std::string line = progress_line(options, tally, from, to, 2);
  CHECK(line.find("1,500,000/s") != std::string::npos);
  CHECK(line.find("1,000/s") != std::string::npos);
  CHECK(line.find(" 10/s") != std::string::npos);
}

}  // namespace report_test
