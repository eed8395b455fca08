// What the report for people says of a serving run in the place of what it says of steps.
#pragma once

#include <string>

#include "reports/analysis.hpp"
#include "reports/terminal_page.hpp"

namespace rollcast {

// Whether the analysis has requests to tell of.
bool serves(Analysis const& a);

// The verdict but for memory, without a full stop: rate, first token, goodput, busy GPUs.
std::string serving_sentence(Analysis const& a);
// The paragraph below.
std::string serving_summary(Analysis const& a);
// "87 of 100 adapters, in batches".
std::string adapters_text(ServingFigures const& f);

// Latencies, where the GPUs' time goes and what would save it, adapters, tenants.
std::string serving_part(ServingFigures const& f, TerminalPage const& page);

// What a part of the GPUs' time is, and what makes it less; null of the base model's steps.
char const* advice(ServingTime part, AdapterExecution execution);

}  // namespace rollcast
