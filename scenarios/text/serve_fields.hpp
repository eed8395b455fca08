// The requests that engines serve, through many adapters on one base model, in place of an algorithm:
//
//   serve:
//     requests: 10000
//     arrivals: {poisson: 12}    or {bursts: {rate: 12, variation: 3}}, {closed: 64}, {trace: file.csv},
//                                {trace: {file: file.csv, speed: 2}}
//     adapters:
//       count: 1000
//       popularity: {zipf: 1}    or uniform, identical, distinct
//       rank: 16                 one kind of adapter; several: variants: [{rank: 8, targets: [q, v]}, ...]
//       targets: [q, v]
//       execution: batched       and the other members of ServedAdapters by their names
//     order: first_come
//     patience: 0 s
//     objective: {ttft: 2 s, tpot: 100 ms, latency: 30 s}
//
// A trace brings its own lengths, which become the workload's; requests is then all of it where it is not
// given, and adapters.count as many as it names.
#pragma once

#include <string>

#include "scenarios/text/fields.hpp"

namespace rollcast {

// Whether the file serves requests and trains nothing.
bool serves(Fields const& f);

// Refuses the blocks that only training has; call it once where the file serves.
void forbid_training(Fields& f);

// Into job.serve, job.algorithm and, of a trace, job.workload; f is that of the file, relative paths start in
// `folder`.
void read_serve(Fields& f, Job& job, std::string const& folder);

// Refuses in `rollout` what only training's engines have, and gives the engines a balance of their own; call
// it before the engine's keys are read.
void prepare_serving_engine(Fields& rollout, Job& job);

}  // namespace rollcast
