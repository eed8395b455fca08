#include "models/activations.hpp"

#include <gtest/gtest.h>

#include "models/logit_copies.hpp"
#include "tests/models/ledger_jobs.hpp"

namespace rollcast {
namespace {

TrainerOptions cut(int tp, bool sequence_parallel) {
  TrainerOptions t;
  t.parallel.tp = tp;
  t.sequence_parallel = sequence_parallel;
  return t;
}

// GPT-3's shapes, as in the paper: h 12,288, 96 heads of 128, MLP of 4 h without gate.
Architecture gpt3() {
  Architecture a;
  a.layers = 96;
  a.hidden = 12288;
  a.heads = 96;
  a.kv_heads = 96;
  a.head_dim = 128;
  a.intermediate = 4 * 12288;
  a.vocab = 51200;
  a.gated_mlp = false;
  return a;
}

// Korthikanti et al., equation 2 without its two dropout masks (2 of 34) and with flash attention's row sums
// (4 B per head) for the 5 a s / h of the score matrix: 32 h + 4 x 96 B per token.
TEST(Activations, PaperWithoutDropoutMasks) {
  double const h = 12288;
  Bytes const kept = kept_activations(gpt3(), 0, cut(1, false), Recompute::none, std::nullopt, 1000);
  EXPECT_DOUBLE_EQ(kept.value, 1000 * (32 * h + 4 * 96));
}

// Equation 2 with t = 8: s b h (10 + 24 / t) less the masks, so 8 h + 24 h / 8 (+ row sums / 8); with
// sequence parallelism (equation 4) all of it over 8.
TEST(Activations, TensorAndSequenceParallelism) {
  double const h = 12288;
  EXPECT_DOUBLE_EQ(kept_activations(gpt3(), 0, cut(8, false), Recompute::none, std::nullopt, 1).value,
                   8 * h + 24 * h / 8 + 4 * 96 / 8.0);
  EXPECT_DOUBLE_EQ(kept_activations(gpt3(), 0, cut(8, true), Recompute::none, std::nullopt, 1).value,
                   (32 * h + 4 * 96) / 8);
}

// Llama-3.1-8B: h 4096, q 4096, kv 1024, f 14336, 32 heads: 8 x 4096 + 4 x 4096 + 4 x 1024 + 4 x 32 + 6 x
// 14336 = 32,768 + 16,384 + 4,096 + 128 + 86,016 = 139,392 B per token; selective 139,264; full 8,192.
TEST(Activations, GroupedQueriesAndGatedMlp) {
  Architecture const a = test::model("llama-3.1-8b");
  auto const kept = [&](Recompute r) {
    return kept_activations(a, 0, cut(1, false), r, std::nullopt, 1).value;
  };
  EXPECT_DOUBLE_EQ(kept(Recompute::none), 139'392);
  EXPECT_DOUBLE_EQ(kept(Recompute::selective), 139'264);
  EXPECT_DOUBLE_EQ(kept(Recompute::full), 8192);
}

// LoRA on q and v only: the input of gate and up (2 h = 8,192) and of down (2 f = 28,672) is read by frozen
// layers alone: 139,392 - 36,864 = 102,528. What A makes of the input: 2 x 2 B x 16 = 64.
TEST(Activations, FrozenLayersKeepNoInputs) {
  Adapter adapter;
  adapter.targets = {"q", "v"};
  Architecture const a = test::model("llama-3.1-8b");
  EXPECT_DOUBLE_EQ(kept_activations(a, 0, cut(1, false), Recompute::none, adapter, 1).value, 102'528 + 64);
}

// LitGPT's Llama-2-7B: h 4,096, f 11,008, 32 heads, adapters of rank 8 with dropout on q and v of one
// product.
//   both norms in fp32                      2 x 4 h           32,768
//   what dropout left and its mask          2 h + h           12,288
//   what A makes of it                      2 x 2 x 8             32
//   q, k, v, output, row sums               4 x 2 h + 4 x 32  32,896
//   q and k beside the rotated ones, by v   2 x 2 h           16,384
//   the adapters' result before spreading   2 x 2 h           16,384
//   gate, silu of it, up                    3 x 2 f           66,048
// Sum 176,800. Published peaks of one and two examples of 1,304 tokens differ by 7.77 GB: 186,198 B a layer
// and token, 8,000 of them the two fp32 copies of 32,000 logits over 32 layers.
TEST(Activations, AdaptersOnPartOfAMergedProduct) {
  TrainerOptions t = cut(1, false);
  t.kernels = KernelStack::eager;
  t.merged_qkv = true;
  Adapter adapter;
  adapter.rank = 8;
  adapter.targets = {"q", "v"};
  adapter.dropout = 0.05;
  Architecture const a = test::model("llama-2-7b");
  auto const kept = [&] { return kept_activations(a, 0, t, Recompute::none, adapter, 1).value; };
  EXPECT_DOUBLE_EQ(kept(), 176'800);
  // bitsandbytes' products keep their inputs: those of q, k, v and of gate and up, 2 x 2 h, and of down, 2 f.
  adapter.kind = AdapterKind::qlora;
  for (Quantization q : {Quantization::nf4, Quantization::nf4_fp16}) {
    adapter.quantization = q;
    EXPECT_DOUBLE_EQ(kept(), 176'800 + 4 * 4096 + 2 * 11008);
  }
  for (Quantization q : {Quantization::torchao, Quantization::gptq}) {
    adapter.quantization = q;
    EXPECT_DOUBLE_EQ(kept(), 176'800);
  }
}

// Dropout gives each adapter a copy (2 B) and a mask (1 B) of its own: q and v 6 h instead of 2 h.
TEST(Activations, DropoutCopiesTheInputOfEachAdapter) {
  Adapter adapter;
  adapter.targets = {"q", "v"};
  Architecture const a = test::model("llama-3.1-8b");
  auto const kept = [&] { return kept_activations(a, 0, cut(1, false), Recompute::none, adapter, 1).value; };
  double const shared = kept();
  adapter.dropout = 0.1;
  EXPECT_DOUBLE_EQ(kept(), shared + 4 * 4096);
  adapter.dropout = 0;
  adapter.weights = DType::fp32;  // cast copies, no mask
  EXPECT_DOUBLE_EQ(kept(), shared + 2 * 4096);
}

// Qwen3-30B-A3B: h 2048, q 32 x 128 = 4096, kv 4 x 128 = 512, head norms keep their inputs (2 q + 2 kv), 8 of
// 128 experts of 768. 8 h = 16,384; attention 4 x 4096 + 4 x 512 + 4 x 32 + 2 x (4096 + 512) = 27,776;
// experts: inputs and outputs 2 x 2 x 8 x 2048 = 65,536, inside 6 x 8 x 768 = 36,864, router 4 x 128 = 512.
// Sum 147,072.
TEST(Activations, Experts) {
  Architecture const a = test::model("qwen3-30b-a3b");
  EXPECT_DOUBLE_EQ(kept_activations(a, 0, cut(1, false), Recompute::none, std::nullopt, 1).value, 147'072);
}

// tp 8 with sequence parallelism: the inputs of the experts, 2 x 8 x 2048 = 32,768, are an eighth where each
// rank has whole experts, and all of them where eight ranks cut each expert and gather for each other.
TEST(Activations, ExpertInputs) {
  Architecture const a = test::model("qwen3-30b-a3b");
  TrainerOptions t = cut(8, true);
  double const gathered = kept_activations(a, 0, t, Recompute::none, std::nullopt, 1).value;
  t.parallel.etp = 1;
  double const own = kept_activations(a, 0, t, Recompute::none, std::nullopt, 1).value;
  EXPECT_DOUBLE_EQ(gathered - own, 32'768.0 * 7 / 8);
}

// One kernel per operation, Llama-3.1-8B: each norm keeps its input in fp32, the normalised value and its
// output, 8 h = 32,768; attention 4 q + 4 k + 4 x 32 = 20,608; the MLP gate, activated gate, up and product,
// 8 x 14,336. With adapters on q and v neither the norms' normalised values, nor the second one's output, nor
// the product: 6 h + 4 h = 40,960; 20,608; 6 x 14,336; and what two As of rank 16 make of it, 64.
TEST(Activations, OneKernelPerOperation) {
  Architecture const a = test::model("llama-3.1-8b");
  TrainerOptions t = cut(1, false);
  t.kernels = KernelStack::eager;
  auto const kept = [&](std::optional<Adapter> const& adapter) {
    return kept_activations(a, 0, t, Recompute::none, adapter, 1).value;
  };
  EXPECT_DOUBLE_EQ(kept(std::nullopt), 2 * 32'768 + 20'608 + 8 * 14'336);
  Adapter adapter;
  adapter.targets = {"q", "v"};
  EXPECT_DOUBLE_EQ(kept(adapter), 40'960 + 20'608 + 6 * 14'336 + 64);
  t.kernels = KernelStack::compiled;
  EXPECT_DOUBLE_EQ(kept(std::nullopt), 139'392);
}

// Qwen3-30B-A3B: norms 16 x 2048; attention 27,776 with the head norms' 2 x 4608 as 6 x 4608; experts: inputs
// 2 x 8 x 2048, outputs in fp32 4 x 8 x 2048, inside 8 x 8 x 768, router 512.
TEST(Activations, ExpertsWithOneKernelPerOperation) {
  TrainerOptions t = cut(1, false);
  t.kernels = KernelStack::eager;
  EXPECT_DOUBLE_EQ(
      kept_activations(test::model("qwen3-30b-a3b"), 0, t, Recompute::none, std::nullopt, 1).value,
      16 * 2048 + 27'776 + 4 * 4608 + 6 * 8 * 2048 + 8 * 8 * 768 + 512);
}

// Keys and values as wide as the queries: 4 x 4096 in place of 4 x 1024.
TEST(Activations, ExpandedKeysAndValues) {
  TrainerOptions t = cut(1, false);
  t.expand_kv = true;
  EXPECT_DOUBLE_EQ(
      kept_activations(test::model("llama-3.1-8b"), 0, t, Recompute::none, std::nullopt, 1).value,
      139'392 + 4 * 4096 - 4 * 1024);
}

// The layer's input is there already where the first norm keeps it, 2 h; in eager mode the norm keeps a copy.
TEST(Activations, RecomputedLayer) {
  Architecture const a = test::model("llama-3.1-8b");
  TrainerOptions t = cut(1, false);
  EXPECT_DOUBLE_EQ(recomputed_activations(a, 0, t, std::nullopt, 1).value, 139'392 - 8192);
  t.kernels = KernelStack::eager;
  EXPECT_DOUBLE_EQ(recomputed_activations(a, 0, t, std::nullopt, 1).value, 2 * 32'768 + 20'608 + 8 * 14'336);
}

// Llama-3.1-8B: 2 h = 8192 and 4 f = 57,344, compiled 2 f; half of f with tp 2. Without gate, h 12,288:
// 2 h + 2 x 4 h. Qwen3-30B-A3B: 2 h = 4096, eight copies 2 x 8 x 2048 and inside 4 x 8 x 768; eager 4096 and
// 12 x 8 x 2048.
TEST(Activations, GradientsOfActivations) {
  auto const gradients = [](Architecture const& a, KernelStack stack, int tp = 1) {
    TrainerOptions t = cut(tp, false);
    t.kernels = stack;
    return activation_gradients(a, 0, t, 1).value;
  };
  Architecture const llama = test::model("llama-3.1-8b");
  EXPECT_DOUBLE_EQ(gradients(llama, KernelStack::fused), 8192 + 57'344);
  EXPECT_DOUBLE_EQ(gradients(llama, KernelStack::eager), 8192 + 57'344);
  EXPECT_DOUBLE_EQ(gradients(llama, KernelStack::compiled), 8192 + 28'672);
  EXPECT_DOUBLE_EQ(gradients(llama, KernelStack::fused, 2), 8192 + 28'672);
  EXPECT_DOUBLE_EQ(gradients(gpt3(), KernelStack::fused), 10 * 12'288);
  Architecture const experts = test::model("qwen3-30b-a3b");
  EXPECT_DOUBLE_EQ(gradients(experts, KernelStack::fused), 4096 + 2 * 8 * 2048 + 4 * 8 * 768);
  EXPECT_DOUBLE_EQ(gradients(experts, KernelStack::eager), 4096 + 12 * 8 * 2048);
}

// Llama-3.1-8B: 4 h + 6 f = 16,384 + 86,016. With an MLP of 1,000: attention, 4 h + 4 q + 4 k = 36,864.
TEST(Activations, ForwardAlone) {
  Architecture a = test::model("llama-3.1-8b");
  EXPECT_DOUBLE_EQ(forward_working_set(a, 0, cut(1, false), 1).value, 16'384 + 86'016);
  a.intermediate = 1000;
  EXPECT_DOUBLE_EQ(forward_working_set(a, 0, cut(1, false), 1).value, 36'864);
}

// A pass without gradients never needs more than one that keeps.
TEST(Activations, ForwardAloneNeedsNoMore) {
  for (Architecture const& a : builtin_catalog().architectures) {
    for (int layer = 0; layer < a.layers; ++layer) {
      TrainerOptions const t = cut(1, false);
      EXPECT_LE(forward_working_set(a, layer, t, 1).value,
                (kept_activations(a, layer, t, Recompute::none, std::nullopt, 1) +
                 activation_gradients(a, layer, t, 1))
                    .value)
          << a.name;
    }
  }
}

// Sequences of 2,048 tokens: a budget of 10,000 is filled, one of 1,000 takes a sequence all the same, over
// cp.
TEST(Activations, MicroBatchesByTokenBudget) {
  Job job = test::plain_job(test::model("llama-3.1-8b"), AlgorithmKind::sft, 8);
  job.train.dynamic_batching = true;
  job.train.tokens_per_micro_batch = 10'000;
  job.train.logprob_tokens_per_micro_batch = 1'000;
  EXPECT_DOUBLE_EQ(allowed_micro_batches(job).update, 10'000);
  EXPECT_DOUBLE_EQ(allowed_micro_batches(job).forward, 2048);
  job.train.parallel.cp = 2;
  EXPECT_DOUBLE_EQ(allowed_micro_batches(job).forward, 1024);
  job.train.dynamic_batching = false;
  job.train.micro_batch = 3;
  EXPECT_DOUBLE_EQ(allowed_micro_batches(job).update, 3 * 1024);
}

TEST(Activations, RecomputeNeverKeepsMore) {
  for (Architecture const& a : builtin_catalog().architectures) {
    for (int tp : {1, 2, 4, 8}) {
      for (bool sp : {false, true}) {
        for (int layer = 0; layer < a.layers; ++layer) {
          auto const kept = [&](Recompute r) {
            return kept_activations(a, layer, cut(tp, sp), r, std::nullopt, 4096).value;
          };
          EXPECT_LE(kept(Recompute::full), kept(Recompute::selective)) << a.name;
          EXPECT_LE(kept(Recompute::selective), kept(Recompute::none)) << a.name;
        }
      }
    }
  }
}

// A public out-of-memory report (verl#2828): one fp32 copy of the logits of 24,576 tokens over 151,936
// entries was asked for as 13.91 GiB.
TEST(Activations, LogitsOfAReportedOom) {
  TrainerOptions t;
  LogitsKept const kept = logits_kept(test::model("qwen3-32b"), t, {}, false);
  double const one = 24'576 * fp32_logits_bytes(kept).value / kept.fp32_copies;
  EXPECT_DOUBLE_EQ(one, 24'576.0 * 151'936 * 4);
  EXPECT_NEAR(one / GiB(1).value, 13.91, 0.005);
}

TEST(Activations, LogitsCopies) {
  TrainerOptions t;
  Architecture const a = test::model("qwen3-32b");
  // Bytes per entry at the peak, in bf16: forward alone, with backward.
  auto const each = [&](bool backward) {
    LogitsKept const k = logits_kept(a, t, {}, backward);
    return (logits_bytes(k, t) + fp32_logits_bytes(k)).value / k.entries;
  };
  EXPECT_DOUBLE_EQ(each(true), 10);
  t.kind = TrainerKind::fsdp2;
  EXPECT_DOUBLE_EQ(each(true), 18);
  EXPECT_DOUBLE_EQ(each(false), 10);
  t.logits = LogitsPrecision::autocast;
  EXPECT_DOUBLE_EQ(each(true), 12);
  EXPECT_DOUBLE_EQ(each(false), 10);
  t.logits = LogitsPrecision::weights;
  EXPECT_DOUBLE_EQ(each(true), 8);
  EXPECT_DOUBLE_EQ(each(false), 4);
  t.logits = LogitsPrecision::fp32;
  t.shifted_labels = true;
  t.kernels = KernelStack::eager;
  EXPECT_DOUBLE_EQ(each(true), 12);
  EXPECT_DOUBLE_EQ(each(false), 8);
  t.kernels = KernelStack::compiled;
  EXPECT_DOUBLE_EQ(each(true), 10);
  t.kernels = KernelStack::fused;
  t.shifted_labels = false;
  t.cross_entropy = CrossEntropy::fused;
  EXPECT_DOUBLE_EQ(each(true), 2);
  t.cross_entropy = CrossEntropy::linear;
  EXPECT_DOUBLE_EQ(logits_kept(a, t, {}, true).entries, 5120);  // as the model is wide
  EXPECT_DOUBLE_EQ(each(true), 2);
  t.kernels = KernelStack::eager;
  EXPECT_DOUBLE_EQ(each(true), 18);
}

// 1F1B: the first of four stages holds four micro-batches, the last one; never more than there are.
TEST(Activations, InFlightMicroBatches) {
  EXPECT_EQ(in_flight(0, 4, 32), 4);
  EXPECT_EQ(in_flight(3, 4, 32), 1);
  EXPECT_EQ(in_flight(0, 4, 2), 2);
}

// Sequences of 2,048 tokens; cp 2 halves them; a dpo pair is two.
TEST(Activations, MicroBatchTokens) {
  Job job = test::plain_job(test::model("llama-3.1-8b"), AlgorithmKind::sft, 8);
  EXPECT_EQ(longest_sequence(job), 2048);
  EXPECT_DOUBLE_EQ(micro_batch_tokens(job, 3), 6144);
  job.train.parallel.cp = 2;
  EXPECT_DOUBLE_EQ(micro_batch_tokens(job, 3), 3072);
  job.algorithm.kind = AlgorithmKind::dpo;
  EXPECT_DOUBLE_EQ(micro_batch_tokens(job, 3), 6144);
  job.train.packing = true;
  job.train.pack_tokens = 5000;
  EXPECT_DOUBLE_EQ(micro_batch_tokens(job, 1), 5000);
}

// 512 samples over 8 replicas in micro-batches of 4: 16. Packed four at a time into 8,192 tokens (micro-batch
// 1): 64 x 2,048 / 8,192 = 16.
TEST(Activations, MicroBatchesPerStep) {
  Job job = test::plain_job(test::model("llama-3.1-8b"), AlgorithmKind::sft, 8);
  job.train.micro_batch = 4;
  EXPECT_EQ(micro_batches_per_step(job), 16);
  job.train.micro_batch = 1;
  job.train.packing = true;
  job.train.pack_tokens = 8192;
  EXPECT_EQ(micro_batches_per_step(job), 16);
}

TEST(Activations, UnboundedLengthsFallBackToTheContext) {
  Job job = test::plain_job(test::model("llama-3.1-8b"), AlgorithmKind::grpo, 8);
  job.workload.response_tokens.shape = LogNormalLength{6, 1, 0};
  EXPECT_EQ(longest_sequence(job), job.model.max_context);
  job.rollout.max_model_len = 9000;
  EXPECT_EQ(longest_sequence(job), 9000);
}

}  // namespace
}  // namespace rollcast
