// Why one layout is faster than another: their critical paths against each other. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reports/contender.hpp"

namespace rollcast {

// Of one phase and cause on the critical paths, per step of the other one; the winner's seconds are scaled to
// as much work. Work (compute, communication, copies, fixed parts) counts as one cause, "work".
enum class PathChange {
  absent,   // the winner has no such phase
  hidden,   // at least half of what it saves lies behind other phases
  less,     // it takes less
  nothing,  // a wait that it hardly has: less than a tenth
  more      // it takes more
};
std::string_view name_of(PathChange c);

struct PathDifference {
  std::string phase;
  std::string cause;
  Seconds winner;
  Seconds other;
  PathChange change = PathChange::less;

  Seconds saved() const { return other - winner; }
};

// Largest |saved| first; those of a hundredth of the other's step and more. scale: the winner's steps per
// step of the other one's work.
std::vector<PathDifference> path_differences(ContenderFigures const& winner, ContenderFigures const& other,
                                             double scale);

// "it hides the actor's update and the reference pass behind generation (-48 s) and has no engine wake-up
// (-3.1 s), although it spends 34 s more on generation": the one or two changes that save most, those that
// are hidden taken together, then the one that costs most where that is a fifth of the savings or more.
// Empty without a saving. behind: what phases are hidden behind.
std::string because(std::vector<PathDifference> const& differences, std::string_view behind);

// Where the winner generates on a pool that does not train, "generation" or "training", whichever is more of
// its critical path; else "other phases".
std::string_view hidden_behind(ContenderFigures const& winner);

}  // namespace rollcast
