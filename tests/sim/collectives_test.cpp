#include "sim/collectives.hpp"

#include <algorithm>
#include <stdexcept>

#include "models/catalog/catalog.hpp"
#include "tests/sim/child_process.hpp"
#include "tests/sim/cluster_fixtures.hpp"

namespace rollcast {
namespace {

using Numbers = std::vector<double>;

// 10 us, then 1 GB over 10 GB/s: 0.10001 s.
constexpr CollectivePrice kPrice{us(10), GB(1), GB_per_s(10)};

std::vector<int> all_gpus(ClusterSpec const& spec) {
  std::vector<int> out;
  for (int g = 0; g < spec.gpus(); ++g) out.push_back(g);
  return out;
}

// A flow part over one link of its own.
FlowPart part_over(Engine& e, BytesPerSecond capacity) {
  return {e.route({e.add_link(capacity)}), 1, capacity};
}

// Member 0 enqueues at 1.0 and 1.1, member 1 at 1.3 and 1.35. The first starts at 1.3 and ends at 1.40001;
// the second, complete at 1.35, starts then and ends at 1.50002.
TEST(Collectives, StartWithTheLastMemberAndAfterTheOneBefore) {
  in_child([] {
    Engine e;
    Collectives c(e);
    auto const id = c.add_communicator({"dp", 2, {part_over(e, GB_per_s(10))}});
    std::vector<double> joined;
    auto const member = [&](int m, std::vector<double> times) {
      return [&, m, times] {
        std::vector<Arrival> arrivals;
        for (double const t : times) arrivals.push_back({Seconds(t), kPrice});
        EXPECT_EQ(c.post(id, m, arrivals), 0);
        joined.push_back(c.join(id, 1).value);
        EXPECT_NEAR(e.now().value, joined.back(), 0);
        EXPECT_NEAR(c.join(id, 0).value, 1.40001, 2e-9) << "over already: at once";
      };
    };
    e.spawn("0", member(0, {1.0, 1.1}));
    e.spawn("1", member(1, {1.3, 1.35}));
    EXPECT_TRUE(e.run().leftovers.empty());
    EXPECT_EQ(joined.size(), 2u);
    for (double const t : joined) EXPECT_NEAR(t, 1.50002, 4e-9);
    auto const& r = c.records();
    EXPECT_EQ(r.size(), 2u);
    EXPECT_NEAR(r[0].first_arrival.value, 1.0, 0);
    EXPECT_NEAR(r[0].last_arrival.value, 1.3, 0);
    EXPECT_NEAR(r[0].start.value, 1.3, 0);
    EXPECT_NEAR(r[0].end.value, 1.40001, 2e-9);
    EXPECT_EQ(r[1].operation, 1);
    EXPECT_NEAR(r[1].start.value, 1.40001, 2e-9);
    return Numbers{};
  });
}

// A phase that starts at 5 s posts what it did at 4 s: the operation cannot start before it is known.
TEST(Collectives, APostAfterTheFactStartsNow) {
  in_child([] {
    Engine e;
    Collectives c(e);
    auto const id = c.add_communicator({"dp", 1, {part_over(e, GB_per_s(10))}});
    e.spawn("0", [&] {
      e.delay(seconds(5));
      c.post(id, 0, std::vector<Arrival>{{seconds(4), kPrice}});
      EXPECT_NEAR(c.join(id, 0).value, 5.10001, 2e-9);
    });
    e.run();
    return Numbers{};
  });
}

// Alone on the network every collective costs what its price says, whatever links it crosses.
TEST(Collectives, AloneTheyCostTheirPrice) {
  for (int nodes : {1, 2, 5}) {
    for (auto const kind : {Interconnect::nvswitch, Interconnect::nvlink_pairs, Interconnect::pcie}) {
      for (auto const collective : {CollectiveKind::all_reduce, CollectiveKind::all_to_all}) {
        in_child([=] {
          Cluster const cluster = build_cluster(cluster_spec(nodes, 8, kind), profile_of_ones());
          std::vector<int> gpus;
          for (int g = 0; g < 8 * nodes; ++g) gpus.push_back(g);
          Engine e;
          auto const parts =
              build_platform(e, cluster, {{"all", {collective_crossings(cluster, collective, gpus)}}});
          Collectives c(e);
          auto const id = c.add_communicator({"all", 1, parts[0]});
          std::vector<Arrival> arrivals;
          for (double const megabytes : {1.0, 30.0, 2000.0}) {
            CollectivePrice const price{us(25), MB(megabytes), GB_per_s(37)};
            arrivals.push_back({seconds(1), price});
          }
          c.post(id, 0, arrivals);
          e.run();
          EXPECT_EQ(c.records().size(), arrivals.size());
          for (std::size_t i = 0; i < c.records().size(); ++i) {
            auto const& r = c.records()[i];
            EXPECT_NEAR((r.end - r.start).value, arrivals[i].price.total().value, 3e-9);
          }
          return Numbers{};
        });
      }
    }
  }
}

// Every node of the catalog on its fabric, one and two of them, priced by its data sheet: alone the simulated
// collective takes what the price says, within 1 %.
TEST(Collectives, AloneTheyCostWhatModelsSayOnEveryNodeOfTheCatalog) {
  for (Node const& node : builtin_catalog().nodes) {
    for (int nodes : {1, 2}) {
      if (nodes * node.gpus < 2) continue;
      for (auto const kind : {CollectiveKind::all_reduce, CollectiveKind::all_to_all}) {
        Profile const profile = profile_of_ones();
        ClusterSpec const spec{node, nodes, *find_fabric(builtin_catalog(), node.fabric)};
        CollectivePrice const price =
            collective_price(profile, spec, kind, placed_group(spec, nodes * node.gpus, 1), GB(1));
        in_child([&] {
          Cluster const cluster = build_cluster(spec, profile);
          Engine e;
          auto const parts =
              build_platform(e, cluster, {{"all", {collective_crossings(cluster, kind, all_gpus(spec))}}});
          Collectives c(e);
          auto const id = c.add_communicator({"all", 1, parts[0]});
          c.post(id, 0, std::vector<Arrival>{{seconds(1), price}});
          e.run();
          double const took = (c.records().at(0).end - c.records().at(0).start).value;
          EXPECT_NEAR(took, price.total().value, 0.01 * took) << node.name << " x " << nodes;
          return Numbers{};
        });
      }
    }
  }
}

// And where a ring fills its slowest link, the links themselves give the price's bandwidth: on NVSwitch nodes
// and, within one node, over PCIe with and without peer access. Left out: cards whose own PCIe is narrower
// than their NIC (c550), which the price does not know.
TEST(Collectives, ARingIsPricedAsItsLinksAllow) {
  for (Node const& node : builtin_catalog().nodes) {
    for (int nodes : {1, 2}) {
      bool const over_pcie = node.interconnect != Interconnect::nvswitch;
      if (nodes * node.gpus < 2 || (over_pcie && nodes > 1) || node.name == "c550-x8") continue;
      Profile const profile = profile_of_ones();
      ClusterSpec const spec{node, nodes, *find_fabric(builtin_catalog(), node.fabric)};
      Cluster const cluster = build_cluster(spec, profile);
      LinkPlan const plan =
          plan_links(cluster.capacity, {{"all", {ring_crossings(cluster, all_gpus(spec))}}});
      double slowest = 0;
      for (PlannedFlow const& f : plan.flows[0]) slowest = std::max(slowest, f.share / f.narrowest.value);
      Group const group = placed_group(spec, nodes * node.gpus, 1);
      double const priced =
          collective_price(profile, spec, CollectiveKind::all_reduce, group, GB(1)).bandwidth.value;
      EXPECT_NEAR(1 / slowest, priced, 0.01 * priced) << node.name << " x " << nodes;
    }
  }
}

// Two communicators over one link at the same time: each has half of it, 10 us + 0.2 s.
TEST(Collectives, CommunicatorsShareTheirLinks) {
  in_child([] {
    Engine e;
    Collectives c(e);
    FlowPart const shared = part_over(e, GB_per_s(10));
    for (int i = 0; i < 2; ++i) {
      auto const id = c.add_communicator({"c", 1, {shared}});
      c.post(id, 0, std::vector<Arrival>{{seconds(0), kPrice}});
    }
    e.run();
    for (auto const& r : c.records()) EXPECT_NEAR(r.end.value, 0.20001, 4e-9);
    return Numbers{};
  });
}

// Eight GPUs with four NICs: the two copies on a NIC take twice the price's transfer time.
TEST(Collectives, CopiesOnOneNicTakeTwiceAsLong) {
  in_child([] {
    ClusterSpec spec = cluster_spec(2);
    spec.node.nics = 4;
    Cluster const cluster = build_cluster(spec, profile_of_ones());
    Traffic dp{"dp", {}};
    for (int t = 0; t < 8; ++t) dp.copies.push_back(ring_crossings(cluster, {t, 8 + t}));
    Engine e;
    auto const parts = build_platform(e, cluster, {dp});
    Collectives c(e);
    auto const id = c.add_communicator({"dp", 2, parts[0]});
    for (int m = 0; m < 2; ++m)
      c.post(id, m, std::vector<Arrival>{{seconds(0), {us(10), GB(4), GB_per_s(40)}}});
    e.run();
    EXPECT_NEAR(c.records().at(0).end.value, 0.2 + 10e-6, 4e-9);
    return Numbers{};
  });
}

TEST(Collectives, WithoutBytesOnlyAlphaIsPaid) {
  in_child([] {
    Engine e;
    Collectives c(e);
    auto const silent = c.add_communicator({"silent", 1, {}});
    auto const empty = c.add_communicator({"empty", 1, {part_over(e, GB_per_s(1))}});
    c.post(silent, 0, std::vector<Arrival>{{seconds(1), kPrice}});
    c.post(empty, 0, std::vector<Arrival>{{seconds(1), {us(10), bytes(0), GB_per_s(1)}}});
    EXPECT_TRUE(e.run().leftovers.empty());
    for (auto const& r : c.records()) EXPECT_NEAR(r.end.value, 1.00001, 1e-12);
    return Numbers{};
  });
}

// A rank dies at 1.5 s: what it would have enqueued at 2 s never comes, and the others wait for it by name.
TEST(Collectives, ARetractedArrivalHoldsTheOthersUp) {
  in_child([] {
    Engine e;
    Collectives c(e);
    auto const id = c.add_communicator({"dp", 2, {part_over(e, GB_per_s(10))}});
    for (int m = 0; m < 2; ++m) {
      e.spawn("member " + std::to_string(m), [&, m] {
        c.post(id, m, std::vector<Arrival>{{seconds(1), kPrice}, {seconds(2), kPrice}});
        c.join(id, 1);
        ADD_FAILURE() << "the second never ends";
      });
    }
    e.at(seconds(1.5), [&] { c.retract(id, 1, seconds(1.5)); });
    RunResult const r = e.run();
    EXPECT_TRUE(r.deadlock);
    EXPECT_EQ(r.leftovers, (std::vector<std::string>{"actor member 0", "actor member 1"}));
    EXPECT_EQ(c.records().size(), 1u);
    EXPECT_EQ(c.missing_members(id, 0), std::vector<int>{});
    EXPECT_EQ(c.missing_members(id, 1), std::vector<int>{1});
    EXPECT_EQ(c.missing_members(id, 2), (std::vector<int>{0, 1}));
    return Numbers{};
  });
}

TEST(Collectives, BrokenContractsThrow) {
  in_child([] {
    Engine e;
    Collectives c(e);
    auto const id = c.add_communicator({"dp", 2, {part_over(e, GB_per_s(10))}});
    EXPECT_THROW(c.add_communicator({"none", 0, {}}), std::logic_error);
    EXPECT_THROW(c.post(id, 2, std::vector<Arrival>{{seconds(1), kPrice}}), std::logic_error);
    EXPECT_THROW(c.join(id, 0), std::logic_error) << "nobody has posted it";
    c.post(id, 0, std::vector<Arrival>{{seconds(1), kPrice}});
    EXPECT_THROW(c.post(id, 0, std::vector<Arrival>{{seconds(0.5), kPrice}}), std::logic_error);
    EXPECT_THROW(c.post(id, 1, std::vector<Arrival>{{seconds(1), {us(9), GB(1), GB_per_s(10)}}}),
                 std::logic_error);
    return Numbers{};
  });
}

// The same run in two processes: the same bytes.
TEST(Collectives, RunsAreRepeatable) {
  auto const run = [] {
    Engine e;
    Collectives c(e);
    FlowPart const shared = part_over(e, GB_per_s(10));
    std::vector<CommunicatorId> ids;
    for (int i = 0; i < 5; ++i)
      ids.push_back(c.add_communicator({"c", 20, {shared, part_over(e, GB_per_s(7 + i))}}));
    for (int m = 0; m < 20; ++m) {
      e.spawn("m", [&, m] {
        for (int step = 0; step < 3; ++step) {
          for (auto const id : ids) {
            std::vector<Arrival> arrivals;
            for (int b = 0; b < 4; ++b)
              arrivals.push_back({e.now() + ms(10 * b + (m * 7 + id.value * 3) % 11), kPrice});
            c.post(id, m, arrivals);
          }
          for (auto const id : ids) c.join(id, 4 * step + 3);
        }
      });
    }
    e.run();
    Numbers out;
    for (auto const& r : c.records()) {
      out.push_back(r.communicator.value);
      out.push_back(r.end.value);
    }
    return out;
  };
  Numbers const first = in_child(run), second = in_child(run);
  EXPECT_EQ(first.size(), 5u * 12 * 2);
  EXPECT_EQ(first, second);
}

}  // namespace
}  // namespace rollcast
