#include "reports/plan_search.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "models/random.hpp"

namespace rollcast {
namespace {

constexpr std::size_t kRandomStarts = 4;
constexpr std::size_t kDescents = 3;
constexpr std::size_t kPairs = 24;
constexpr std::size_t kMostSweeps = 8;
constexpr std::size_t kTriedAtMinimum = 16;
constexpr double kEqual = 1e-6;   // relative, of times that are the same
constexpr double kNever = 1e300;  // seconds, below those of what does not run

// Every layout that fits, in the order of the space.
template <class F>
void for_each_fitting(PlanSpace const& s, F const& f) {
  for (std::size_t i = 0; i < s.sites.size(); ++i) {
    for (std::size_t t = 0; t < s.sites[i].trainers.size(); ++t) {
      for (std::size_t e = 0; e < s.sites[i].engines.size(); ++e) {
        PlanLayout const l{i, t, e};
        if (fits(s, l)) f(l);
      }
    }
  }
}

bool same(PlanLayout const& a, PlanLayout const& b) { return !(a < b) && !(b < a); }

// The n least of a value, equal ones in the order of the space.
class Least {
 public:
  explicit Least(std::size_t n) : n_(n) {}
  void offer(double value, PlanLayout const& l) {
    if (kept_.size() == n_ && !(value < kept_.rbegin()->first)) return;
    kept_.insert({value, l});
    if (kept_.size() > n_) kept_.erase(std::prev(kept_.end()));
  }
  std::vector<PlanLayout> layouts() const {
    std::vector<PlanLayout> out;
    for (auto const& [value, l] : kept_) out.push_back(l);
    return out;
  }

 private:
  std::size_t n_;
  std::multimap<double, PlanLayout> kept_;
};

std::vector<PlanLayout> starts(PlanSpace const& s, PlanSearchOptions const& options) {
  std::vector<Least> best(s.sites.size(), Least(1));
  std::vector<std::uint64_t> drawn;
  for (std::size_t i = 0; i < kRandomStarts; ++i)
    drawn.push_back(random_bits({options.seed, Purpose::jitter, 0, i}) %
                    static_cast<std::uint64_t>(std::max<std::int64_t>(1, s.fitting)));
  std::vector<PlanLayout> out;
  std::vector<PlanLayout> random;
  std::uint64_t index = 0;
  for_each_fitting(s, [&](PlanLayout const& l) {
    best[l.site].offer(estimate(s, l), l);
    if (std::find(drawn.begin(), drawn.end(), index) != drawn.end()) random.push_back(l);
    ++index;
  });
  for (Least const& b : best) {
    for (PlanLayout const& l : b.layouts()) out.push_back(l);
  }
  out.insert(out.end(), random.begin(), random.end());
  if (options.file && fits(s, *options.file)) out.push_back(*options.file);
  return out;
}

std::vector<PlanLayout> only_fitting(PlanSpace const& s, std::vector<PlanLayout> layouts) {
  std::erase_if(layouts, [&](PlanLayout const& l) { return !fits(s, l); });
  return layouts;
}

PlanLayout fastest(PlanRuns const& runs, PlanLayout best, std::vector<PlanLayout> const& others) {
  for (PlanLayout const& l : others) {
    if (runs.seconds(l) < runs.seconds(best)) best = l;
  }
  return best;
}

PlanLayout descend(PlanRuns& runs, PlanLayout at) {
  PlanSpace const& s = runs.space();
  for (std::size_t sweep = 0; sweep < kMostSweeps; ++sweep) {
    PlanLayout const before = at;
    for (std::size_t knob = 0; knob < knob_count(s); ++knob) {
      std::vector<PlanLayout> const others = only_fitting(s, neighbours(s, at, knob));
      runs.need(others);
      at = fastest(runs, at, others);
    }
    if (same(before, at)) break;
  }
  return at;
}

// Two changes at once, where neither alone helps or fits.
PlanLayout by_pairs(PlanRuns& runs, PlanLayout at) {
  PlanSpace const& s = runs.space();
  Least promising(kPairs);
  std::set<PlanLayout> seen;
  for (std::size_t a = 0; a < knob_count(s); ++a) {
    for (PlanLayout const& one : neighbours(s, at, a)) {
      for (std::size_t b = a + 1; b < knob_count(s); ++b) {
        for (PlanLayout const& two : neighbours(s, one, b)) {
          if (seen.insert(two).second && fits(s, two)) promising.offer(estimate(s, two), two);
        }
      }
    }
  }
  std::vector<PlanLayout> const others = promising.layouts();
  runs.need(others);
  return fastest(runs, at, others);
}

double room(PlanSpace const& s, PlanLayout const& l) { return peak_of(s, l).headroom.value; }

int longer_steps(PlanSpace const& s, PlanLayout const& l) {
  return s.sites[l.site].site.schedule == ScheduleKind::synchronous ? 3 : 4;
}

}  // namespace

double seconds_per_sample(Headline const& h) {
  bool const good = is_complete(h) && h.samples_per_second > 0;
  return good ? 1 / h.samples_per_second : std::numeric_limits<double>::infinity();
}

void PlanRuns::need(std::vector<PlanLayout> const& layouts) {
  std::vector<PlanLayout> fresh;
  for (PlanLayout const& l : layouts) {
    bool const known = first_.count(l) > 0 || std::any_of(fresh.begin(), fresh.end(),
                                                          [&](PlanLayout const& f) { return same(f, l); });
    if (!known) fresh.push_back(l);
  }
  std::vector<std::pair<std::vector<std::string>, int>> tasks;
  for (PlanLayout const& l : fresh) {
    bool const at_once = space_->sites[l.site].site.schedule == ScheduleKind::synchronous;
    tasks.emplace_back(sets_of(*space_, l), at_once ? 1 : 2);
  }
  std::vector<Headline> const headlines = forecasts_(tasks);
  for (std::size_t i = 0; i < fresh.size(); ++i) first_[fresh[i]] = headlines.at(i);
}

std::vector<Headline> PlanRuns::longer(std::vector<PlanLayout> const& layouts) const {
  std::vector<std::pair<std::vector<std::string>, int>> tasks;
  for (PlanLayout const& l : layouts) tasks.emplace_back(sets_of(*space_, l), longer_steps(*space_, l));
  return forecasts_(tasks);
}

std::vector<PlanLayout> PlanRuns::ranking() const {
  std::vector<PlanLayout> out;
  for (auto const& [l, h] : first_) out.push_back(l);
  std::stable_sort(out.begin(), out.end(),
                   [this](PlanLayout const& a, PlanLayout const& b) { return seconds(a) < seconds(b); });
  return out;
}

bool search(PlanRuns& runs, PlanSearchOptions const& options) {
  PlanSpace const& s = runs.space();
  if (options.exhaustive || s.fitting <= static_cast<std::int64_t>(options.small)) {
    std::vector<PlanLayout> all;
    for_each_fitting(s, [&](PlanLayout const& l) { all.push_back(l); });
    runs.need(all);
    return true;
  }
  runs.need(starts(s, options));
  std::vector<PlanLayout> from = runs.ranking();
  if (from.size() > kDescents) from.resize(kDescents);
  for (PlanLayout const& l : from) descend(runs, l);
  for (std::size_t i = 0; i < kMostSweeps; ++i) {
    PlanLayout const best = runs.ranking().front();
    PlanLayout const better = by_pairs(runs, best);
    if (same(best, better)) break;
    descend(runs, better);
  }
  return false;
}

std::vector<PlanResult> confirmed(PlanRuns const& runs, std::size_t count,
                                  std::optional<ScheduleKind> schedule) {
  PlanSpace const& s = runs.space();
  std::vector<PlanLayout> candidates;
  for (PlanLayout const& l : runs.ranking()) {
    if (!(runs.seconds(l) < kNever) || (schedule && s.sites[l.site].site.schedule != *schedule)) continue;
    bool const again =
        !candidates.empty() && runs.seconds(l) <= runs.seconds(candidates.back()) * (1 + kEqual);
    if (!again) {
      candidates.push_back(l);
    } else if (room(s, candidates.back()) < room(s, l)) {
      candidates.back() = l;
    }
  }
  std::vector<PlanResult> out;
  for (std::size_t next = 0; next < candidates.size() && out.size() < count;) {
    std::size_t const end = std::min(candidates.size(), next + count - out.size());
    std::vector<PlanLayout> const batch(candidates.begin() + static_cast<std::ptrdiff_t>(next),
                                        candidates.begin() + static_cast<std::ptrdiff_t>(end));
    std::vector<Headline> const headlines = runs.longer(batch);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (seconds_per_sample(headlines[i]) < kNever) out.push_back({batch[i], headlines[i]});
    }
    next = end;
  }
  std::stable_sort(out.begin(), out.end(), [](PlanResult const& a, PlanResult const& b) {
    return seconds_per_sample(a.headline) < seconds_per_sample(b.headline);
  });
  return out;
}

std::optional<PlanResult> one_that_runs(PlanRuns const& runs) {
  PlanSpace const& s = runs.space();
  Least quick(kTriedAtMinimum / 2);
  Least roomy(kTriedAtMinimum / 2);
  for_each_fitting(s, [&](PlanLayout const& l) {
    quick.offer(estimate(s, l), l);
    roomy.offer(-room(s, l), l);
  });
  std::vector<PlanLayout> tried = quick.layouts();
  for (PlanLayout const& l : roomy.layouts()) tried.push_back(l);
  std::optional<PlanResult> best;
  std::vector<Headline> const headlines = runs.longer(tried);
  for (std::size_t i = 0; i < tried.size(); ++i) {
    bool const better = !best || seconds_per_sample(headlines[i]) < seconds_per_sample(best->headline);
    if (seconds_per_sample(headlines[i]) < kNever && better) best = PlanResult{tried[i], headlines[i]};
  }
  return best;
}

}  // namespace rollcast
