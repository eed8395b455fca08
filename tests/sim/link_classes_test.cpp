#include "sim/link_classes.hpp"

#include <algorithm>

#include "sim/collectives.hpp"
#include "sim/storage_crossings.hpp"
#include "tests/sim/child_process.hpp"
#include "tests/sim/cluster_fixtures.hpp"

namespace rollcast {
namespace {

std::vector<BytesPerSecond> capacities(std::vector<double> const& v) {
  std::vector<BytesPerSecond> out;
  for (double const c : v) out.emplace_back(c);
  return out;
}

// The data-parallel groups of TP8: GPU t of every node, for each t.
Traffic tensor_parallel_copies(Cluster const& c) {
  Traffic out{"dp", {}};
  for (int t = 0; t < c.spec.node.gpus; ++t) {
    std::vector<int> gpus;
    for (int n = 0; n < c.spec.nodes; ++n) gpus.push_back(n * c.spec.node.gpus + t);
    out.copies.push_back(ring_crossings(c, gpus));
  }
  return out;
}

// Links 0-5 of 10, 10, 10, 20, 20, 10. Traffic a crosses 0, 1, 2, 3; b crosses 2, 3, 4. Classes: {0, 1} (10,
// a), {2} (10, ab), {3} (20, ab), {4} (20, b); link 5 carries nothing.
TEST(LinkClasses, LinksWithTheSameTrafficAndCapacityAreOne) {
  LinkPlan const p = plan_links(capacities({10, 10, 10, 20, 20, 10}),
                                {{"a", {{{0}, {1}, {2}, {3}}}}, {"b", {{{2}, {3}, {4}}}}});
  ASSERT_EQ(p.class_capacity.size(), 4u);
  EXPECT_DOUBLE_EQ(p.class_capacity[0].value, 10);
  EXPECT_DOUBLE_EQ(p.class_capacity[2].value, 20);
  ASSERT_EQ(p.flows[0].size(), 1u);
  EXPECT_EQ(p.flows[0][0].classes, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(p.flows[1][0].classes, (std::vector<int>{1, 2, 3}));
  EXPECT_DOUBLE_EQ(p.flows[1][0].narrowest.value, 10);
}

// Links with different bytes of one traffic are flows of their own.
TEST(LinkClasses, EachShareIsAFlow) {
  LinkPlan const p = plan_links(capacities({10, 10, 40}), {{"a", {{{0, 0.5}, {1, 0.5}, {2, 1}}}}});
  ASSERT_EQ(p.flows[0].size(), 2u);
  EXPECT_DOUBLE_EQ(p.flows[0][0].share, 0.5);
  EXPECT_DOUBLE_EQ(p.flows[0][1].share, 1);
  EXPECT_EQ(p.flows[0][1].classes, std::vector<int>{1});
}

// 64 nodes of 8: 3,072 links in use (64 x 8 x (NIC, NIC port, GPU port) x 2), two capacities: two classes,
// one flow.
TEST(LinkClasses, EqualRailsAreOneFlow) {
  Cluster const c = build_cluster(cluster_spec(64), profile_of_ones());
  LinkPlan const p = plan_links(c.capacity, {tensor_parallel_copies(c)});
  EXPECT_EQ(p.class_capacity.size(), 2u);
  ASSERT_EQ(p.flows[0].size(), 1u);
  EXPECT_EQ(p.flows[0][0].classes.size(), 2u);
  EXPECT_DOUBLE_EQ(p.flows[0][0].narrowest.value, 40e9);
}

// Four NICs for eight GPUs: two copies on each NIC, so half of it for one; alone a copy would have all of it.
TEST(LinkClasses, CopiesOnOneLinkShareIt) {
  ClusterSpec spec = cluster_spec(4);
  spec.node.nics = 4;
  Cluster const c = build_cluster(spec, profile_of_ones());
  LinkPlan const p = plan_links(c.capacity, {tensor_parallel_copies(c)});
  ASSERT_EQ(p.flows[0].size(), 1u);
  std::vector<double> found;
  for (auto const x : p.class_capacity) found.push_back(x.value);
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, (std::vector<double>{20e9, 25e9, 50e9})) << "NIC / 2, NIC port / 2, GPU port";
  EXPECT_DOUBLE_EQ(p.flows[0][0].narrowest.value, 40e9);
}

// One slow NIC: the copies are no longer equal.
TEST(LinkClasses, ASlowLinkSplitsTheCopies) {
  Cluster c = build_cluster(cluster_spec(4), profile_of_ones());
  c.capacity[std::size_t(c.network.nic[3].up)] = GB_per_s(10);
  LinkPlan const p = plan_links(c.capacity, {tensor_parallel_copies(c)});
  EXPECT_EQ(p.flows[0].size(), 8u);
  EXPECT_EQ(std::count_if(p.flows[0].begin(), p.flows[0].end(),
                          [](PlannedFlow const& f) { return f.narrowest < GB_per_s(40); }),
            1);
}

// Two copies over link 0, which another traffic crosses once: 1/3 each, which one flow could not express.
TEST(LinkClasses, UnequalSharingSplitsTheCopies) {
  LinkPlan const p =
      plan_links(capacities({30, 30, 30}), {{"two", {{{0}, {1}}, {{0}, {2}}}}, {"one", {{{0}}}}});
  EXPECT_EQ(p.flows[0].size(), 2u);
  EXPECT_EQ(p.flows[1].size(), 1u);
  EXPECT_DOUBLE_EQ(p.class_capacity[0].value, 30);
}

class Random {
 public:
  explicit Random(std::uint64_t seed) : x_(seed * 2654435761u + 1) {}
  int below(int n) {
    x_ = x_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int>((x_ >> 33) % static_cast<std::uint64_t>(n));
  }
  double unit() { return below(1 << 30) / static_cast<double>(1 << 30); }

 private:
  std::uint64_t x_;
};

// NVSwitch nodes and RDMA.
ClusterSpec random_cluster(Random& random) {
  ClusterSpec spec = cluster_spec(2 + random.below(63));
  spec.node.nics = 1 << random.below(4);
  spec.fabric.nodes_per_leaf = 1 + random.below(16);
  spec.fabric.oversubscription = 1 + random.below(3);
  spec.fabric.rail_optimized = random.below(2) == 0;
  return spec;
}

// Nodes of all kinds, with storage.
ClusterSpec random_topology(Random& random) {
  ClusterSpec spec = with_storage(cluster_spec(2 + random.below(15)));
  std::vector<Interconnect> const kinds{Interconnect::nvswitch, Interconnect::nvlink_pairs,
                                        Interconnect::pcie};
  spec.node.interconnect = kinds[std::size_t(random.below(3))];
  spec.node.peer_access = random.below(2) == 0;
  spec.node.gpus_per_pcie_switch = 1 << random.below(3);
  spec.node.numa_nodes = 1 << random.below(2);
  spec.node.nics = 1 << random.below(5);
  spec.fabric.gpu_direct = random.below(2) == 0;
  spec.fabric.nodes_per_leaf = 1 + random.below(8);
  spec.fabric.oversubscription = 1 + random.below(3);
  spec.fabric.rail_optimized = random.below(2) == 0;
  if (random.below(2) == 0) spec.storage_fabric.reset();
  return spec;
}

// Saving, loading, and traffic to another pool: one traffic of every GPU or node.
Traffic random_outer_traffic(Random& random, Cluster const& c) {
  Traffic out{"outer", {}};
  auto const heading = random.below(2) == 0 ? Heading::out : Heading::in;
  auto const place = random.below(2) == 0 ? StoragePlace::local : StoragePlace::shared;
  int const kind = random.below(3);
  for (int i = 0; i < (kind == 0 ? c.spec.nodes : c.spec.gpus()); ++i) {
    out.copies.push_back(kind == 0   ? node_storage_crossings(c, i, place, heading)
                         : kind == 1 ? gpu_storage_crossings(c, i, place, heading)
                                     : outside_crossings(c, i, heading));
  }
  return out;
}

// Random overlapping communicators on up to 64 nodes, some of them with copies, some links slow, several
// operations each with random arrivals; `outer`: storage and other pools beside them. Returns every start and
// end.
std::vector<double> ends_of_random_collectives(std::uint64_t seed, Merging merging, bool outer = false) {
  Random random(seed);
  ClusterSpec const spec = outer ? random_topology(random) : random_cluster(random);
  Cluster cluster = build_cluster(spec, profile_of_ones());
  for (int slow = random.below(3); slow > 0; --slow) {
    auto const nic = std::size_t(random.below(static_cast<int>(cluster.network.nic.size())));
    cluster.capacity[std::size_t(cluster.network.nic[nic].up)] = GB_per_s(15);
  }

  std::vector<Traffic> traffics;
  for (int t = 2 + random.below(5); t > 0; --t) {
    if (random.below(3) == 0) {
      traffics.push_back(tensor_parallel_copies(cluster));
      continue;
    }
    if (outer && random.below(2) == 0) {
      traffics.push_back(random_outer_traffic(random, cluster));
      continue;
    }
    std::vector<int> gpus;
    int const one_in = 1 + random.below(8), first_node = random.below(spec.nodes);
    for (int g = 8 * first_node; g < spec.gpus(); ++g) {
      if (random.below(one_in) == 0) gpus.push_back(g);
    }
    auto const kind =
        random.below(4) == 0 && gpus.size() < 64 ? CollectiveKind::all_to_all : CollectiveKind::all_reduce;
    traffics.push_back({"random", {collective_crossings(cluster, kind, gpus)}});
  }

  Engine engine;
  auto const parts = build_platform(engine, cluster, traffics, merging);
  Collectives collectives(engine);
  for (auto const& p : parts) {
    auto const id = collectives.add_communicator({"c", 2, p});
    std::vector<Arrival> arrivals;
    for (int member = 0; member < 2; ++member) {
      double time = 0;
      for (std::size_t op = 0; op < 4; ++op) {
        time += 0.05 * random.unit();
        if (member == 0) {
          Bytes const size = MB(50 + 500 * random.unit());
          arrivals.push_back({Seconds(time), {us(10), size, GB_per_s(5 + 30 * random.unit())}});
        } else {
          arrivals[op].time = Seconds(time);
        }
      }
      collectives.post(id, member, arrivals);
    }
  }
  EXPECT_TRUE(engine.run().leftovers.empty());
  std::vector<CollectiveRecord> records = collectives.records();
  std::sort(records.begin(), records.end(), [](auto const& a, auto const& b) {
    return a.communicator != b.communicator ? a.communicator < b.communicator : a.operation < b.operation;
  });
  std::vector<double> out;
  for (auto const& r : records) out.insert(out.end(), {r.start.value, r.end.value});
  return out;
}

TEST(LinkClasses, GiveTheSameTimesAsOneConstraintPerLink) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    auto const merged = in_child([seed] { return ends_of_random_collectives(seed, Merging::classes); });
    auto const single = in_child([seed] { return ends_of_random_collectives(seed, Merging::none); });
    ASSERT_EQ(merged.size(), single.size());
    ASSERT_GE(merged.size(), 16u);
    for (std::size_t i = 0; i < merged.size(); ++i)
      EXPECT_NEAR(merged[i], single[i], 1e-9 * std::max(1.0, single[i])) << "seed " << seed << ", " << i;
  }
}

TEST(LinkClasses, AreExactOnEveryTopology) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    auto const ends = [seed](Merging m) {
      return in_child([=] { return ends_of_random_collectives(seed, m, true); });
    };
    auto const merged = ends(Merging::classes), single = ends(Merging::none);
    ASSERT_EQ(merged.size(), single.size());
    ASSERT_GE(merged.size(), 16u);
    for (std::size_t i = 0; i < merged.size(); ++i)
      EXPECT_NEAR(merged[i], single[i], 1e-9 * std::max(1.0, single[i])) << "seed " << seed << ", " << i;
  }
}

}  // namespace
}  // namespace rollcast
