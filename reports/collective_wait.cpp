#include "reports/collective_wait.hpp"

#include "models/pools.hpp"

namespace rollcast {

std::optional<CollectiveWait> longest_collective_wait(EventLog const& log, Job const& job) {
  std::vector<bool> timed(log.pools.size(), false);
  bool any = false;
  for (std::size_t i = 0; i < timed.size(); ++i) {
    timed[i] = log.pools[i].gpus > 1 && holds_models(on_pool(job, static_cast<int>(i)));
    any = any || timed[i];
  }
  if (!any) return std::nullopt;
  CollectiveWait w;
  w.timeout = job.watchdog.timeout;
  for (Span const& s : log.spans) {
    bool const collective = s.activity == Activity::collective_wait ||
                            (!job.framework.single_controller &&
                             (s.activity == Activity::phase_wait || s.activity == Activity::rollout_tail));
    auto const pool = static_cast<std::size_t>(log.rank_classes[static_cast<std::size_t>(s.rank_class)].pool);
    if (!collective || !timed[pool] || !(w.longest < s.end - s.start)) continue;
    w.longest = s.end - s.start;
    w.phase = s.phase;
    w.what = log.labels[static_cast<std::size_t>(s.label)];
  }
  return w;
}

}  // namespace rollcast
