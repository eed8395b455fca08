#include "reports/commands/memory_advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "calibrate/profiles.hpp"
#include "models/adapter_memory.hpp"
#include "models/engine_start.hpp"
#include "models/peak_table.hpp"
#include "models/pools.hpp"
#include "models/training.hpp"
#include "reports/analysis.hpp"
#include "reports/run_apart.hpp"
#include "reports/step_peak.hpp"
#include "sim/simulate.hpp"

namespace rollcast {
namespace {

constexpr std::size_t kMostRuns = 16;
constexpr std::size_t kMostTogether = 8;
constexpr double kLeastUtilization = 0.2;

struct Trial {
  MemoryChange change;
  Scenario scenario;
  bool fits = false;
};

class Overrides {
 public:
  template <typename T>
  void add(std::string_view key, T const& value, bool wanted = true) {
    if (wanted) all.push_back(fmt::format("{}={}", key, value));
  }
  void halve(std::string_view key, int value, bool wanted = true) {
    add(key, value / 2, wanted && value > 1);
  }

  std::vector<std::string> all;
};

void add_trainer(Overrides& o, Job const& job) {
  TrainerOptions const& t = job.train;
  bool const megatron = t.kind == TrainerKind::megatron;
  o.add("train.recompute", "selective", t.recompute == Recompute::none);
  o.add("train.recompute", "full", t.recompute != Recompute::full);
  o.halve("train.micro_batch", t.micro_batch);
  o.halve("train.logprob_micro_batch", t.logprob_micro_batch);
  o.halve("train.tokens_per_micro_batch", t.tokens_per_micro_batch, t.dynamic_batching);
  o.halve("train.logprob_tokens_per_micro_batch", t.logprob_tokens_per_micro_batch, t.dynamic_batching);
  bool const whole = t.cross_entropy == CrossEntropy::whole;
  o.add("train.cross_entropy", "fused", whole);
  o.add("train.cross_entropy", "linear", !megatron && t.cross_entropy != CrossEntropy::linear);
  o.add("train.sequence_parallel", "true", megatron && t.parallel.tp > 1 && !t.sequence_parallel);
  o.add("train.gradients", "bf16", t.gradients == DType::fp32);
  o.add("train.distributed_optimizer", "true", megatron && !t.distributed_optimizer);
  if (t.kind == TrainerKind::deepspeed) {
    for (int stage = t.zero_stage + 1; stage <= 3; ++stage) o.add("train.zero_stage", stage);
  }
  o.add("train.trainer", "fsdp2", t.kind == TrainerKind::ddp && total_gpus(job) > 1);
  o.add("train.trainer", "ddp", t.kind == TrainerKind::fsdp2 && total_gpus(job) == 1);
  if (colocated(job)) {
    o.add("framework.empty_cache", "true", !job.framework.empty_cache);
    o.add("framework.optimizer_offload", "true", !job.framework.optimizer_offload);
    o.add("framework.parameters_offload", "true", !job.framework.parameters_offload);
  }
  o.add("train.offload.optimizer", "true", !t.offload.optimizer);
  o.add("train.parallel.tp", 2 * t.parallel.tp);
  o.add("train.parallel.pp", 2 * t.parallel.pp, megatron);
  o.add("train.parallel.cp", 2 * t.parallel.cp);
}

void add_engine(Overrides& o, Job const& job) {
  EngineOptions const& e = job.rollout;
  for (double const change : {-0.1, -0.2, 0.1}) {
    double const share = e.gpu_memory_utilization + change;
    if (share >= kLeastUtilization && share <= 0.95)
      o.add("rollout.gpu_memory_utilization", fmt::format("{:.2f}", share));
  }
  o.add("rollout.sleep_level", 2, colocated(job) && e.sleep_level == 1);
  o.halve("rollout.max_num_seqs", e.max_num_seqs);
  o.halve("rollout.max_num_batched_tokens", e.max_num_batched_tokens);
  o.add("rollout.parallel.tp", 2 * e.parallel.tp);
}

// The most slots with which an engine starts; 0: with none.
int most_slots(Job job) {
  ServedAdapters& adapters = job.serve->adapters;
  int fits = 0;
  int fails = adapter_slots(job).count;
  adapters.pool_bytes = {};
  while (fails - fits > 1) {
    adapters.slots = fits + (fails - fits) / 2;
    (engine_start(job).refusal.empty() ? fits : fails) = adapters.slots;
  }
  return fits;
}

// Fewer slots where the engine refuses to start, fewer adapters in a host that is too small.
void add_serving(Overrides& o, Job const& job) {
  ServedAdapters const& adapters = job.serve->adapters;
  AdapterSlots const slots = adapter_slots(job);
  if (slots.count > 1 && !engine_start(job).refusal.empty()) {
    int const most = most_slots(job);
    bool const told_as_bytes = adapters.pool_bytes.value > 0;
    o.add("serve.adapters.slots", most, most > 0 && !told_as_bytes);
    o.add("serve.adapters.pool_bytes", fmt::format("{:.0f}B", (slots.each * most).value),
          most > 0 && told_as_bytes);
  }
  Bytes const hosted = adapters_on_host(job.model, adapters);
  Bytes const room = usable_host_memory(job);
  bool const all = adapters.host_adapters == 0 || adapters.host_adapters >= adapters.count;
  double const most = (all ? adapters.count : adapters.host_adapters) * (room / hosted);
  o.add("serve.adapters.host_adapters", static_cast<int>(most), hosted > room && most >= 1);
}

// The scenario with the overrides, whether it fits or not; nothing where they make a bad one.
std::optional<Trial> read_trial(ScenarioArguments const& arguments, std::vector<std::string> const& sets) {
  ScenarioOptions options = arguments.options;
  options.sets.insert(options.sets.end(), sets.begin(), sets.end());
  ScenarioResult read = read_scenario_file(arguments.file, options);
  if (!read.problems.empty() || !read.scenario) return std::nullopt;
  MemoryForecast const f = forecast_memory(*read.scenario);
  return Trial{{sets, least_headroom(f), std::nullopt}, std::move(*read.scenario), memory_verdict(f).fits};
}

std::optional<Trial> trial(ScenarioArguments const& arguments, std::vector<std::string> const& sets) {
  auto t = read_trial(arguments, sets);
  return t && t->fits ? std::move(t) : std::nullopt;
}

// Keys of the same name exclude each other.
bool same_key(std::string const& a, std::string const& b) {
  return a.substr(0, a.find('=')) == b.substr(0, b.find('='));
}

// One change after another, each the one that leaves most room.
std::optional<Trial> one_after_another(ScenarioArguments const& arguments, Job job) {
  std::vector<std::string> sets;
  Bytes room(-1e18);
  for (std::size_t n = 0; n < kMostTogether; ++n) {
    std::optional<Trial> best;
    for (std::string const& o : memory_overrides(job)) {
      std::vector<std::string> with = sets;
      std::erase_if(with, [&](std::string const& set) { return same_key(set, o); });
      with.push_back(o);
      auto t = read_trial(arguments, with);
      if (t && (!best || best->change.headroom < t->change.headroom)) best = std::move(t);
    }
    if (!best || best->change.headroom <= room) return std::nullopt;
    if (best->fits) return best;
    room = best->change.headroom;
    sets = best->change.sets;
    job = best->scenario.job;
  }
  return std::nullopt;
}

std::vector<Trial> trials_of(ScenarioArguments const& arguments, Job const& job, std::size_t most) {
  std::vector<std::string> const overrides = memory_overrides(job);
  std::vector<Trial> out;
  for (std::string const& o : overrides) {
    if (auto t = trial(arguments, {o})) out.push_back(std::move(*t));
  }
  if (out.size() >= most) return out;
  auto const fits_alone = [&](std::string const& o) {
    return std::any_of(out.begin(), out.end(),
                       [&](Trial const& t) { return t.change.sets.size() == 1 && t.change.sets[0] == o; });
  };
  for (std::size_t i = 0; i < overrides.size() && out.size() < kMostRuns; ++i) {
    for (std::size_t j = i + 1; j < overrides.size() && out.size() < kMostRuns; ++j) {
      if (same_key(overrides[i], overrides[j]) || fits_alone(overrides[i]) || fits_alone(overrides[j]))
        continue;
      if (auto t = trial(arguments, {overrides[i], overrides[j]})) out.push_back(std::move(*t));
    }
  }
  if (out.empty()) {
    if (auto t = one_after_another(arguments, job)) out.push_back(std::move(*t));
  }
  return out;
}

constexpr std::string_view kOutOfMemory = "oom";

// Two steps: the optimizer's states are made in the first.
std::string gpu_hours_text(Scenario const& s) {
  Analysis const a =
      analyse(simulate(s, profiles_for(s.job), {.steps = 2, .memory_as_dealt = measures_step_peak(s)}));
  if (a.outcome == Outcome::oom) return std::string(kOutOfMemory);
  return a.outcome == Outcome::completed ? fmt::format("{:.17g}", a.gpu_hours_per_step) : "";
}

// false: it does not fit after all, as the run follows PyTorch's allocator.
bool price(Trial& t) {
  if (!check_simulated(t.scenario).empty()) return true;
  ApartResult const r = run_apart([&] { return gpu_hours_text(t.scenario); });
  if (r.text == kOutOfMemory) return false;
  double hours = 0;
  auto const [end, error] = std::from_chars(r.text.data(), r.text.data() + r.text.size(), hours);
  if (r.error.empty() && error == std::errc()) t.change.gpu_hours = hours;
  return true;
}

bool is_cheaper(Trial const& a, Trial const& b) {
  if (a.change.gpu_hours.has_value() != b.change.gpu_hours.has_value()) return a.change.gpu_hours.has_value();
  if (a.change.gpu_hours) return *a.change.gpu_hours < *b.change.gpu_hours;
  return false;
}

}  // namespace

std::vector<std::string> memory_overrides(Job const& job) {
  Overrides o;
  if (job.serve)
    add_serving(o, job);
  else
    add_trainer(o, job);
  if (has_rollout(job.algorithm)) add_engine(o, job);
  if (job.pools.empty()) o.add("cluster.nodes", 2 * job.cluster.nodes);
  return std::move(o.all);
}

std::vector<MemoryChange> cheapest_changes(ScenarioArguments const& arguments, Job const& job,
                                           std::size_t most) {
  std::vector<Trial> trials = trials_of(arguments, job, most);
  if (trials.size() > kMostRuns) trials.erase(trials.begin() + kMostRuns, trials.end());
  std::vector<Trial> priced;
  for (Trial& t : trials) {
    if (price(t)) priced.push_back(std::move(t));
  }
  trials = std::move(priced);
  std::stable_sort(trials.begin(), trials.end(), is_cheaper);
  std::vector<MemoryChange> out;
  for (Trial& t : trials) {
    if (out.size() < most) out.push_back(std::move(t.change));
  }
  return out;
}

}  // namespace rollcast
