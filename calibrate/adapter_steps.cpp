#include "calibrate/adapter_steps.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "calibrate/profiles.hpp"
#include "models/catalog/catalog.hpp"
#include "models/stage_prices.hpp"

namespace rollcast {
namespace {

constexpr int kFirstLaunch = 16;  // of an eighth
constexpr int kLaunches = 48;
constexpr int kFirstShare = 6;  // of a twentieth
constexpr int kShares = 15;

Job job_of(char const* model, char const* node, int gpus, Adapter adapter, KernelStack kernels,
           Recompute recompute) {
  Architecture const* const a = find_architecture(builtin_catalog(), model);
  Node const* const n = find_node(builtin_catalog(), node);
  if (a == nullptr || n == nullptr) throw std::logic_error("an adapter's step outside the catalog");
  Job job;
  job.model = *a;
  job.cluster.node = *n;
  job.cluster.node.gpus = gpus;
  job.cluster.nodes = 1;
  job.algorithm.kind = AlgorithmKind::sft;
  job.algorithm.adapter = std::move(adapter);
  job.train.kind = gpus > 1 ? TrainerKind::fsdp2 : TrainerKind::ddp;
  job.train.zero_stage = gpus > 1 ? 3 : 0;
  job.train.kernels = kernels;
  job.train.recompute = recompute;
  job.train.cross_entropy = CrossEntropy::fused;
  job.train.master_weights = false;
  return job;
}

// count sequences of so many tokens.
MicroBatch micro_batch(double count, double tokens) {
  auto const all = static_cast<std::int64_t>(count * tokens);
  return {all, all, count * tokens * (tokens + 1) / 2};
}

AdapterStep litgpt(char const* model, double tokens, AdapterKind kind, bool twice, double minutes) {
  Adapter a;
  a.kind = kind;
  a.rank = 8;
  a.targets = {"q", "v"};
  a.dropout = 0.05;
  a.quantization = Quantization::nf4_fp16;
  a.double_quantization = twice;
  Job job = job_of(model, "hgx-a100-40gb", 1, std::move(a), KernelStack::eager, Recompute::none);
  job.train.merged_qkv = true;
  job.train.cross_entropy = CrossEntropy::chunked;
  constexpr double kIterations = 1000;
  return {"S04", std::move(job), 1, micro_batch(1, tokens), seconds(minutes * 60 / kIterations)};
}

AdapterStep qwen(char const* model, AdapterKind kind, double tokens, double measured) {
  constexpr int kAccumulated = 8;
  Adapter a;
  a.kind = kind;
  a.rank = 64;
  a.targets = {"q", "k", "v", "o", "gate", "up", "down"};
  a.dropout = 0.05;
  a.quantization = Quantization::gptq;
  Job job = job_of(model, "hgx-a100", 1, std::move(a), KernelStack::eager, Recompute::full);
  job.train.merged_qkv = true;
  job.train.cross_entropy = CrossEntropy::whole;
  if (kind == AdapterKind::qlora) {
    job.train.kind = TrainerKind::deepspeed;
    job.train.zero_stage = 2;
    job.train.weights = DType::fp16;
  }
  return {"S11", std::move(job), kAccumulated, micro_batch(1, tokens), seconds(measured)};
}

AdapterStep torchtune(char const* source, char const* model, char const* node, int gpus, int rank, bool keys,
                      double pack, double tokens_per_second) {
  constexpr double kExample = 121;
  Adapter a;
  a.kind = AdapterKind::qlora;
  a.rank = rank;
  a.targets = {"q", "v", "o", "gate", "up", "down"};
  if (keys) a.targets.emplace_back("k");
  a.double_quantization = true;
  Job job = job_of(model, node, gpus, std::move(a), KernelStack::compiled, Recompute::full);
  double const tokens = 2 * pack;
  return {source, std::move(job), 1, micro_batch(tokens / kExample, kExample),
          seconds(tokens / tokens_per_second)};
}

std::vector<AdapterStep> all_steps() {
  constexpr AdapterKind kLora = AdapterKind::lora;
  constexpr AdapterKind kQlora = AdapterKind::qlora;
  std::vector<AdapterStep> all = {
      litgpt("llama-2-7b", 133, kLora, false, 2.36),
      litgpt("llama-2-7b", 133, kQlora, false, 3.68),
      litgpt("llama-2-7b", 133, kQlora, true, 3.83),
      litgpt("stablelm-base-alpha-3b", 105, kLora, false, 1.24),
      litgpt("stablelm-base-alpha-3b", 105, kQlora, false, 1.82),
      litgpt("phi-1.5", 107, kLora, false, 1.62),
      torchtune("S01", "llama-3.1-8b", "workstation-4090", 1, 8, true, 2048, 2413),
      torchtune("S01", "llama-3.1-405b", "hgx-a100", 8, 16, false, 2048, 653.0 / 8),
      torchtune("S02", "llama-3.2-3b", "hgx-a100", 1, 64, false, 4096, 8035),
  };
  struct Row {
    char const* model;
    AdapterKind kind;
    double measured[6];  // s, of 256 tokens and of twice as many each further one
  };
  constexpr Row kQwen[] = {{"qwen-1.8b", kLora, {1.0, 1.0, 1.1, 1.7, 3.3, 6.8}},
                           {"qwen-1.8b", kQlora, {1.4, 1.4, 1.4, 2.0, 3.4, 6.5}},
                           {"qwen-7b", kLora, {1.2, 1.5, 2.8, 5.2, 10.1, 21.3}},
                           {"qwen-7b", kQlora, {3.0, 3.0, 3.5, 7.0, 11.6, 22.3}}};
  for (Row const& row : kQwen) {
    double tokens = 256;
    for (double const measured : row.measured) {
      all.push_back(qwen(row.model, row.kind, tokens, measured));
      tokens *= 2;
    }
  }
  return all;
}

// log(forecast / measured) squared of every step at every value that is tried.
struct Tried {
  AdapterFit fit;
  std::vector<double> squares;
};

std::vector<Tried> const& tried() {
  static std::vector<Tried> const all = [] {
    std::vector<Profile> profiles;
    for (AdapterStep const& s : adapter_steps()) profiles.push_back(profile_for(s.job.cluster.node.gpu));
    std::vector<Tried> list;
    for (int launch = kFirstLaunch; launch <= kLaunches; ++launch) {
      for (int share = kFirstShare; share < kFirstShare + kShares; ++share) {
        Tried t{{launch / 8.0, share / 20.0}, {}};
        for (std::size_t i = 0; i < profiles.size(); ++i) {
          profiles[i].eager_launches.value = t.fit.eager_launches;
          profiles[i].dequantization.value = t.fit.dequantization;
          AdapterStep const& s = adapter_steps()[i];
          double const e = std::log(forecast(s, profiles[i]) / s.measured);
          t.squares.push_back(e * e);
        }
        list.push_back(std::move(t));
      }
    }
    return list;
  }();
  return all;
}

}  // namespace

std::vector<AdapterStep> const& adapter_steps() {
  static std::vector<AdapterStep> const all = all_steps();
  return all;
}

Seconds forecast(AdapterStep const& s, Profile const& p) {
  Stage const whole{0, s.job.model.layers, true, true};
  StageTimes const t = stage_times(p, s.job, whole, s.micro_batch);
  return s.micro_batches * (t.forward + t.backward);
}

AdapterFit fit_adapter_steps(std::string const& left_out) {
  AdapterFit best;
  double least = std::numeric_limits<double>::infinity();
  for (Tried const& t : tried()) {
    double sum = 0;
    for (std::size_t i = 0; i < t.squares.size(); ++i) {
      if (adapter_steps()[i].source != left_out) sum += t.squares[i];
    }
    if (sum >= least) continue;
    least = sum;
    best = t.fit;
  }
  return best;
}

}  // namespace rollcast
