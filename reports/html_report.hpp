// What the HTML report of a run shows, as JSON for reports/html/run.js: figures and sentences of the
// analysis, and a bounded number of rows, segments and points of the log, so that the page stays below 2 MB
// and opens at once whatever the size of the run.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "reports/analysis.hpp"
#include "sim/event_log.hpp"

namespace rollcast {

// a: of this log. Times are seconds of the run, memory GiB. The keys:
//   scenario, seed, outcome, headline (the terminal's first line), summary, samples, message (PyTorch's),
//   cards       [{name, value, note, tone (good|bad|"") , share?}]: headline figures, in words with their
//   units steps       {mean, p10, p50, p90, count, seconds [per step, at most 500 of them]} | null pools
//   [name]; colours and tables go by name range       [start, end] of all curves timeline    {name, start,
//   end, tick, grain, classes, note, phases, activities, labels,
//               windows [[pool, step, phase, start, length]],
//               rows [{name, pool, ranks, classes, spread, segments [[start, length, phase, activity, step,
//               [[activity, label, share in %]...]?, or label]]}], marks [{time, text}]};
//               starts and lengths are whole ticks after `start`
//   phases      [{name, pool, mean, exposed, share, activities {name: seconds}}]
//   utilization [{pool, gpu, gpus, busy, mfu, mbu, idle {cause: share}}]
//   engines     [{pool, engines, cell, running {mean, low, high}, waiting {...}, kv_blocks {...}}]
//   memory      [{name, pool, ranks, rank, capacity, times, series [{name, gib}], allocated, reserved,
//               oom {time, gib, text} | null}]
//   peaks       [{name, pool, ranks, gib, capacity, phase, host, parts [{name, gib}]}], and peaks_left_out
//   links       [{pool, cell, series [{label, stream, seconds per step and GPU | null, share [per cell]}]}]
//   weight_sync {heading, causes [{name, seconds}]} | null
//   critical_path [{phase, cause, seconds}], levers [{pool, text, seconds, share}]
//   incident    {happenings [{time, until, kind, what}], left_out, cost, sooner [text]} | null
//   long_run    {heading, text} | null
//   serving     of a run that serves, as html_serving.hpp says; steps, phases and critical_path are empty
//   then measured    {source, values [{name, measured, forecast | null}]} | null prices      [{pools,
//   sentence, median, p90 | null}], notes [text]
nlohmann::ordered_json html_data(EventLog const& log, Analysis const& a);

// The whole page of a run; html_problem() must be empty.
std::string run_page(EventLog const& log, Analysis const& a);

}  // namespace rollcast
