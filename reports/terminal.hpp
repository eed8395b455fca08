// The report for people: the verdict in the first line, then where the time goes, utilization and memory, the
// biggest levers, measured values beside the forecast, and the assumptions.
#pragma once

#include <string>

#include "reports/analysis.hpp"

namespace rollcast {

struct TerminalOptions {
  bool colour = false;  // ANSI sequences; without it plain ASCII but for names from the scenario
  int width = 100;      // columns, at least 80 are used; only the verdict may be longer
};

// Control characters of names are shown as '?'.
std::string render_terminal(Analysis const& a, TerminalOptions const& options);

// The first line alone, without colour and newline.
std::string verdict(Analysis const& a);

// "16 x h100-sxm + 8 x l40s"
std::string gpus_text(Analysis const& a);
// The paragraph below the verdict.
std::string summary(Analysis const& a);
// Only what differs from the plain case: fresh samples, all of them of use, no padding. Empty if nothing
// does.
std::string samples_sentence(Analysis const& a);
// What the time of a lever is, and what shortens it.
char const* advice(LeverKind k);

}  // namespace rollcast
