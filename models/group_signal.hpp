// GRPO groups whose rewards are all equal have zero advantages and teach nothing: how many, and what DAPO's
// dynamic sampling pays to replace them.
#pragma once

#include <vector>

#include "models/random.hpp"

namespace rollcast {

// The share of groups whose n binary rewards are all equal at pass rate p: p^n + (1 - p)^n. With several
// pass rates (one per kind of prompt) their mean. A group of one sample is compared with nothing and kept
// (verl does so too), so n = 1 gives 0. p outside [0, 1], n < 1 or no pass rate is a std::logic_error.
double equal_reward_share(double pass_rate, int group_size);
double equal_reward_share(std::vector<double> const& pass_rates, int group_size);

// Whether each of `groups` groups has a signal, drawn with the keys first, first + 1, ... (by index); their
// purpose is not looked at. The mean of it is the effective share of the samples.
std::vector<bool> groups_with_signal(int groups, double equal_share, RandomKey first);

// Dynamic sampling as verl's DAPO recipe does it (recipe/dapo/dapo_ray_trainer.py): a round generates
// gen_batch_size prompts and scores them, groups without signal are dropped, and rounds follow each other
// until train_batch_size groups with signal are there; what is beyond them is thrown away. Where
// max_num_gen_batches rounds are not enough the run ends with an error; 0 is no bound. The recipe's
// run_dapo_qwen2.5_32b.sh takes 512 groups of 16, three times as many prompts per round, 10 rounds at most.
struct SamplingRounds {
  int needed = 0;     // groups with signal
  int per_round = 0;  // prompts generated in a round
  int most_rounds = 0;
  double equal_share = 0;
};

// ceil(oversampling x needed), at least 1.
int prompts_per_round(int needed, double oversampling);

struct RoundsDrawn {
  std::vector<int> with_signal;  // groups with signal of each round
  int generated = 0;             // prompts
  int kept = 0;                  // `needed` where enough
  int surplus = 0;               // with signal, but thrown away
  bool enough = false;

  int rounds() const { return static_cast<int>(with_signal.size()); }
};

// One step's rounds; prompt i (counted over the rounds) takes the draw of key first + i.
// Always: generated = kept + surplus + groups without signal.
RoundsDrawn draw_rounds(SamplingRounds const& s, RandomKey first);

struct RoundsExpected {
  double rounds = 0;
  double generated = 0;    // prompts: rounds x per_round
  double with_signal = 0;  // generated x (1 - equal_share), by Wald's identity
  double enough = 0;       // probability that the rounds allowed are enough
};

// Exact: round r + 1 takes place when Binomial(r per_round, 1 - equal_share) < needed, so the mean is the sum
// of those probabilities over r = 0, 1, ... < most_rounds (without a bound: until they are below 1e-15).
// Costs needed x rounds exponentials.
RoundsExpected expect_rounds(SamplingRounds const& s);

// Both: needed or per_round < 1, most_rounds < 0, equal_share outside [0, 1], or 1 without a bound on the
// rounds, is a std::logic_error.

}  // namespace rollcast
