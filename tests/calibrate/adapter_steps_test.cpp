#include "calibrate/adapter_steps.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <map>
#include <utility>

#include "calibrate/profiles.hpp"
#include "models/catalog/catalog.hpp"

namespace rollcast {
namespace {

Profile shipped(AdapterStep const& s) { return profile_for(s.job.cluster.node.gpu); }

TEST(AdapterSteps, TheShippedNumbersAreTheFit) {
  AdapterFit const fit = fit_adapter_steps("");
  Profile const p = profile_for(*find_gpu(builtin_catalog(), "a100-sxm-80gb"));
  EXPECT_DOUBLE_EQ(p.eager_launches.value, fit.eager_launches);
  EXPECT_DOUBLE_EQ(p.dequantization.value, fit.dequantization);
}

// The errors that the numbers' source names.
TEST(AdapterSteps, ErrorOfEachSource) {
  std::map<std::string, std::pair<double, int>> squares;
  for (AdapterStep const& s : adapter_steps()) {
    double const e = std::log(forecast(s, shipped(s)) / s.measured);
    squares[s.source].first += e * e;
    ++squares[s.source].second;
  }
  std::map<std::string, double> const told = {{"S01", 0.10}, {"S02", 0.06}, {"S04", 0.29}, {"S11", 0.11}};
  ASSERT_EQ(squares.size(), told.size());
  for (auto const& [source, sum] : squares) {
    double const error = std::sqrt(sum.first / sum.second);
    std::cout << fmt::format("{} {:.3f}\n", source, error);
    EXPECT_NEAR(error, told.at(source), 0.006) << source;
  }
}

TEST(AdapterSteps, SlowerHostsAndMemoryTakeLonger) {
  for (AdapterStep const& s : adapter_steps()) {
    Profile p = shipped(s);
    Seconds const before = forecast(s, p);
    p.eager_launches.value *= 2;
    p.dequantization.value /= 2;
    EXPECT_GE(forecast(s, p), before);
  }
}

}  // namespace
}  // namespace rollcast
