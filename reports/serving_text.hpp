// What the report for people says of a serving run in the place of what it says of steps.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "reports/analysis.hpp"
#include "reports/terminal_page.hpp"

namespace rollcast {

// Whether the analysis has requests to tell of.
bool serves(Analysis const& a);

// The verdict but for memory, without a full stop: rate, first token, goodput, busy GPUs.
std::string serving_sentence(Analysis const& a);
// The paragraph below.
std::string serving_summary(Analysis const& a);
// "100 adapters in one batch".
std::string adapters_text(ServingFigures const& f);

// What the adapters came to, by name; empty where there are none.
std::vector<std::pair<std::string, std::string>> adapter_facts(ServingFigures const& f);
// "first token within 1.00 s, 50.0 ms a token after it"
std::string objective_text(ServiceObjective const& o);
// "23.4 requests in flight, 1.20 of them without a first token"
std::string in_flight_text(ServingFigures const& f);
char const* label_of(ServingTime t, AdapterExecution execution);

// Latencies, where the GPUs' time goes and what would save it, adapters, tenants.
std::string serving_part(ServingFigures const& f, TerminalPage const& page);

// What a part of the GPUs' time is, and what makes it less; null of the base model's steps.
char const* advice(ServingTime part, AdapterExecution execution);

}  // namespace rollcast
