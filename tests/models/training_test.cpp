#include "models/training.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "models/layer_prices.hpp"
#include "price_fixtures.hpp"

namespace rollcast {
namespace {

// Llama-3.1-8B: weights of the products per layer 2 x 4096 x 4096 (q, o) + 2 x 1024 x 4096 (k, v)
// + 3 x 4096 x 14336 = 218,103,808; lm_head 128,256 x 4,096 = 525,336,576.
constexpr double kLayerWeights = 218103808;
constexpr double kHeadWeights = 525336576;
constexpr double kTokens = 4096;
constexpr double kPairs = 4096.0 * 4097 / 2;
constexpr double kAttentionPerPair = 4.0 * 32 * 128;  // 2 x 32 heads x (128 + 128)
// Passes of a layer as Megatron runs them, bytes per token. Forward: norms 2 x 4 and adds 2 x 6 of 4096,
// rotation 4 x (32 + 8) x 128, queries cut out 4 x 4096, activation 6 x 14336. Backward: 2 x 6 and 2 x 6 of
// 4096, the rotation's and the queries' alike, q, k and v put together 4 x 48 x 128, activation 10 x 14336.
constexpr double kLayerPass = 32768.0 + 49152 + 20480 + 16384 + 86016;
constexpr double kLayerPassBack = 49152.0 + 49152 + 20480 + 16384 + 24576 + 143360;
constexpr double kRate = 0.8 * 989e12 * 0.9;
constexpr double kPass = 0.5 * 3.35e12;
constexpr double kStream = 0.9 * 3.35e12;
constexpr double kEager = 4 * 5e-6;  // host time of one operation of the loss

MicroBatch one_sequence(std::int64_t tokens) {
  double const l = static_cast<double>(tokens);
  return {tokens, tokens, l * (l + 1) / 2};
}

Stage whole(Job const& job) { return pipeline_stages(job.model, 1).front(); }

TEST(Stages, LayersAreSharedAndTheEndsHaveTheirParts) {
  Architecture a;
  a.layers = 10;
  auto const stages = pipeline_stages(a, 4);
  ASSERT_EQ(stages.size(), 4U);
  int const layers[] = {3, 3, 2, 2};
  int first = 0;
  for (int i = 0; i < 4; ++i) {
    Stage const& s = stages[static_cast<std::size_t>(i)];
    EXPECT_EQ(s.first_layer, first);
    EXPECT_EQ(s.layers, layers[i]);
    EXPECT_EQ(s.has_embedding, i == 0);
    EXPECT_EQ(s.has_lm_head, i == 3);
    first += s.layers;
  }
}

TEST(StageTimes, FlopsAreThoseOfTheModel) {
  Job const job = llama_job(2);
  StageTimes const t = stage_times(round_profile(), job, whole(job), one_sequence(4096));
  double const products = 2 * kTokens * (32 * kLayerWeights + kHeadWeights);
  double const attention = 32 * kPairs * kAttentionPerPair;
  EXPECT_NEAR(t.forward_flops.value, products + attention, 1);
  EXPECT_NEAR(t.backward_flops.value, 2 * (products + attention), 1);
  // The rule of thumb 6 P per token, P = 8.03e9 parameters.
  double const rule = 6 * 8.030261248e9 * kTokens;
  EXPECT_NEAR((t.forward_flops + t.backward_flops).value / rule, 1, 0.03);
}

TEST(StageTimes, ForwardAndBackwardByHand) {
  Job const job = llama_job(2);
  StageTimes const t = stage_times(round_profile(), job, whole(job), one_sequence(4096));
  double const products = 2 * kTokens * (32 * kLayerWeights + kHeadWeights) / kRate;
  double const attention = 32 * kPairs * kAttentionPerPair / (0.5 * 989e12 * 0.9);
  double const attention_back = 2.5 * 32 * kPairs * kAttentionPerPair / (0.4 * 989e12 * 0.9);
  // Embedding and final norm: 2 x 4096 x 2 bytes a token each.
  double const passes = kTokens * (32 * kLayerPass + 2 * 16384) / kStream;
  double const passes_back = kTokens * (32 * kLayerPassBack + 4 * 16384) / kStream;
  // A policy's loss over fp32 logits, Megatron's cross entropy and the temperature: 42 + 8 and 18 + 8 B. bf16
  // gradients added up in a pass of their own: 6 B a weight.
  double const logits = kTokens * 128256;
  double const added = (32 * kLayerWeights + kHeadWeights) * 6 / kStream;
  double const forward = products + attention + passes + logits * 50 / kStream + 80 * kEager;
  double const backward =
      2 * products + attention_back + passes_back + logits * 26 / kStream + added + 60 * kEager;
  EXPECT_NEAR(t.forward.value, forward, 1e-9 * forward);
  EXPECT_NEAR(t.backward.value, backward, 1e-9 * backward);
  EXPECT_LE(t.forward_communication, Seconds(0));
}

TEST(StageTimes, OldAttentionKernelsAreSlowerOnHopperAlone) {
  Job job = llama_job(2);
  StageTimes const latest = stage_times(round_profile(), job, whole(job), one_sequence(4096));
  job.train.flash_attention_2 = true;
  StageTimes const old = stage_times(round_profile(), job, whole(job), one_sequence(4096));
  double const attention = 32 * kPairs * kAttentionPerPair / (0.5 * 989e12 * 0.9);
  double const attention_back = 2.5 * 32 * kPairs * kAttentionPerPair / (0.4 * 989e12 * 0.9);
  EXPECT_NEAR((old.forward - latest.forward).value, 0.75 * attention, 1e-9);
  EXPECT_NEAR((old.backward - latest.backward).value, 0.6 * attention_back, 1e-9);
  Profile ampere = round_profile();
  ampere.gpu = *find_gpu(builtin_catalog(), "a100-sxm-80gb");
  StageTimes const a = stage_times(ampere, job, whole(job), one_sequence(4096));
  job.train.flash_attention_2 = false;
  EXPECT_DOUBLE_EQ(stage_times(ampere, job, whole(job), one_sequence(4096)).forward.value, a.forward.value);
}

TEST(StageTimes, TensorParallelChunksHideAllButTheFirst) {
  Job job = llama_job(1);
  job.train.parallel.tp = 4;
  job.train.sequence_parallel = true;
  Seconds const apart =
      stage_times(round_profile(), job, whole(job), one_sequence(4096)).backward_communication;
  job.train.overlap_tensor_parallel = true;
  Seconds const beside =
      stage_times(round_profile(), job, whole(job), one_sequence(4096)).backward_communication;
  EXPECT_NEAR(beside.value, apart.value / 4, 1e-12);
}

TEST(StageTimes, UlyssesExchangesHeadsForTokens) {
  Job job = llama_job(1);
  job.train.parallel.cp = 2;
  job.train.context_parallel = ContextParallel::ulysses;
  StageTimes const t = stage_times(round_profile(), job, whole(job), one_sequence(4096));
  // Per layer and direction, of 2,048 tokens: queries and output 2048 x 4096 x 2 B, keys and values 2048 x
  // 1024 x 2 B; half of each over 337.5 GB/s, one step of latency 7.2 us.
  double const queries = 7.2e-6 + 0.5 * 2048 * 4096 * 2 / 337.5e9;
  double const keys = 7.2e-6 + 0.5 * 2048 * 1024 * 2 / 337.5e9;
  EXPECT_NEAR(t.forward_communication.value, 32 * 2 * (queries + keys), 1e-9);
  EXPECT_NEAR(t.backward_communication.value, 32 * 2 * (queries + keys), 1e-9);
}

TEST(StageTimes, LogprobsAreAForward) {
  Job const job = llama_job(2);
  MicroBatch const m = one_sequence(2000);
  StageTimes const t = stage_times(round_profile(), job, whole(job), m);
  StageTimes const l = logprob_times(round_profile(), job, whole(job), m);
  EXPECT_DOUBLE_EQ(l.forward.value, t.forward.value);
  EXPECT_LE(l.backward, Seconds(0));
  EXPECT_LE(l.backward_flops, Flops(0));
}

TEST(StageTimes, ManyMicroBatchesCostWhatEachDoes) {
  Job const job = llama_job(2);
  std::vector<MicroBatch> const batches{one_sequence(100), one_sequence(4000), one_sequence(17)};
  Profile const profile = round_profile();
  CollectivePrices collectives(profile, job.cluster);
  auto const many = stage_times(profile, collectives, job, whole(job), batches);
  auto const logprobs = logprob_times(profile, collectives, job, whole(job), batches);
  ASSERT_EQ(many.size(), 3U);
  ASSERT_EQ(logprobs.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    StageTimes const one = stage_times(round_profile(), job, whole(job), batches[i]);
    EXPECT_DOUBLE_EQ(many[i].forward.value, one.forward.value);
    EXPECT_DOUBLE_EQ(many[i].backward.value, one.backward.value);
    EXPECT_DOUBLE_EQ(logprobs[i].forward.value, one.forward.value);
  }
}

TEST(StageTimes, RecomputationAddsAForwardOfTheLayers) {
  Job job = llama_job(2);
  MicroBatch const m = one_sequence(4096);
  StageTimes const none = stage_times(round_profile(), job, whole(job), m);
  job.train.recompute = Recompute::full;
  StageTimes const full = stage_times(round_profile(), job, whole(job), m);
  double const layers = 2 * kTokens * 32 * kLayerWeights / kRate +
                        32 * kPairs * kAttentionPerPair / (0.5 * 989e12 * 0.9) +
                        kTokens * 32 * kLayerPass / kStream;
  EXPECT_NEAR((full.backward - none.backward).value, layers, 1e-9 * layers);
  EXPECT_DOUBLE_EQ(full.backward_flops.value, none.backward_flops.value);
  job.train.recompute = Recompute::selective;
  StageTimes const selective = stage_times(round_profile(), job, whole(job), m);
  double const attention = 32 * kPairs * kAttentionPerPair / (0.5 * 989e12 * 0.9);
  EXPECT_NEAR((selective.backward - none.backward).value, attention, 1e-9 * attention);
}

TEST(StageTimes, StagesSumToTheWhole) {
  Job job = llama_job(2);
  MicroBatch const m = one_sequence(3000);
  StageTimes const one = stage_times(round_profile(), job, whole(job), m);
  job.train.parallel.pp = 4;
  Seconds forward;
  Flops flops;
  for (Stage const& s : pipeline_stages(job.model, 4)) {
    StageTimes const t = stage_times(round_profile(), job, s, m);
    forward += t.forward;
    flops += t.backward_flops;
  }
  EXPECT_NEAR(forward.value, one.forward.value, 1e-12);
  EXPECT_NEAR(flops.value, one.backward_flops.value, 1e3);
}

TEST(StageTimes, TensorParallelCommunicationByHand) {
  Job job = llama_job(1);
  job.train.parallel.tp = 8;
  MicroBatch const m = one_sequence(4096);
  StageTimes const t = stage_times(round_profile(), job, whole(job), m);
  // Two all-reduces in each of 32 layers and one behind the embedding: 4096 x 4096 x 2 B = 33.55 MB at 337.5
  // GB/s, 2 x 7/8; three of 4 B per token behind lm_head. Backward: two a layer and one before lm_head.
  double const all_reduce = 15e-6 + 1.75 * 4096 * 4096 * 2 / 337.5e9;
  double const small = 15e-6 + 1.75 * 4096 * 4 / 337.5e9;
  EXPECT_NEAR(t.forward_communication.value, 65 * all_reduce + 3 * small, 1e-9);
  EXPECT_NEAR(t.backward_communication.value, 65 * all_reduce, 1e-9);
  // Sequence parallelism moves the same bytes in two collectives of 10.8 us each and cuts the stream's
  // passes.
  job.train.sequence_parallel = true;
  StageTimes const s = stage_times(round_profile(), job, whole(job), m);
  double const pair = 2 * (10.8e-6 + 0.875 * 4096 * 4096 * 2 / 337.5e9);
  EXPECT_NEAR(s.backward_communication.value, 65 * pair, 1e-9);
  EXPECT_LT(s.forward - s.forward_communication, t.forward - t.forward_communication);
}

TEST(StageTimes, MoreRanksNeverComputeLonger) {
  for (char const* name : {"llama-3.1-8b", "qwen3-30b-a3b", "qwen3.5-9b"}) {
    Job job = llama_job(2);
    job.model = catalog_model(name);
    Seconds last(1e9);
    for (int const tp : {1, 2, 4, 8}) {
      job.train.parallel.tp = tp;
      StageTimes const t = stage_times(round_profile(), job, whole(job), one_sequence(4096));
      Seconds const compute = t.forward - t.forward_communication + t.backward - t.backward_communication;
      EXPECT_LE(compute, last) << name << " tp " << tp;
      last = compute;
    }
  }
}

TEST(StageTimes, TimeNeverFallsWithMoreTokens) {
  for (char const* name : {"llama-3.1-8b", "qwen3-30b-a3b", "qwen3.5-9b", "deepseek-v3"}) {
    Job job = llama_job(2);
    job.model = catalog_model(name);
    StageTimes last;
    for (std::int64_t tokens = 1; tokens < 40000; tokens = tokens * 3 / 2 + 1) {
      StageTimes const t = stage_times(round_profile(), job, whole(job), one_sequence(tokens));
      EXPECT_GE(t.forward, last.forward) << name << ' ' << tokens;
      EXPECT_GE(t.backward, last.backward) << name << ' ' << tokens;
      EXPECT_GE(t.forward_flops, last.forward_flops);
      last = t;
    }
  }
}

TEST(StageTimes, PaddingIsComputedButNotUseful) {
  Job const job = llama_job(2);
  MicroBatch padded = one_sequence(4096);
  padded.useful_tokens = 2048;
  StageTimes const full = stage_times(round_profile(), job, whole(job), one_sequence(4096));
  StageTimes const half = stage_times(round_profile(), job, whole(job), padded);
  EXPECT_DOUBLE_EQ(half.forward.value, full.forward.value);
  EXPECT_DOUBLE_EQ(half.forward_flops.value, full.forward_flops.value / 2);
}

TEST(StageTimes, ContextParallelismHidesItsRingBehindAttention) {
  Job job = llama_job(1);
  job.train.parallel.cp = 2;
  // 131,072 tokens: a rank's attention takes 32 layers x 8.6e9 pairs / 2 x 16,384 FLOPs: seconds; the ring of
  // 65,536 x 4 KiB a layer milliseconds.
  StageTimes const longer = stage_times(round_profile(), job, whole(job), one_sequence(131072));
  EXPECT_LE(longer.forward_communication, Seconds(0));
  // 256 short sequences of the same tokens: per layer 4 x 256 x ... pairs of 512 x 513 / 2 / 2 take
  // 0.62 ms on a rank, the ring 6.6 us + 65,536 x 4,096 B / 337.5 GB/s = 0.80 ms.
  MicroBatch const packed{131072, 131072, 256.0 * 512 * 513 / 2};
  StageTimes const shorter = stage_times(round_profile(), job, whole(job), packed);
  double const attention = packed.pairs / 2 * kAttentionPerPair / (0.5 * 989e12 * 0.9);
  double const ring = 6.6e-6 + 0.6e-6 + 65536.0 * 4096 / 337.5e9;
  EXPECT_NEAR(shorter.forward_communication.value, 32 * (ring - attention), 1e-9);
}

TEST(StageTimes, ExpertParallelismPaysTwoAllToAllsPerMixture) {
  Job job = llama_job(1);
  job.model = catalog_model("qwen3-30b-a3b");  // 48 mixtures, 8 experts per token, hidden 2048
  job.train.parallel.ep = 8;
  StageTimes const t = stage_times(round_profile(), job, whole(job), one_sequence(4096));
  // 4096 x 8 x 2048 x 2 B of one rank, 7/8 of it over 337.5 GB/s; one step of latency 7.2 us.
  double const one = 7.2e-6 + 0.875 * 4096 * 8 * 2048 * 2 / 337.5e9;
  EXPECT_NEAR(t.forward_communication.value, 48 * 2 * one, 1e-9);
  EXPECT_NEAR(t.backward_communication.value, 48 * 2 * one, 1e-9);
}

// tp 8 with sequence parallelism, 4096 tokens, 512 of them of each rank. Backward: attention's and lm_head's
// gather and scatter of all tokens, 49 pairs; per mixture the routed tokens, 8 copies of 2048 x 2 B each.
TEST(StageTimes, ExpertsOverTensorParallelRanks) {
  Job job = llama_job(1);
  job.model = catalog_model("qwen3-30b-a3b");
  job.train.sequence_parallel = true;
  auto const communication = [&](int ep, int etp) {
    job.train.parallel = {.tp = 8, .ep = ep, .etp = etp};
    return stage_times(round_profile(), job, whole(job), one_sequence(4096)).backward_communication.value;
  };
  double const pairs = 49 * 2 * (10.8e-6 + 0.875 * 4096 * 2048 * 2 / 337.5e9);
  double const own = 512.0 * 8 * 2048 * 2;
  // To eight ranks with whole experts and back.
  EXPECT_NEAR(communication(8, 1), pairs + 48 * 2 * (7.2e-6 + 0.875 * own / 337.5e9), 1e-9);
  // To four pairs of ranks; two ranks gather what they got and scatter the results.
  EXPECT_NEAR(communication(4, 2),
              pairs + 48 * 2 * (7.2e-6 + 0.75 * own / 337.5e9 + 7.2e-6 + 0.5 * 2 * own / 337.5e9), 1e-9);
  // Experts cut by all eight.
  EXPECT_NEAR(communication(1, 0), pairs + 48 * 2 * (10.8e-6 + 0.875 * 8 * own / 337.5e9), 1e-9);
}

// A mixture of DeepSeek-V3: the shared expert gathers and scatters 4096 x 7168 x 2 B, attention gathers the
// latents of queries, 1536, keys and values, 512, and the rotated key, 64.
TEST(StageTimes, SharedExpertsAreCutWithTheDensePart) {
  Job job = llama_job(1);
  job.model = catalog_model("deepseek-v3");
  job.train.sequence_parallel = true;
  job.train.parallel = {.tp = 8, .ep = 8, .etp = 1};
  StageTimes const t = stage_times(round_profile(), job, {20, 1, false, false}, one_sequence(4096));
  double const pairs = 4 * 10.8e-6 + 0.875 * 4096 * (3 * 7168 + 2112) * 2 / 337.5e9;
  double const exchange = 7.2e-6 + 0.875 * 512 * 8 * 7168 * 2 / 337.5e9;
  EXPECT_NEAR(t.forward_communication.value, pairs + 2 * exchange, 1e-9);
}

// q_a 1536, kv_a 576 and the router 256 wide are whole on each rank: of 7168 x 2368 a rank of eight computes
// the products of an eighth of the tokens under sequence parallelism, and of all of them without.
TEST(StageTimes, WholeMatricesWorkOnTheTokensOfTheirRank) {
  Job job = llama_job(1);
  job.model = catalog_model("deepseek-v3");
  job.train.parallel = {.tp = 8};
  auto const flops = [&](bool sequence) {
    job.train.sequence_parallel = sequence;
    return stage_times(round_profile(), job, {20, 1, false, false}, one_sequence(4096)).forward_flops.value;
  };
  EXPECT_NEAR(flops(false) - flops(true), 2.0 * 4096 * 7168 * 2368 * 7 / 8, 1e6);
}

// The same products in another shape: a rank's FLOPs do not depend on how the experts lie.
TEST(StageTimes, TheExpertGridLeavesTheFlops) {
  Job job = llama_job(1);
  job.model = catalog_model("deepseek-v3");
  job.train.sequence_parallel = true;
  auto const flops = [&](int ep, int etp) {
    job.train.parallel = {.tp = 8, .ep = ep, .etp = etp};
    return stage_times(round_profile(), job, {20, 1, false, false}, one_sequence(4096)).forward_flops.value;
  };
  EXPECT_DOUBLE_EQ(flops(8, 1), flops(1, 0));
  EXPECT_DOUBLE_EQ(flops(2, 4), flops(1, 0));
}

TEST(StageTimes, SmallBatchesWaitForTheirLaunches) {
  Job const job = llama_job(1);
  StageTimes const t = stage_times(round_profile(), job, whole(job), one_sequence(1));
  // 14 launches of 5 us a layer; reading a layer's weights takes 2 x 218e6 B / 2.68e12 = 163 us, more than
  // that.
  EXPECT_GT(t.forward.value, 32 * 163e-6);
  Job small = llama_job(1);
  small.model = catalog_model("qwen2.5-0.5b");  // 24 layers of 15e6 weights: 11 us to read
  StageTimes const s = stage_times(round_profile(), small, whole(small), one_sequence(1));
  EXPECT_GT(s.forward.value, 24 * 14 * 5e-6);
}

TEST(Adapter, TheBaseHasNoWeightGradient) {
  Job job = llama_job(1);
  MicroBatch const m = one_sequence(4096);
  StageTimes const full = stage_times(round_profile(), job, whole(job), m);
  job.algorithm.adapter = Adapter{AdapterKind::lora, 16, {"q", "v"}, true, false};
  StageTimes const lora = stage_times(round_profile(), job, whole(job), m);
  // Adapter products per token and layer: 16 x (4096 + 4096) and 16 x (4096 + 1024) weights.
  double const adapter = 2 * kTokens * 32 * 16.0 * (8192 + 5120);
  double const products = 2 * kTokens * (32 * kLayerWeights + kHeadWeights);
  double const attention = 32 * kPairs * kAttentionPerPair;
  EXPECT_NEAR(lora.backward_flops.value, products + 2 * attention + 2 * adapter, 1);
  EXPECT_NEAR(lora.forward_flops.value, products + attention + adapter, 1);
  // The weight gradient and its addition are saved, less what the adapter's own small products and adds cost.
  double const saved = (full.backward - lora.backward).value;
  EXPECT_LT(saved, products / kRate + 6 * (32 * kLayerWeights + kHeadWeights) / kStream);
  EXPECT_GT(saved, 0.9 * products / kRate);
  job.algorithm.adapter->kind = AdapterKind::qlora;
  StageTimes const qlora = stage_times(round_profile(), job, whole(job), m);
  // Constants of 4/64 B, half a byte and the two of bf16; lm_head stays as it is.
  Profile const p = round_profile();
  double const rate = p.gpu.memory_bandwidth.value * p.dequantization.value;
  double const nf4 = 2.5625 * 32 * kLayerWeights / rate;
  EXPECT_NEAR((qlora.forward - lora.forward).value, nf4, 1e-9);
  EXPECT_NEAR((qlora.backward - lora.backward).value, nf4, 1e-9);
  job.algorithm.adapter->quantization = Quantization::gptq;  // kept for backward
  StageTimes const gptq = stage_times(round_profile(), job, whole(job), m);
  EXPECT_NEAR((gptq.forward - lora.forward).value, 16.5 * 32 * kLayerWeights / rate, 1e-9);
  EXPECT_NEAR((gptq.backward - lora.backward).value, 0, 1e-9);
}

TEST(Parameters, OfAStageOnARank) {
  Job job = llama_job(2);
  EXPECT_DOUBLE_EQ(stage_parameters(job, whole(job)), 8030261248.0);
  // tp 8: everything but the 65 norms of 4,096 is cut.
  job.train.parallel.tp = 8;
  EXPECT_DOUBLE_EQ(stage_parameters(job, whole(job)), (8030261248.0 - 65 * 4096) / 8 + 65 * 4096);
  job.train.parallel.tp = 1;
  double sum = 0;
  for (Stage const& s : pipeline_stages(job.model, 8)) sum += stage_parameters(job, s);
  EXPECT_DOUBLE_EQ(sum, 8030261248.0);
  // LoRA r = 16 on q and v of Llama-3.1-8B: 32 layers x 16 x (8192 + 5120).
  job.algorithm.adapter = Adapter{AdapterKind::lora, 16, {"q", "v"}, true, false};
  EXPECT_DOUBLE_EQ(trained_parameters(job, whole(job)), 32.0 * 16 * (8192 + 5120));
}

TEST(Parameters, ATiedHeadIsCopiedWhenThePipelineSeparatesIt) {
  Job job = llama_job(1);
  job.model = catalog_model("llama-3.2-1b");
  double const whole_model = stage_parameters(job, whole(job));
  EXPECT_DOUBLE_EQ(whole_model, 1235814400.0);
  double sum = 0;
  for (Stage const& s : pipeline_stages(job.model, 2)) sum += stage_parameters(job, s);
  EXPECT_DOUBLE_EQ(sum, whole_model + 128256.0 * 2048);
}

TEST(Parameters, ExpertsAreDividedByEp) {
  Job job = llama_job(1);
  job.model = catalog_model("qwen3-30b-a3b");
  double const experts = 48.0 * 128 * 3 * 2048 * 768;
  double const all = stage_parameters(job, whole(job));
  job.train.parallel.ep = 8;
  EXPECT_DOUBLE_EQ(stage_parameters(job, whole(job)), all - experts * 7 / 8);
}

TEST(Buckets, HoldEveryGradientInTheOrderOfTheBackward) {
  for (char const* name : {"llama-3.1-8b", "qwen3-30b-a3b", "llama-3.2-1b"}) {
    Job job = llama_job(2);
    job.model = catalog_model(name);
    job.train.gradients = DType::fp32;
    for (Stage const& s : pipeline_stages(job.model, 2)) {
      auto const buckets = gradient_buckets(job, s);
      double sum = 0;
      double ready = 0;
      for (std::size_t i = 0; i < buckets.size(); ++i) {
        if (i + 1 < buckets.size()) {
          EXPECT_GE(buckets[i].bytes, job.train.bucket);
        }
        EXPECT_GE(buckets[i].ready, ready);
        ready = buckets[i].ready;
        sum += buckets[i].bytes.value;
      }
      EXPECT_DOUBLE_EQ(ready, 1);
      EXPECT_NEAR(sum, 4 * stage_parameters(job, s), 1) << name;
    }
  }
}

// tp 4, cp 2, ep 8, etp 1 on 8 GPUs: experts are reduced over one rank, the rest over two.
TEST(Buckets, ExpertsHaveTheirOwn) {
  Job job = llama_job(1);
  job.model = catalog_model("qwen3-30b-a3b");
  job.train.parallel = {.tp = 4, .cp = 2, .ep = 8, .etp = 1};
  double dense = 0;
  double experts = 0;
  auto const buckets = gradient_buckets(job, whole(job));
  for (GradientBucket const& b : buckets) (b.experts ? experts : dense) += b.bytes.value;
  EXPECT_DOUBLE_EQ(dense, 2 * 394'868'736.0);  // models/sharding_test.cpp
  EXPECT_DOUBLE_EQ(experts, 2 * 48 * 75'497'472.0);
  EXPECT_FALSE(buckets.back().experts);
  job.train.parallel = {.tp = 4, .cp = 2};
  for (GradientBucket const& b : gradient_buckets(job, whole(job))) EXPECT_FALSE(b.experts);
}

TEST(Buckets, FirstIsTheHead) {
  Job const job = llama_job(2);
  auto const buckets = gradient_buckets(job, whole(job));
  // lm_head alone exceeds 160 MiB; it is ready after its share of the FLOPs.
  EXPECT_DOUBLE_EQ(buckets.front().bytes.value, 2 * kHeadWeights);
  EXPECT_NEAR(buckets.front().ready, kHeadWeights / (kHeadWeights + 32 * kLayerWeights), 1e-12);
}

TEST(Buckets, Fsdp2ReducesLayerByLayer) {
  Job job = llama_job(2);
  job.train.kind = TrainerKind::fsdp2;
  EXPECT_EQ(gradient_buckets(job, whole(job)).size(), 34U);  // norm and head, 32 layers, embedding
}

TEST(Optimizer, MovesItsShardOnce) {
  Job job = llama_job(2);
  // bf16 gradient 2, master 4 read and written, two fp32 states read and written, bf16 weight written: 28 B.
  double const all = 8030261248.0 * 28 / kPass;
  EXPECT_NEAR(optimizer_time(round_profile(), job, whole(job)).value, all, 1e-9);
  job.train.distributed_optimizer = true;
  EXPECT_NEAR(optimizer_time(round_profile(), job, whole(job)).value, all / 16, 1e-9);
  job.train.parallel.cp = 2;  // dp 8 x cp 2
  EXPECT_NEAR(optimizer_time(round_profile(), job, whole(job)).value, all / 16, 1e-9);
  job.train.master_weights = false;  // weight read and written instead: 2 + 4 + 16 = 22 B
  EXPECT_NEAR(optimizer_time(round_profile(), job, whole(job)).value, all / 16 * 22 / 28, 1e-9);
}

// The layout above: half of the dense part, all of the experts.
TEST(Optimizer, ExpertsAreCutOverTheirOwnRanks) {
  Job job = llama_job(1);
  job.model = catalog_model("qwen3-30b-a3b");
  job.train.distributed_optimizer = true;
  job.train.parallel = {.tp = 4, .cp = 2, .ep = 8, .etp = 1};
  double const shard = 394'868'736.0 / 2 + 48 * 75'497'472.0;
  EXPECT_NEAR(optimizer_time(round_profile(), job, whole(job)).value, shard * 28 / kPass, 1e-9);
}

TEST(Transfer, HiddenStatesOfTheMicroBatch) {
  Job job = llama_job(2);
  EXPECT_DOUBLE_EQ(stage_transfer_bytes(job, one_sequence(1000)).value, 1000.0 * 4096 * 2);
  job.train.parallel.tp = 4;
  job.train.sequence_parallel = true;
  EXPECT_DOUBLE_EQ(stage_transfer_bytes(job, one_sequence(1000)).value, 250.0 * 4096 * 2);
}

}  // namespace
}  // namespace rollcast
