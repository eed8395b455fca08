// The layouts that `rollcast plan` may choose from: those that are valid (scenarios/check), and of these
// those that fit by the ledger (models/peak_table.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "models/peak_table.hpp"
#include "reports/forecast.hpp"
#include "reports/plan_knobs.hpp"

namespace rollcast {

// A layout: a site, and a trainer and an engine of it, by index.
struct PlanLayout {
  std::size_t site = 0;
  std::size_t trainer = 0;
  std::size_t engine = 0;
  friend bool operator<(PlanLayout const& a, PlanLayout const& b) {
    return std::tie(a.site, a.trainer, a.engine) < std::tie(b.site, b.trainer, b.engine);
  }
};

// The layouts of one site.
struct SiteLayouts {
  PlanSite site;
  Job base;  // a good one of the site; a layout's choices are applied to it
  std::vector<PlanChoice> trainers;
  std::vector<PlanChoice> engines;
  PeakTable table;
  std::vector<double> trainer_seconds;  // the estimate that orders (plan_estimate.hpp)
  std::vector<double> engine_seconds;
  std::int64_t fitting = 0;
};

struct PlanSpace {
  int gpus = 0;
  std::vector<PlanKnob> trainer_knobs;
  std::vector<PlanKnob> engine_knobs;
  std::vector<SiteLayouts> sites;
  std::int64_t written = 0;  // layouts that the knobs can write
  std::int64_t valid = 0;
  std::int64_t fitting = 0;
};

// `keep`: knobs (by name, or "placement", "schedule") that stay as the file has them.
PlanSpace plan_space(ScenarioSource const& source, Job const& file, int gpus,
                     std::vector<std::string> const& keep);

LayoutPeak peak_of(PlanSpace const& s, PlanLayout const& l);
bool fits(PlanSpace const& s, PlanLayout const& l);
// Seconds of a step, roughly: phases one after another, or the slower side where they overlap.
double estimate(PlanSpace const& s, PlanLayout const& l);

// The job of a layout, and what --set makes it of the file.
Job job_of(PlanSpace const& s, PlanLayout const& l);
std::vector<std::string> sets_of(PlanSpace const& s, PlanLayout const& l);

// The layout whose choices are the file's, if it is one of the space.
std::optional<PlanLayout> layout_of_file(PlanSpace const& s, Job const& file);

// Knobs in order: those of the trainer, of the engine, then the site.
std::size_t knob_count(PlanSpace const& s);
std::string knob_name(PlanSpace const& s, std::size_t knob);
std::string value_text(PlanSpace const& s, std::size_t knob, PlanLayout const& l);
// The valid layouts that differ from l in this knob alone.
std::vector<PlanLayout> neighbours(PlanSpace const& s, PlanLayout const& l, std::size_t knob);

}  // namespace rollcast
