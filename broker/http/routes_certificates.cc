// The health check that looks when the certificates of listeners run out.
#include <fmt/format.h>

#include <charconv>
#include <chrono>

#include "broker/http/machine_facts.h"
#include "broker/http/router.h"
#include "broker/http/routes.h"
#include "broker/runtime/tls/tls_context.h"

namespace ringtail::broker::http {

namespace {

constexpr std::int64_t kDay = 86400;
// More is for ever, and the sum must stay a date that can be written.
constexpr std::int64_t kLongestWithin = 10'000'000;

// Days of a unit, times 12 so that RabbitMQ's month of 365 / 12 days is whole; 0: no such unit.
std::int64_t twelfths_of_days(std::string unit) {
  for (char& c : unit) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (unit == "days") return 12;
  if (unit == "weeks") return 12 * 7;
  if (unit == "months") return 365;
  return unit == "years" ? 12 * 365 : 0;
}

// "2025-01-31 9:05:00", as RabbitMQ writes it.
std::string date_text(std::int64_t seconds) {
  const std::chrono::sys_seconds time{std::chrono::seconds(seconds)};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const auto in_day = (time - day).count();
  return fmt::format("{}-{:02}-{:02} {}:{:02}:{:02}", int{date.year()}, unsigned{date.month()},
                     unsigned{date.day()}, in_day / 3600, in_day / 60 % 60, in_day % 60);
}

// Of the certificates in the text those that run out before `until`, or are not valid yet.
Json troubles_of(std::string_view pem, std::int64_t now, std::int64_t until) {
  Json troubles = Json::array();
  const auto times = runtime::certificate_times(pem);
  if (!times.ok()) {
    troubles.push_back(times.status().text());
    return troubles;
  }
  for (const runtime::CertificateTimes& one : times.value()) {
    if (one.begin_s > now) {
      troubles.push_back("Certificate is not yet valid");
    } else if (one.end_s < until) {
      troubles.push_back(date_text(one.end_s));
    }
  }
  return troubles;
}

// What is wrong with the files as they are now: {certfile_expires_on, cacertfile_expires_on}.
std::pair<Json, Json> troubles(Call& call, std::int64_t until, std::int64_t now) {
  const auto files = runtime::read_tls_files(call.config().tls);
  if (!files.ok()) return {Json::array({files.status().text()}), Json::array()};
  const std::string& authorities = files.value().authorities;
  return {troubles_of(files.value().certificate, now, until),
          authorities.empty() ? Json::array() : troubles_of(authorities, now, until)};
}

Response certificate_expiration(Call& call) {
  const std::string& text = call.part(0);
  std::int64_t within = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, within);
  if (error != std::errc() || at != end || text.empty() || within > kLongestWithin ||
      within < -kLongestWithin) {
    return bad_request("Invalid expiration value.");
  }
  const std::int64_t unit = twelfths_of_days(call.part(1));
  if (unit == 0) {
    return bad_request("Time unit not recognised. Supported units: days, weeks, months, years.");
  }
  Json expired = Json::array();
  std::pair<Json, Json> found;
  for (const ListenerFact& listener : call.facts().listeners) {
    if (listener.protocol != "amqp/ssl") continue;
    if (found.first.is_null()) {
      const auto now =
          static_cast<std::int64_t>(machine_facts(call.config().data_dir).now_ms / 1000);
      found = troubles(call, now + within * unit * kDay / 12, now);
    }
    if (found.first.empty() && found.second.empty()) break;  // all have the same files
    expired.push_back({{"node", call.config().node_name},
                       {"protocol", listener.protocol},
                       {"interface", listener.address},
                       {"port", listener.port},
                       {"certfile", call.config().tls.cert_file},
                       {"cacertfile", call.config().tls.ca_file},
                       {"certfile_expires_on", found.first},
                       {"cacertfile_expires_on", found.second}});
  }
  if (expired.empty()) return json_response({{"status", "ok"}});
  return json_response(
      {{"status", "failed"}, {"reason", "Certificates expiring"}, {"expired", expired}}, 503);
}

}  // namespace

void add_certificate_routes(Router& router) {
  router.add({"GET", "/api/health/checks/certificate-expiration/*/*", Access::kManagement,
              certificate_expiration});
}

}  // namespace ringtail::broker::http
