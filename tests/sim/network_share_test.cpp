// What streams leave a collective on a link, by the formula and by the engine.
#include <gtest/gtest.h>

#include "models/network.hpp"
#include "sim/collectives.hpp"
#include "tests/sim/child_process.hpp"

namespace rollcast {
namespace {

// The rate of a collective of 1 GB beside n flows that last longer, on one link.
double rate_beside(int flows, BytesPerSecond capacity) {
  return in_child([&] {
           Engine e;
           LinkClassId const link = e.add_link(capacity);
           RouteId const way = e.route({link});
           Collectives c(e);
           auto const id = c.add_communicator({"dp", 1, {{way, 1, capacity}}});
           // Each has as much to send as the collective, a hundred times.
           for (int i = 0; i < flows; ++i) e.flow(way, GB(100), "stream", [] {});
           std::vector<double> rate;
           e.spawn("member", [&] {
             Arrival const arrival{seconds(0), {seconds(0), GB(1), capacity}};
             c.post(id, 0, {&arrival, 1});
             rate.push_back(1e9 / c.join(id, 0).value);
           });
           e.run();
           return rate;
         })
      .at(0);
}

// Streams that want without end: each of n + 1 flows has the same share.
TEST(NetworkShare, TheEngineSharesALinkAsTheFormulaSays) {
  for (int const flows : {0, 1, 2, 5, 16, 63}) {
    for (double const gb : {1.0, 25.0, 50.0}) {
      NetworkOptions const n{flows, GB_per_s(1e6), false, 0};
      double const expected = left_to_collectives(n, GB_per_s(gb)).value;
      EXPECT_NEAR(expected, gb * 1e9 / (flows + 1), 1);
      EXPECT_NEAR(rate_beside(flows, GB_per_s(gb)), expected, 1e-6 * expected) << flows << " at " << gb;
    }
  }
}

}  // namespace
}  // namespace rollcast
