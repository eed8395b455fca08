// The event log as a file: JSON Lines, one record a line, so that a reader needs memory for the log only and
// a cut file is noticed.
//
//   {"format":"rollcast-log","schema":1,"scenario":...,"seed":...,"outcome":...,"outcome_reason":...,
//    "notes":[...],"measured":[[name,value],...],"measured_source":...}
//   ["pool",name,node,gpu,gpus,peak_flops,memory_bandwidth,capacity]
//   ["prices",pool,gpu,basis,from,stack,date,median,p90,band]
//     with a given profile [...,band,[profile,from,stack,date,[operation...]]]
//   ["label",text]
//   ["ledger",name,pipeline_stage,ranks,capacity,[[role,category,bytes,host,[phase,...],formula,name],...]]
//   ["rank_class",name,pool,node,[rank,...],ledger or null]
//   ["step",start,end,samples,prompt_tokens,response_tokens,preemptions,generated_samples,computed_tokens,
//    useful_tokens,[samples of each staleness],signal_samples or null]; older logs end after preemptions
//   ["phase",pool,step,phase,start,end]
//   ["span",rank_class,step,stream,phase,activity,label,start,end,flops,hbm]
//   ["counter",rank_class,kind,role,category,time,value]
//   ["handover",step,from_rank_class,to_rank_class,sent,received,samples]
//   ["oom",kind,time,rank,pool,step,phase,allocation,requested,free,allocated]
//   of serving: "serving", "adapter_use" and "request" (reports/log_serving.hpp)
//   ["end",records between header and here]
//
// Seconds, bytes, FLOPs as plain numbers in their shortest exact form. Enumerations by name. A record names
// only what came before it.
#pragma once

#include <istream>
#include <optional>
#include <string>

#include "sim/event_log.hpp"

namespace rollcast {

// std::logic_error if a number of the log is not finite.
std::string log_text(EventLog const& log);

// A log, or one line that says what is wrong: "run.log:17: ...". Cut files, foreign files, a later schema,
// indices that point nowhere, ends before starts, numbers out of range and nesting are all answered this way.
struct LogResult {
  std::optional<EventLog> log;
  std::string error;
};
LogResult read_log(std::istream& in, std::string const& name);
LogResult read_log_file(std::string const& path);

}  // namespace rollcast
