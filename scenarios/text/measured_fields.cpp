#include "scenarios/text/measured_fields.hpp"

namespace rollcast {
namespace {

struct Figure {
  std::string_view key;
  Range range;
  std::string_view meaning;
};

constexpr Range kShare{0, 1, false};

constexpr Figure kFigures[] = {
    {"step_seconds", kPositive, "one step, mean"},
    {"wake_seconds", kNotNegative, "engine wake"},
    {"generate_seconds", kNotNegative, "generation"},
    {"sleep_seconds", kNotNegative, "engine sleep"},
    {"score_seconds", kNotNegative, "scoring"},
    {"old_logprob_seconds", kNotNegative, "log-probabilities of the policy"},
    {"reference_seconds", kNotNegative, "log-probabilities of the reference"},
    {"logprob_seconds", kNotNegative, "both log-probability phases together"},
    {"values_seconds", kNotNegative, "values of the critic"},
    {"advantage_seconds", kNotNegative, "advantages"},
    {"update_critic_seconds", kNotNegative, "update of the critic"},
    {"update_actor_seconds", kNotNegative, "update of the actor"},
    {"weight_sync_seconds", kNotNegative, "weights to the engines"},
    {"checkpoint_seconds", kNotNegative, "saving"},
    {"generate_wait_seconds", kNotNegative, "the trainer's GPUs wait for samples of other GPUs"},
    {"experience_seconds", kNotNegative, "generate, score, old_logprob, reference and values"},
    {"update_seconds", kNotNegative, "update_actor and update_critic"},
    {"generate_and_update_seconds", kNotNegative, "generate, update_actor and update_critic"},
    {"refit_seconds", kNotNegative, "weight_sync and wake"},
    {"switch_seconds", kNotNegative, "sleep, wake and weight_sync"},
    {"tokens_per_second_per_gpu", kPositive, "prompt and response tokens over step time and all GPUs"},
    {"samples_per_second", kPositive, "samples over step time"},
    {"gpu_hours_per_step", kPositive, "GPUs times step time"},
    {"mean_response_tokens", kPositive, "mean length of a response"},
    {"peak_gpu_memory_gib", kPositive, "highest memory of one GPU, in GiB"},
    {"peak_torch_memory_gib", kPositive,
     "most that PyTorch held in a trainer's process of one GPU, in GiB: torch.cuda.max_memory_allocated"},
    {"peak_step_torch_memory_gib", kPositive,
     "the same where the counter starts anew with every step, so that it tells of the step's own "
     "micro-batches "
     "and not of the longest that the job allows (torchtune)"},
    {"max_context_tokens", kPositive, "longest sequence that fits, prompt and response, in tokens"},
    {"peak_host_memory_gib", kPositive, "highest memory of one host, in GiB"},
    {"busy_fraction", kShare, "share of the time in which GPUs work"},
    {"mfu", kShare, "model FLOPs over peak FLOPs"},
    {"mbu", kShare, "bytes moved over peak bandwidth"},
    {"requests_per_second", kPositive, "of serving: requests over first arrival to last token"},
    {"output_tokens_per_second", kPositive, "of serving: response tokens over the same time"},
    {"total_tokens_per_second", kPositive, "of serving: prompt and response tokens over the same time"},
    {"goodput", kNotNegative, "of serving: requests per second that keep serve.objective"},
    {"ttft_mean", kNotNegative, "of serving: arrival to first token, mean, in seconds"},
    {"ttft_p50", kNotNegative, "median of it"},
    {"ttft_p90", kNotNegative, "90th percentile of it"},
    {"ttft_p99", kNotNegative, "99th percentile of it"},
    {"tpot_mean", kNotNegative, "of serving: time of a token after the first, mean, in seconds"},
    {"tpot_p50", kNotNegative, "median of it"},
    {"tpot_p90", kNotNegative, "90th percentile of it"},
    {"tpot_p99", kNotNegative, "99th percentile of it"},
    {"latency_mean", kNotNegative, "of serving: arrival to last token, mean, in seconds"},
    {"latency_p50", kNotNegative, "median of it"},
    {"latency_p90", kNotNegative, "90th percentile of it"},
    {"latency_p99", kNotNegative, "99th percentile of it"},
};

}  // namespace

void read_measured(Fields& f, std::optional<Measured>& m) {
  Measured read;
  bool const given =
      f.optional_group("measured", "what a real run showed, to lay beside the forecast", [&](Fields& g) {
        g.text("source", read.source, "where the figures come from");
        g.require("source", "write where the figures come from");
        g.text("grade", read.grade,
               "A: enough is stated for a scenario; B: with assumptions; C: a bound or a trend");
        for (Figure const& figure : kFigures) {
          double value = 0;
          if (!g.has(figure.key) && !g.listing()) {
            g.allow(figure.key);
            continue;
          }
          g.number(figure.key, value, figure.range, figure.meaning);
          if (g.listing()) g.rows().back().fallback.clear();
          read.values.emplace_back(figure.key, value);
        }
      });
  if (given) m = read;
}

}  // namespace rollcast
