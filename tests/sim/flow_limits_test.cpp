// No link carries more than it can: over any span of time the flows that began and ended within it add up to
// no more than its capacity times the span; and what was asked for arrives, every byte of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "models/random.hpp"
#include "sim/engine.hpp"

namespace rollcast {
namespace {

struct Sent {
  std::vector<int> links;
  double bytes = 0;
  Seconds start;
  Seconds end = Seconds(-1);
};

TEST(FlowLimits, NoLinkCarriesMoreThanItCan) {
  Engine engine;
  std::uint64_t draw = 0;
  auto const random = [&] { return uniform({11, Purpose::jitter, 0, draw++}); };
  std::vector<BytesPerSecond> capacity;
  std::vector<LinkClassId> links;
  for (int l = 0; l < 6; ++l) {
    capacity.push_back(GB_per_s(1 + 49 * random()));
    links.push_back(engine.add_link(capacity.back()));
  }
  std::vector<Sent> sent(120);
  for (Sent& s : sent) {
    for (int l = 0; l < 6; ++l)
      if (random() < 0.4) s.links.push_back(l);
    if (s.links.empty()) s.links.push_back(0);
    s.bytes = std::floor(1e6 + 5e9 * random());
    s.start = Seconds(2 * random());
    std::vector<LinkClassId> way;
    for (int l : s.links) way.push_back(links[static_cast<std::size_t>(l)]);
    RouteId const route = engine.route(way);
    engine.at(s.start, [&engine, &s, route] {
      engine.flow(route, bytes(s.bytes), "flow", [&engine, &s] { s.end = engine.now(); });
    });
  }
  RunResult const result = engine.run();
  EXPECT_TRUE(result.leftovers.empty());
  for (Sent const& s : sent) {
    ASSERT_GE(s.end.value, s.start.value);
    double slowest = 1e18;
    for (int l : s.links) slowest = std::min(slowest, capacity[static_cast<std::size_t>(l)].value);
    EXPECT_GE((s.end - s.start).value, s.bytes / slowest * (1 - 1e-6));
  }
  for (int l = 0; l < 6; ++l) {
    for (Sent const& first : sent) {
      for (Sent const& last : sent) {
        if (last.end <= first.start) continue;
        double within = 0;
        for (Sent const& s : sent) {
          bool const here = std::find(s.links.begin(), s.links.end(), l) != s.links.end();
          if (here && first.start <= s.start && s.end <= last.end) within += s.bytes;
        }
        double const most = capacity[static_cast<std::size_t>(l)].value * (last.end - first.start).value;
        EXPECT_LE(within, most * (1 + 1e-6) + 0.5) << "link " << l;
      }
    }
  }
}

}  // namespace
}  // namespace rollcast
