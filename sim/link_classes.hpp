// Link classes: links of equal capacity that carry the same communications in the same way are one
// constraint, since duplicate constraints of a max-min problem do not change its solution. The cost of a
// simulation then grows with what differs, not with the number of equal GPUs.
//
// A traffic is something that sends over fixed links again and again: a communicator, a point-to-point pair,
// the host copies of a rank class. It may have several copies: communications of equal members and equal
// times, such as the data-parallel groups of the tensor-parallel ranks. Copies are carried as one flow, and a
// link crossed by m copies of each of its traffics counts as capacity / m. Where one link is crossed by an
// unequal number of copies of different traffics, that would not be exact, and those traffics are carried
// copy by copy.
#pragma once

#include <string>
#include <vector>

#include "sim/crossings.hpp"

namespace rollcast {

struct Traffic {
  std::string name;
  std::vector<Crossings> copies;  // one or more
};

// Part of a traffic: a flow of share x stream bytes over these classes. A communication is done when all its
// parts are (bytes per link differ between parts).
struct PlannedFlow {
  std::vector<int> classes;  // ascending
  double share = 1;
  BytesPerSecond narrowest;  // smallest capacity of a link that it crosses, not divided among copies
};

struct LinkPlan {
  std::vector<BytesPerSecond> class_capacity;
  std::vector<std::vector<PlannedFlow>> flows;  // of each traffic; empty: it crosses no link
};

enum class Merging {
  classes,  // as above
  none,     // one constraint per link and one flow per copy, for the tests that compare
};

// capacity: of each link, as the flows share it. whole: what a flow alone is priced by
// (PlannedFlow::narrowest), where something else takes a part of it.
LinkPlan plan_links(std::vector<BytesPerSecond> const& capacity, std::vector<Traffic> const& traffics,
                    Merging merging, std::vector<BytesPerSecond> const& whole);
LinkPlan plan_links(std::vector<BytesPerSecond> const& capacity, std::vector<Traffic> const& traffics,
                    Merging merging = Merging::classes);

}  // namespace rollcast
