// Forecasts of one scenario with several overrides and seeds, each made once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "reports/forecast.hpp"

namespace rollcast {

// Overrides of a scenario, in order.
using Sets = std::vector<std::string>;

class SeededForecasts {
 public:
  // Of the pool's source 0. told: after every forecast, how many of those asked for so far have ended.
  SeededForecasts(ForkPool& pool, std::vector<std::uint64_t> seeds, int steps,
                  std::function<void(std::size_t ended, std::size_t asked)> told);

  // Those that are not there yet, in parallel.
  void run(std::vector<Sets> const& wanted);
  // One per seed. std::out_of_range, or null: it was not run.
  std::vector<Headline> const& of(Sets const& sets) const { return headlines_.at(sets); }
  std::vector<Headline> const* find(Sets const& sets) const;

 private:
  ForkPool& pool_;
  std::vector<std::uint64_t> seeds_;
  int steps_;
  std::function<void(std::size_t, std::size_t)> told_;
  std::map<Sets, std::vector<Headline>> headlines_;
  std::size_t ended_ = 0;
  std::size_t asked_ = 0;
};

}  // namespace rollcast
