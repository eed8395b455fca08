// Random jobs on cards of random size: whatever runs out of memory, its figures agree.
#include <gtest/gtest.h>

#include "sim/simulate.hpp"
#include "tests/models/price_fixtures.hpp"
#include "tests/sim/child_process.hpp"
#include "tests/sim/random_jobs.hpp"

namespace rollcast {
namespace {

Job draw_any(Draw& draw, int i) {
  switch (i % 5) {
    case 0:
      return one_step_off_job(draw);
    case 1:
      return asynchronous_job(draw, QueueRule::areal);
    case 2:
      return data_set_job(draw, draw.of({AlgorithmKind::sft, AlgorithmKind::dpo}));
    default:
      return synchronous_job(draw, draw.coin());
  }
}

void draw_memory(Job& job, Draw& draw) {
  job.train.allocator.expandable_segments = draw.coin();
  job.train.entropy = draw.of({Entropy::none, Entropy::whole, Entropy::chunked});
  job.train.fresh_streams = draw.coin();
  job.framework.empty_cache = draw.coin();
  job.framework.sync_gather =
      draw.of({SyncGather::tensor, SyncGather::shards, SyncGather::whole, SyncGather::first_rank});
  job.framework.gather_before_wake = draw.coin();
  Bytes const memory = GiB(draw.of({6.0, 9.0, 14.0, 20.0, 79.0}));
  job.cluster.node.gpu.visible_memory = memory;
  for (Pool& p : job.pools) p.cluster.node.gpu.visible_memory = memory;
}

bool agrees(OomRecord const& o, Bytes memory) {
  if (o.kind == OomKind::host) return true;
  if (!o.figures || !identities_hold(*o.figures)) return false;
  bool const known = std::abs(static_cast<double>(o.figures->total) - memory.value) < 1;
  // PyTorch asks for a whole segment.
  Bytes const asked = max(o.requested, bytes(static_cast<double>(o.figures->tried)));
  return known && asked > o.free && o.free.value >= 0 && o.allocated.value >= 0;
}

TEST(RandomMemory, FiguresOfAnOutOfMemoryAgree) {
  int ended = 0;
  for (int i = 0; i < 60; ++i) {
    Draw draw(static_cast<std::uint64_t>(i));
    Job job = draw_any(draw, i);
    draw_memory(job, draw);
    Bytes const memory = job.cluster.node.gpu.visible_memory;
    // [out of memory, agrees, time within the run]
    std::vector<double> const r = in_child([&] {
      Scenario s;
      s.name = "random";
      s.job = job;
      EventLog const log = simulate(s, round_profile(), {.steps = 2, .seed = 3});
      if (log.ooms.empty()) return std::vector<double>{0.0, 1.0, 1.0};
      Seconds end;
      for (PhaseWindow const& w : log.phases) end = max(end, w.end);
      OomRecord const& o = log.ooms.front();
      return std::vector<double>{1.0, agrees(o, memory) ? 1.0 : 0.0,
                                 o.time >= Seconds(0) && o.time.value >= end.value - 1e-6 ? 1.0 : 0.0};
    });
    ASSERT_EQ(r.size(), 3U) << i;
    ended += r[0] > 0 ? 1 : 0;
    EXPECT_GT(r[1], 0) << "job " << i;
  }
  EXPECT_GT(ended, 10);
}

}  // namespace
}  // namespace rollcast
