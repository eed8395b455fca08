#include "reports/seeded_forecasts.hpp"

#include <utility>

namespace rollcast {

SeededForecasts::SeededForecasts(ForkPool& pool, std::vector<std::uint64_t> seeds, int steps,
                                 std::function<void(std::size_t, std::size_t)> told)
    : pool_(pool), seeds_(std::move(seeds)), steps_(steps), told_(std::move(told)) {}

std::vector<Headline> const* SeededForecasts::find(Sets const& sets) const {
  auto const at = headlines_.find(sets);
  return at == headlines_.end() ? nullptr : &at->second;
}

void SeededForecasts::run(std::vector<Sets> const& wanted) {
  std::vector<std::pair<Sets, std::size_t>> tasks;
  for (Sets const& sets : wanted) {
    if (!headlines_.try_emplace(sets, seeds_.size()).second) continue;
    for (std::size_t i = 0; i < seeds_.size(); ++i) {
      pool_.submit(tasks.size(), to_text(ForecastTask{0, sets, seeds_[i], steps_}));
      tasks.emplace_back(sets, i);
    }
  }
  asked_ += tasks.size();
  while (auto const done = pool_.next()) {
    auto const& [sets, seed] = tasks.at(done->id);
    headlines_.at(sets)[seed] = headline_of(done->result);
    told_(++ended_, asked_);
  }
}

}  // namespace rollcast
