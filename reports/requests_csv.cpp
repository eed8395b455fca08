#include "reports/requests_csv.hpp"

#include <fmt/format.h>

#include <iterator>

#include "reports/json.hpp"
#include "reports/serving_figures.hpp"

namespace rollcast {
namespace {

double cell(Seconds s) { return nine_digits(s.value); }

}  // namespace

std::string requests_csv(ServingLog const& log) {
  std::string out = "arrival,first_token,finish,prompt,output,adapter,engine,ttft,tpot,latency\n";
  for (ServedRequest const& r : log.requests) {
    auto const tpot = tpot_of(r);
    fmt::format_to(std::back_inserter(out), "{},{},{},{},{},{},{},{},{},{}\n", cell(r.arrival),
                   cell(r.first_token), cell(r.finish), r.prompt_tokens, r.response_tokens,
                   r.adapter < 0 ? "" : fmt::format("{}", r.adapter), r.engine,
                   cell(r.first_token - r.arrival), tpot ? fmt::format("{}", cell(*tpot)) : "",
                   cell(r.finish - r.arrival));
  }
  return out;
}

}  // namespace rollcast
