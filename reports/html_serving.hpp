// What the HTML report of a serving run shows of its requests, in a bounded number of points. Pure.
#pragma once

#include <nlohmann/json.hpp>

#include "reports/html_timeline.hpp"
#include "reports/serving_figures.hpp"

namespace rollcast {

// Keys, times in seconds:
//   latencies [{name, mean, p50, p90, p99, max}]
//   curves    [{name, limit | null, points [[seconds, share of the requests that take no longer]]}], at most
//             200 points each, first and last among them
//   over_time {cell, finished [requests per second of each cell], in_flight [mean], waiting [mean]}
//   times     {whole, parts [{name, seconds, share, advice}]}: GPU time of a request
//   figures   [[name, text]]
//   tenants   [{adapter, requests, mean, p99, tokens_per_second}]: the slowest in the mean, and at p99
// Null of a run without a request.
nlohmann::ordered_json html_serving_json(ServingLog const& log, ServingFigures const& f, TimeRange range);

}  // namespace rollcast
