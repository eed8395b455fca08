// Which layout of a space is fastest, by simulation.
//
// Small spaces are simulated whole. Else the search is guided: from the layouts that the estimate likes best
// of each site, the file's own and a few drawn at random, the fastest are improved knob by knob, each to its
// best value, until no knob alone helps; then by the pairs of changes that the estimate likes best. What was
// simulated once is remembered. The same layouts in the same order whatever the number of processes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "reports/headline.hpp"
#include "reports/plan_space.hpp"

namespace rollcast {

// Simulates sets of values, each with so many steps; results in their order.
using PlanForecasts =
    std::function<std::vector<Headline>(std::vector<std::pair<std::vector<std::string>, int>> const& tasks)>;

// Seconds for a sample; infinity for a run that is not completed.
double seconds_per_sample(Headline const& h);

// The forecasts of a space's layouts, each made once.
class PlanRuns {
 public:
  PlanRuns(PlanSpace const& space, PlanForecasts forecasts)
      : space_(&space), forecasts_(std::move(forecasts)) {}

  // One step; runs with a queue, two.
  void need(std::vector<PlanLayout> const& layouts);
  // Of a layout that was needed.
  Headline const& of(PlanLayout const& l) const { return first_.at(l); }
  double seconds(PlanLayout const& l) const { return seconds_per_sample(of(l)); }
  // Enough steps for the optimizer's states to be made and used: three, with a queue four.
  std::vector<Headline> longer(std::vector<PlanLayout> const& layouts) const;

  PlanSpace const& space() const { return *space_; }
  std::size_t count() const { return first_.size(); }
  // All layouts so far, the fastest first.
  std::vector<PlanLayout> ranking() const;

 private:
  PlanSpace const* space_;
  PlanForecasts forecasts_;
  std::map<PlanLayout, Headline> first_;
};

struct PlanSearchOptions {
  bool exhaustive = false;
  std::size_t small = 256;  // layouts that fit, up to which the whole space is simulated
  std::uint64_t seed = 1;   // of the random starts
  std::optional<PlanLayout> file = {};
};

// Whether every layout that fits was simulated.
bool search(PlanRuns& runs, PlanSearchOptions const& options);

// The fastest first, at most `count`, of one schedule or of all; each completed a longer run, whose headline
// it has. Of layouts that are as fast as each other the one with most room.
struct PlanResult {
  PlanLayout layout;
  Headline headline;
};
std::vector<PlanResult> confirmed(PlanRuns const& runs, std::size_t count,
                                  std::optional<ScheduleKind> schedule = std::nullopt);

// Of the eight layouts that the estimate likes best and the eight that leave most room the fastest that
// completes a longer run; nothing where none does.
std::optional<PlanResult> one_that_runs(PlanRuns const& runs);

}  // namespace rollcast
