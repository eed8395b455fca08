// What we found to be true of SimGrid 3.32 and build upon, so that an upgrade says what moved. The only file
// beside the engine files of sim/ that includes SimGrid.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <simgrid/Exception.hpp>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

#include "tests/sim/child_process.hpp"

namespace rollcast {
namespace {

namespace s4u = simgrid::s4u;
using simgrid::kernel::timer::Timer;
using Numbers = std::vector<double>;

// A SimGrid engine and a star zone with one host to receive.
class World {
 public:
  explicit World(std::vector<std::string> const& settings = {"network/model:CM02", "network/crosstraffic:0",
                                                             "network/TCP-gamma:1e18"}) {
    xbt_log_control_set("root.thresh:critical");
    for (auto const& s : settings) s4u::Engine::set_config(s);
    zone = s4u::create_star_zone("zone");
    sink = zone->create_host("sink", 1.0);
    zone->add_route(sink->get_netpoint(), nullptr, nullptr, nullptr, {}, true);
  }

  s4u::Link* link(double bandwidth, double latency = 0) {
    return zone->create_link("link" + std::to_string(count_++), bandwidth)->set_latency(latency);
  }

  // A host whose way out and in is these links.
  s4u::Host* source(std::vector<s4u::Link*> const& links) {
    auto* host = zone->create_host("source" + std::to_string(count_++), 1.0);
    connect(host, links);
    return host;
  }
  void connect(s4u::Host* host, std::vector<s4u::Link*> const& links) {
    std::vector<s4u::LinkInRoute> way;
    for (auto* l : links) way.emplace_back(l);
    zone->add_route(host->get_netpoint(), nullptr, nullptr, nullptr, way, true);
  }

  // Ends of flows that all start at 0.
  Numbers ends(std::vector<std::pair<s4u::Host*, double>> const& flows) {
    Numbers out(flows.size(), -1);
    std::vector<s4u::CommPtr> comms;
    s4u::Activity::on_completion_cb([&](s4u::Activity const& a) {
      if (auto* at = a.get_data<double>(); at != nullptr) *at = s4u::Engine::get_clock();
    });
    for (std::size_t i = 0; i < flows.size(); ++i) {
      comms.push_back(s4u::Comm::sendto_init(flows[i].first, sink));
      comms.back()->set_payload_size(static_cast<std::uint64_t>(flows[i].second));
      comms.back()->set_data(&out[i]);
    }
    zone->seal();
    for (auto const& c : comms) c->start();
    engine.run();
    return out;
  }

  s4u::Engine engine{"test"};
  s4u::NetZone* zone = nullptr;
  s4u::Host* sink = nullptr;

 private:
  int count_ = 0;
};

double end_of_one_gigabyte(std::vector<std::string> const& settings) {
  return in_child([&] {
           World w(settings);
           return w.ends({{w.source({w.link(1e9)}), 1e9}});
         })
      .at(0);
}

// 1 GB over 1 GB/s. LV08 uses 97 % of a link and 5 % of it is the acknowledgements' cross traffic:
// 1.05 / 0.97 = 1.0825; CM02 still pays the 5 %.
TEST(SimGrid, OnlyCM02WithoutCrossTrafficGivesTheWholeLink) {
  EXPECT_NEAR(end_of_one_gigabyte({}), 1.05 / 0.97, 1e-4);
  EXPECT_NEAR(end_of_one_gigabyte({"network/model:CM02"}), 1.05, 1e-9);
  EXPECT_NEAR(end_of_one_gigabyte({"network/model:CM02", "network/crosstraffic:0"}), 1, 1e-9);
}

// The window of 4,194,304 B allows 4194304 / (2 x 20 us) = 104.8576 GB/s, however fast the link.
TEST(SimGrid, TcpGammaCapsAFlowOverALinkWithLatency) {
  auto const run = [](std::vector<std::string> const& settings) {
    return in_child([&] {
             World w(settings);
             return w.ends({{w.source({w.link(400e9, 20e-6)}), 104.8576e9}});
           })
        .at(0);
  };
  EXPECT_NEAR(run({"network/model:CM02", "network/crosstraffic:0"}), 1, 1e-4);
  EXPECT_NEAR(run({"network/model:CM02", "network/crosstraffic:0", "network/TCP-gamma:1e18"}), 104.8576 / 400,
              1e-4);
}

// Flows over 1 us and 11 us share 12 GB/s as 11:1, so 11 GB and 1 GB end together at 1 s.
TEST(SimGrid, SharesGoByOneOverLatency) {
  Numbers const ends = in_child([] {
    World w;
    auto* shared = w.link(12e9);
    return w.ends(
        {{w.source({shared, w.link(1e12, 1e-6)}), 11e9}, {w.source({shared, w.link(1e12, 11e-6)}), 1e9}});
  });
  EXPECT_NEAR(ends.at(0), 1, 1e-3);
  EXPECT_NEAR(ends.at(1), 1, 1e-3);
}

TEST(SimGrid, WithoutLatencySharesAreEqual) {
  Numbers const ends = in_child([] {
    World w;
    auto* shared = w.link(2e9);
    return w.ends({{w.source({shared, w.link(1e12)}), 1e9}, {w.source({shared}), 1e9}});
  });
  EXPECT_NEAR(ends.at(0), 1, 2e-9);
  EXPECT_NEAR(ends.at(1), 1, 2e-9);
}

// One flow with latency and one without do not share: the first takes the whole link, the second waits until
// it is done: 1 s and 2 s, not 2 s and 2 s. So either all links have a latency or none has.
TEST(SimGrid, AFlowWithoutLatencyIsStarvedByOneWithLatency) {
  Numbers const ends = in_child([] {
    World w;
    auto* shared = w.link(1e9);
    return w.ends({{w.source({shared}), 1e9}, {w.source({shared, w.link(1e12, 10e-6)}), 1e9}});
  });
  EXPECT_NEAR(ends.at(0), 2, 1e-3);
  EXPECT_NEAR(ends.at(1), 1, 1e-3);
}

TEST(SimGrid, ARateIsIgnoredBetweenHosts) {
  in_child([] {
    World w;
    auto* source = w.source({w.link(1e9)});
    w.zone->seal();
    auto const comm = s4u::Comm::sendto_init();
    comm->set_rate(1e8);
    comm->set_source(source)->set_destination(w.sink)->set_payload_size(1000000000)->start();
    w.engine.run();
    EXPECT_NEAR(s4u::Engine::get_clock(), 1, 2e-9) << "10 s if the rate were obeyed";
    return Numbers{};
  });
}

// It stays where it is, and run() returns as if all were well.
TEST(SimGrid, AFlowOfNoBytesNeverStarts) {
  in_child([] {
    World w;
    auto* source = w.source({w.link(1e9)});
    w.zone->seal();
    auto const comm = s4u::Comm::sendto_async(source, w.sink, 0);
    w.engine.run();
    EXPECT_EQ(comm->get_state(), s4u::Activity::State::STARTING);
    return Numbers{};
  });
}

// The size is a whole number of bytes: set_remaining() does not reach a flow between hosts.
TEST(SimGrid, FractionsOfBytesAreNotCarried) {
  in_child([] {
    World w;
    auto* source = w.source({w.link(1)});
    w.zone->seal();
    auto const comm = s4u::Comm::sendto_init(source, w.sink);
    comm->set_payload_size(1);
    comm->set_remaining(2.5);
    comm->start();
    w.engine.run();
    EXPECT_GT(std::abs(s4u::Engine::get_clock() - 2.5), 0.4);
    return Numbers{};
  });
}

TEST(SimGrid, AnUnassignedExecLetsRunReturn) {
  in_child([] {
    World w;
    w.zone->seal();
    auto const exec = s4u::Exec::init()->set_flops_amount(1);
    exec->vetoable_start();
    w.engine.run();
    EXPECT_EQ(exec->get_state(), s4u::Activity::State::STARTING);
    return Numbers{};
  });
}

// Three of 1 s of work on one core end together at 3 s; work goes to the host that set_host names.
TEST(SimGrid, OneCoreIsTimeShared) {
  in_child([] {
    World w;
    auto* gpu = w.zone->create_host("gpu", 10.0);
    w.zone->seal();
    s4u::Actor::create("actor", w.sink, [gpu] {
      std::vector<s4u::ExecPtr> work;
      for (int i = 0; i < 3; ++i) {
        work.push_back(s4u::Exec::init());
        work.back()->set_flops_amount(10)->set_host(gpu)->start();
      }
      for (auto const& e : work) e->wait();
      EXPECT_NEAR(s4u::Engine::get_clock(), 3, 1e-9);
    });
    w.engine.run();
    return Numbers{};
  });
}

// Both directions over one SHARED link of 1 GB/s: 1 GB each way takes 2 s. Over a split-duplex pair: 1 s.
TEST(SimGrid, ASharedLinkCountsBothDirections) {
  auto const run = [](bool split) {
    return in_child([split] {
             World w;
             auto* a = w.zone->create_host("a", 1.0);
             auto* b = w.zone->create_host("b", 1.0);
             s4u::LinkInRoute const one =
                 split ? s4u::LinkInRoute(w.zone->create_split_duplex_link("cable", 1e9),
                                          s4u::LinkInRoute::Direction::UP)
                       : s4u::LinkInRoute(w.link(1e9));
             w.zone->add_route(a->get_netpoint(), nullptr, nullptr, nullptr, {one}, true);
             w.zone->add_route(b->get_netpoint(), nullptr, nullptr, nullptr, {}, true);
             w.zone->seal();
             auto const there = s4u::Comm::sendto_async(a, b, 1000000000);
             auto const back = s4u::Comm::sendto_async(b, a, 1000000000);
             w.engine.run();
             return Numbers{s4u::Engine::get_clock()};
           })
        .at(0);
  };
  EXPECT_NEAR(run(false), 2, 2e-9);
  EXPECT_NEAR(run(true), 1, 2e-9);
}

// Two flows of 1 GB over a FATPIPE of 1 GB/s: 1 s each, nothing shared.
TEST(SimGrid, AFatpipeIsNotShared) {
  Numbers const ends = in_child([] {
    World w;
    auto* pipe = w.link(1e9);
    pipe->set_sharing_policy(s4u::Link::SharingPolicy::FATPIPE);
    return w.ends({{w.source({pipe}), 1e9}, {w.source({pipe}), 1e9}});
  });
  EXPECT_NEAR(ends.at(0), 1, 2e-9);
  EXPECT_NEAR(ends.at(1), 1, 2e-9);
}

// What goes on within 1e-9 s counts as simultaneous: a flow that would end 0.5 ns after a timer ends with it.
TEST(SimGrid, TimesWithinANanosecondAreOne) {
  in_child([] {
    World w;
    auto* source = w.source({w.link(2e9)});
    w.zone->seal();
    double timer = -1;
    Timer::set(1.0, [&] { timer = s4u::Engine::get_clock(); });
    auto const comm = s4u::Comm::sendto_async(source, w.sink, 2000000001);
    w.engine.run();
    EXPECT_NEAR(timer, 1, 0);
    EXPECT_NEAR(s4u::Engine::get_clock(), 1, 0);
    return Numbers{};
  });
}

// Deadlock: run() returns, the callback has run, the actors are unwound.
TEST(SimGrid, ADeadlockCallsBackAndReturns) {
  in_child([] {
    World w;
    w.zone->seal();
    bool deadlock = false, unwound = false;
    s4u::Engine::on_deadlock_cb([&] { deadlock = true; });
    s4u::Actor::create("actor", w.sink, [&] {
      try {
        s4u::this_actor::suspend();
      } catch (simgrid::ForcefulKillException const&) {
        unwound = true;
        throw;
      }
    });
    testing::internal::CaptureStderr();
    w.engine.run();
    testing::internal::GetCapturedStderr();
    EXPECT_TRUE(deadlock);
    EXPECT_TRUE(unwound);
    return Numbers{};
  });
}

// resume() of an actor that is not suspended is lost, so we keep a flag and resume only who sleeps.
TEST(SimGrid, AResumeBeforeTheSuspendIsLost) {
  in_child([] {
    World w;
    w.zone->seal();
    bool went_on = false;
    auto const sleeper = s4u::Actor::create("sleeper", w.sink, [&] {
      s4u::this_actor::sleep_for(1);
      s4u::this_actor::suspend();
      went_on = true;
    });
    s4u::Actor::create("early", w.sink, [&] { sleeper->resume(); });
    testing::internal::CaptureStderr();
    w.engine.run();
    testing::internal::GetCapturedStderr();
    EXPECT_FALSE(went_on);
    return Numbers{};
  });
}

// The heart of engine.cpp: a timer runs outside all actors, may resume and kill them, start flows and set
// timers, also for now; a removed timer does not run and does not keep the simulation running.
TEST(SimGrid, ATimerMayDoAnything) {
  in_child([] {
    World w;
    auto* source = w.source({w.link(1e9)});
    w.zone->seal();
    double resumed = -1, chained = -1;
    s4u::CommPtr comm;
    auto const actor = s4u::Actor::create("actor", w.sink, [&] {
      s4u::this_actor::suspend();
      resumed = s4u::Engine::get_clock();
      s4u::this_actor::suspend();
    });
    Timer* const late = Timer::set(100, [] { ADD_FAILURE() << "removed"; });
    Timer::set(1, [&] {
      EXPECT_TRUE(s4u::Actor::is_maestro());
      comm = s4u::Comm::sendto_async(source, w.sink, 2000000000);
      actor->resume();
      Timer::set(s4u::Engine::get_clock(), [&] { chained = s4u::Engine::get_clock(); });
      late->remove();
    });
    Timer::set(2, [&] { actor->kill(); });
    w.engine.run();
    EXPECT_NEAR(resumed, 1, 0);
    EXPECT_NEAR(chained, 1, 0);
    EXPECT_EQ(comm->get_state(), s4u::Activity::State::FINISHED);
    EXPECT_NEAR(s4u::Engine::get_clock(), 3, 2e-9);
    return Numbers{};
  });
}

// 1.5 us at t = 1,000 s, to 1e-12 s (a double's spacing there is 1.1e-13).
TEST(SimGrid, ShortDelaysAreExactFarFromZero) {
  in_child([] {
    World w;
    w.zone->seal();
    double first = 0, second = 0;
    Timer::set(1000, [&] {
      first = s4u::Engine::get_clock();
      Timer::set(first + 1.5e-6, [&] { second = s4u::Engine::get_clock(); });
    });
    w.engine.run();
    EXPECT_NEAR(second - first, 1.5e-6, 1e-12);
    return Numbers{};
  });
}

// 2 GB at 1 GB/s, halved after 1 s: 1 GB left at 0.5 GB/s, the end is at 3 s.
TEST(SimGrid, BandwidthCanChangeWhileItRuns) {
  in_child([] {
    World w;
    auto* link = w.link(1e9);
    Timer::set(1, [link] { link->set_bandwidth(0.5e9); });
    EXPECT_NEAR(w.ends({{w.source({link}), 2e9}}).at(0), 3, 2e-9);
    return Numbers{};
  });
}

// Routes of hosts that are there can be added while it runs; a link twice in a route is charged once.
TEST(SimGrid, StarRoutesCanBeAddedLateAndCountALinkOnce) {
  in_child([] {
    World w;
    auto* link = w.link(1e9);
    auto* spare = w.zone->create_host("spare", 1.0);
    w.zone->seal();
    s4u::CommPtr comm;
    Timer::set(1, [&] {
      w.connect(spare, {link, link});
      comm = s4u::Comm::sendto_async(spare, w.sink, 1000000000);
    });
    w.engine.run();
    EXPECT_NEAR(s4u::Engine::get_clock(), 2, 2e-9);
    return Numbers{};
  });
}

// The end of a flow calls back once, when cancelled twice, and new flows may start in the callback.
TEST(SimGrid, CompletionCallsBackAlsoForTheCancelled) {
  in_child([] {
    World w;
    auto* source = w.source({w.link(1e9)});
    w.zone->seal();
    std::vector<std::string> calls;
    s4u::CommPtr next;
    s4u::Activity::on_completion_cb([&](s4u::Activity const& a) {
      calls.push_back(a.get_name());
      if (a.get_name() == "first" && !next) next = s4u::Comm::sendto_async(source, w.sink, 1000000000);
    });
    auto const first = s4u::Comm::sendto_init(source, w.sink);
    first->set_name("first")->set_payload_size(1000000000)->start();
    auto const doomed = s4u::Comm::sendto_init(source, w.sink);
    doomed->set_name("doomed")->set_payload_size(1000000000)->start();
    Timer::set(0.5, [&] { doomed->cancel(); });
    w.engine.run();
    // first: 0.25 GB until 0.5 s, the other 0.75 GB until 1.25 s; the next 1 GB until 2.25 s.
    EXPECT_NEAR(s4u::Engine::get_clock(), 2.25, 4e-9);
    EXPECT_EQ(std::count(calls.begin(), calls.end(), "first"), 1);
    EXPECT_GE(std::count(calls.begin(), calls.end(), "doomed"), 1);
    return Numbers{};
  });
}

}  // namespace
}  // namespace rollcast
