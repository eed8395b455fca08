// Layouts that do the same work, against each other: who is fastest, who is cheapest, by how much, and why.
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/paired_ratio.hpp"
#include "reports/contender.hpp"
#include "reports/path_difference.hpp"
#include "reports/serving_difference.hpp"
#include "reports/uncertainty.hpp"

namespace rollcast {

// What is counted as done: samples where all contenders do the same work, tokens of prompts and responses
// where they do not. Of contenders that serve: requests, those alone that are in time where all are asked for
// the same and some are.
enum class WorkUnit { sample, token, request, request_in_time };
std::string_view name_of(WorkUnit u);         // "sample", "request in time"
std::string_view plural_name_of(WorkUnit u);  // "samples", "requests in time"
double per_second(Headline const& h, WorkUnit u);

// Who does most per second, GPU-hour or dollar, among those whose runs all completed and did something: the
// largest geometric mean over the seeds, against the second largest.
struct Standing {
  std::optional<std::size_t> best;     // absent: nobody completed, or a rent is not known
  std::optional<std::size_t> next;     // absent: only one can be ranked
  std::optional<PairedRatio> against;  // best over next, paired by seed

  // Whether the seeds tell the two apart.
  bool decided() const { return best && (!against || against->above_one()); }
};

// Speed of the fastest over that of the next where prices are drawn too, the same draw for both. With
// kFewestDraws or more that both completed.
struct DrawnSpeed {
  int draws = 0;
  int completed = 0;
  Band ratio;
  int faster = 0;  // draws in which it is above 1
};
std::optional<DrawnSpeed> drawn_speed(std::vector<Headline> const& best, std::vector<Headline> const& next,
                                      WorkUnit unit);

struct Contest {
  std::vector<std::uint64_t> seeds;
  int steps = 0;
  std::optional<std::int64_t> run_steps;  // updates of the whole run
  std::vector<Contender> contenders;
  // Derived by contest():
  std::vector<ContenderFigures> figures;  // of each contender
  WorkUnit unit = WorkUnit::sample;
  std::vector<std::string> warnings;
  Standing speed;
  Standing gpu_hours;
  Standing dollars;
  // How much of the fastest one's speed each has (at most 1); absent for those that cannot win.
  std::vector<std::optional<PairedRatio>> speed_of_best;
  std::vector<PathDifference> why;             // the fastest against the next; empty where they serve
  std::vector<ServingDifference> serving_why;  // likewise, empty where they do not
  std::optional<DrawnSpeed> drawn;             // not of contest(): of who has the draws
};

// Whether all of its runs completed and did something to be counted.
bool is_ranked(Contest const& c, std::size_t contender);

// Every contender has one run for each seed, in their order; std::logic_error otherwise.
Contest contest(std::vector<Contender> contenders, std::vector<std::uint64_t> seeds, int steps,
                std::optional<std::int64_t> run_steps);

// One sentence: who is how many times as fast as the next, with the interval, and why (per step of the next
// one's work); or that no difference can be told; or that none or only one can run.
std::string verdict(Contest const& c);
// What the draws of prices say of it; empty without draws.
std::string drawn_verdict(Contest const& c);
// Who wins by the GPU-hour and by the dollar; empty where the contenders have as many GPUs and equal rents.
std::string cost_verdict(Contest const& c);

}  // namespace rollcast
