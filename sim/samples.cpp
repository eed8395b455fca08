#include "sim/samples.hpp"

#include "models/dataset_samples.hpp"
#include "models/group_signal.hpp"

namespace rollcast {

namespace {

std::vector<StepSample> dataset_samples(Job const& job, std::uint64_t seed, int step) {
  Algorithm const& a = job.algorithm;
  bool const pairs = a.kind == AlgorithmKind::dpo;
  std::vector<StepSample> samples;
  for (DatasetItem const& item : items_of_step(a.kind, job.workload, a.train_batch, seed, step)) {
    auto const add = [&](int response) {
      samples.push_back({.id = static_cast<std::int64_t>(samples.size()),
                         .prompt = static_cast<int>(item.id),
                         .prompt_tokens = item.prompt_tokens,
                         .response_tokens = response,
                         .draw_step = step,
                         .draw_index = static_cast<std::int64_t>(samples.size())});
    };
    add(item.response_tokens);
    if (pairs) add(item.rejected_tokens);
  }
  return samples;
}

}  // namespace

std::vector<StepSample> samples_of_step(Job const& job, std::uint64_t seed, int step, int first,
                                        int prompts) {
  if (!generates(job.algorithm.kind)) return dataset_samples(job, seed, step);
  std::vector<StepSample> samples;
  if (prompts == 0) prompts = job.algorithm.prompts;
  samples.reserve(static_cast<std::size_t>(prompts * job.algorithm.group_size));
  auto const key = [&](Purpose purpose, std::int64_t index) {
    return RandomKey{seed, purpose, static_cast<std::uint32_t>(step), static_cast<std::uint64_t>(index)};
  };
  auto const turns = turn_model(job.score);
  for (int prompt = first; prompt < first + prompts; ++prompt) {
    int const prompt_tokens = sample(job.workload.prompt_tokens, key(Purpose::prompt_length, prompt), step);
    for (int sibling = 0; sibling < job.algorithm.group_size; ++sibling) {
      std::int64_t const id = std::int64_t{prompt} * job.algorithm.group_size + sibling;
      StepSample s{.id = id,
                   .prompt = prompt,
                   .prompt_tokens = prompt_tokens,
                   .response_tokens = sample_correlated(
                       job.workload.response_tokens, key(Purpose::response_length, id),
                       key(Purpose::prompt_difficulty, prompt), job.workload.sibling_correlation, step),
                   .draw_step = step,
                   .draw_index = id};
      if (turns)
        s.observation_tokens = sequence_tokens(turns_of(*turns, seed, s)) - prompt_tokens - s.response_tokens;
      samples.push_back(s);
    }
  }
  return samples;
}

bool has_signal(Job const& job, std::uint64_t seed, int step, std::int64_t prompt) {
  double const equal = job.algorithm.equal_reward_groups;
  if (!(equal > 0)) return true;
  RandomKey const key{seed, Purpose::reward_signal, static_cast<std::uint32_t>(step),
                      static_cast<std::uint64_t>(prompt)};
  return has_signal(equal, key);
}

TimeDistribution distribution_of(ServiceTime const& t, Seconds cut) {
  if (t.p95.value > 0) {
    TimeFit fit = fit_lognormal_time(t.mean, t.p95, cut);
    if (fit.error.empty()) return fit.times;
  }
  return {FixedTime{t.mean}, cut};
}

std::optional<TurnModel> turn_model(Scoring const& score) {
  if (!score.environment) return std::nullopt;
  Environment const& e = *score.environment;
  TurnModel model{.turns = {FixedLength{e.turns}, 0, 0},
                  .observation_tokens = {},
                  .tool = distribution_of(e.tool, {}),
                  .keep_kv = e.keep_kv};
  if (e.observation_tokens > 0) model.observation_tokens.emplace().shape = FixedLength{e.observation_tokens};
  return model;
}

std::vector<Turn> turns_of(TurnModel const& model, std::uint64_t seed, StepSample const& s) {
  return turns_of_sample(model, s.prompt_tokens, s.response_tokens, draw_key(seed, Purpose::turns, s));
}

RandomKey draw_key(std::uint64_t seed, Purpose purpose, StepSample const& s) {
  return {seed, purpose, static_cast<std::uint32_t>(s.draw_step), static_cast<std::uint64_t>(s.draw_index)};
}

Seconds rule_time(Scoring const& score) {
  return score.timeout.value > 0 ? min(score.seconds_per_sample, score.timeout) : score.seconds_per_sample;
}

}  // namespace rollcast
