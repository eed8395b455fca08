#include "reports/ratio_verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

namespace rollcast {
namespace {

std::string change_text(double change) {
  return std::abs(change) < 0.0005 ? std::string("0 %") : fmt::format("{:+.1f} %", 100 * change);
}

std::string size_text(RatioSize const& s) { return fmt::format("{} : {}", s.rollout_gpus, s.train_gpus); }

std::string subject(RatioSide s) { return s == RatioSide::rollout ? "generation" : "the trainer"; }

RatioWhatIf const* what_if(RatioReport const& r, RatioKnob knob) {
  for (RatioWhatIf const& w : r.what_ifs) {
    if (w.knob == knob) return &w;
  }
  return nullptr;
}

bool takes_turns(RatioReport const& r) { return r.schedule == ScheduleKind::synchronous; }

bool is_bound(RatioPoint const& p) { return p.bottleneck && p.bottleneck->limit == RatioLimit::bound; }

std::string balance_sentence(RatioReport const& r) {
  std::string const turns = ": there both phases take as long, but they take turns.";
  std::string const meaning = ": with fewer rollout GPUs generation sets the pace, with more the trainer.";
  if (auto const at = report_balance(r)) {
    std::string out =
        fmt::format("Balance at {:.1f} rollout : {:.1f} train", at->rollout_gpus, at->train_gpus);
    if (at->of_split)
      out += fmt::format(" of {} GPUs (nearest split {})", r.total,
                         size_text(nearest_size(r.split, at->rollout_gpus)));
    else
      out += fmt::format(
          ", {:.2f} rollout GPUs for one that trains; no split of {} GPUs that there can be lies on "
          "both sides of it",
          at->rollout_per_train, r.total);
    return out + (takes_turns(r) ? turns : meaning);
  }
  if (std::all_of(r.split.begin(), r.split.end(), is_bound))
    return fmt::format(
        "No split of {} GPUs balances: at each of them the trainer waits for samples, and more "
        "engines bring them no sooner.",
        r.total);
  if (auto const side = longer_side(r.split))
    return fmt::format("No split of {} GPUs balances: at each of them {} has more to do.", r.total,
                       subject(*side));
  return fmt::format("The splits of {} GPUs have no single balance.", r.total);
}

double gpu_hours_change(RatioPoint const& base, RatioPoint const& p) {
  return p.gpu_hours_per_step / base.gpu_hours_per_step - 1;
}

std::string growth_text(RatioPoint const& base, RatioWhatIf const& w) {
  return fmt::format("{:.0f} -> {:.0f} rollout GPUs change the step by {} and GPU-hours a step by {}", w.from,
                     w.to, change_text(step_change(base, w.point).mean),
                     change_text(gpu_hours_change(base, w.point)));
}

// Whether more rollout GPUs pay, by the rule of the knee.
std::string growth_verdict(RatioPoint const& base, RatioWhatIf const& w) {
  double const gain = -std::log1p(step_change(base, w.point).mean) / std::log(w.to / w.from);
  if (gain >= kLeastGain) return "more rollout GPUs help";
  return gain >= kNoGain ? "more rollout GPUs hardly help" : "more rollout GPUs do not help";
}

std::string pace(RatioPoint const& base) {
  if (base.bottleneck->side == RatioSide::rollout) return "generation is the bottleneck";
  return base.bottleneck->limit == RatioLimit::gpus ? "the trainer is the bottleneck"
                                                    : "the trainer's side is the bottleneck";
}

std::string pace_sentence(RatioReport const& r) {
  RatioPoint const& base = *r.base;
  std::string out =
      fmt::format("At {} rollout : {} train ({}) {}", base.size.rollout_gpus, base.size.train_gpus,
                  r.base_from == RatioBase::file ? "the file's split" : "the fastest split", pace(base));
  if (RatioWhatIf const* w = what_if(r, RatioKnob::rollout_gpus))
    out += fmt::format(": {}; {}", growth_text(base, *w), growth_verdict(base, *w));
  return out + ".";
}

std::string bounds_text(RatioReport const& r) {
  std::string out;
  if (RatioWhatIf const* w = what_if(r, RatioKnob::max_concurrent))
    out += fmt::format("with {:.0f} samples under way the step changes by {}", w->to,
                       change_text(step_change(*r.base, w->point).mean));
  if (RatioWhatIf const* w = what_if(r, RatioKnob::max_staleness))
    out += fmt::format("{}with a staleness bound of {} by {}", out.empty() ? "" : ", ", w->to,
                       change_text(step_change(*r.base, w->point).mean));
  return out;
}

std::string trainer_text(RatioReport const& r) {
  RatioWhatIf const* w = what_if(r, RatioKnob::train_gpus);
  if (w == nullptr) return {};
  return fmt::format("{:.0f} -> {:.0f} trainer GPUs change the step by {} and GPU-hours a step by {}",
                     w->from, w->to, change_text(step_change(*r.base, w->point).mean),
                     change_text(gpu_hours_change(*r.base, w->point)));
}

std::string waiting_text(RatioPoint const& base) {
  return fmt::format(
      "the trainer waits {:.0f} % of its time for the samples that it lets be under way, and more GPUs "
      "bring them no sooner",
      100 * (1 - base.train / base.step));
}

// What else than rollout GPUs would change, and why where GPUs do not.
std::string others_sentence(RatioReport const& r) {
  std::string const parts[] = {trainer_text(r), is_bound(*r.base) ? waiting_text(*r.base) : "",
                               bounds_text(r)};
  std::string out;
  for (std::string const& p : parts) out += (out.empty() || p.empty() ? "" : "; ") + p;
  if (out.empty()) return out;
  out.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(out.front())));
  return out + ".";
}

std::string knee_sentence(RatioReport const& r) {
  if (r.rollout.size() < 2) return {};
  auto const at = knee(r.rollout);
  if (!at)
    return fmt::format("No knee up to {} rollout GPUs beside {} that train.",
                       r.rollout.back().size.rollout_gpus, r.base->size.train_gpus);
  return fmt::format(
      "Knee at {} rollout GPUs beside {} that train{}: beyond it 1 % more of them bring less than "
      "{} % of throughput.",
      *at, r.base->size.train_gpus, *at == r.rollout.front().size.rollout_gpus ? ", the fewest tried" : "",
      kLeastGain);
}

std::string best_sentence(RatioReport const& r) {
  RatioPoint const& fast = r.split[*fastest(r.split)];
  RatioPoint const& cheap = r.split[*cheapest(r.split)];
  std::string out = fmt::format("Fastest split {}: {} a step", size_text(fast.size), format(fast.step));
  out += cheap.size == fast.size ? ", also the cheapest per sample"
                                 : fmt::format("; cheapest per sample {}", size_text(cheap.size));
  if (!(r.base->size == fast.size) && r.base_from == RatioBase::file)
    out += fmt::format("; the file's {} takes {} ({})", size_text(r.base->size), format(r.base->step),
                       change_text(step_change(fast, *r.base).mean));
  return out + ".";
}

std::string turns_text(RatioPoint const& p) {
  return fmt::format("generation {}, training {} and switching {}", format(p.generate), format(p.train),
                     format(p.sync));
}

std::string parts_text(RatioPoint const& p) {
  return fmt::format("generation ({}) and training ({})", format(p.generate), format(p.train));
}

// Of the two, why the faster one is. A synchronous step that generates longer on all GPUs than the pipeline
// does on its part of them waits for its longest responses.
std::string why_text(RatioReport const& r, RatioPoint const& split, bool colocated_wins) {
  RatioPoint const& c = *r.colocated.point;
  std::string const together = fmt::format("on all {} GPUs in turn {}", r.total, turns_text(c));
  if (takes_turns(r))
    return fmt::format("{}; apart {} take turns too, each on its part of the GPUs while the others wait",
                       together, parts_text(split));
  if (colocated_wins)
    return fmt::format(
        "{}; apart {} run side by side, but the longer of them on its part of the GPUs takes more "
        "than both together on all",
        together, parts_text(split));
  std::string out = fmt::format("apart {} run side by side; {}", parts_text(split), together);
  if (split.generate < c.generate)
    out += "; there every step waits for its longest responses, apart they are spread over several steps";
  return out;
}

std::string colocated_sentence(RatioReport const& r) {
  RatioPoint const& best = r.split[*fastest(r.split)];
  if (!r.colocated.point) return fmt::format("Colocated: not possible, {}.", r.colocated.reason);
  RatioPoint const& c = *r.colocated.point;
  RatioChange const change = step_change(best, c);
  std::string const times = fmt::format("{} a step against {}", format(c.step), format(best.step));
  if (!change.sure && c.steps.size() > 1)
    return fmt::format(
        "Colocated (synchronous) on the same {} GPUs: no difference from the fastest split that {} "
        "seeds can tell ({}).",
        r.total, c.steps.size(), times);
  bool const wins = change.mean < 0;
  std::string const who =
      wins ? "beats every split" : fmt::format("loses to the split {}", size_text(best.size));
  return fmt::format("Colocated (synchronous) on the same {} GPUs {}: {} ({}). Why: {}.", r.total, who, times,
                     change_text(change.mean), why_text(r, best, wins));
}

std::string band_sentence(RatioReport const& r) {
  if (r.lengths.size() < 2) return {};
  auto const band = balance_band(r);
  std::size_t const missing = r.lengths.size() - static_cast<std::size_t>(band ? band->lengths : 0);
  std::string const lengths =
      fmt::format("With responses {} to {} times as long", r.lengths.front().factor, r.lengths.back().factor);
  if (!band || band->lengths < 2)
    return fmt::format("{} the balance of {} of {} lengths lies outside of what was tried.", lengths, missing,
                       r.lengths.size());
  std::string out = fmt::format("{} the balance lies between {:.1f} and {:.1f} rollout GPUs", lengths,
                                band->low, band->high);
  if (missing > 0) out += fmt::format("; that of {} of the lengths outside of what was tried", missing);
  return out + ".";
}

std::string no_split_sentence(RatioReport const& r) {
  auto const first = std::find_if(r.infeasible.begin(), r.infeasible.end(),
                                  [](RatioInfeasible const& f) { return f.curve == "split"; });
  if (first == r.infeasible.end()) return fmt::format("No split of {} GPUs can be simulated.", r.total);
  return fmt::format("No split of {} GPUs can be simulated; {}: {}.", r.total, size_text(first->size),
                     first->reason);
}

}  // namespace

std::vector<std::string> ratio_verdict(RatioReport const& r) {
  if (r.split.empty()) return {no_split_sentence(r)};
  std::vector<std::string> all = {balance_sentence(r), pace_sentence(r), others_sentence(r),
                                  knee_sentence(r)};
  if (is_bound(*r.base)) std::swap(all[0], all[1]);
  all.push_back(best_sentence(r));
  all.push_back(colocated_sentence(r));
  all.push_back(band_sentence(r));
  std::erase_if(all, [](std::string const& s) { return s.empty(); });
  return all;
}

}  // namespace rollcast
