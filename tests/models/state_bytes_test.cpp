#include "models/state_bytes.hpp"

#include <gtest/gtest.h>

#include "models/adapter.hpp"
#include "models/roles.hpp"
#include "tests/models/ledger_jobs.hpp"

namespace rollcast {
namespace {

constexpr double parameters = 70e9;

TrainerOptions zero(int stage) {
  TrainerOptions t;
  t.kind = TrainerKind::deepspeed;
  t.zero_stage = stage;
  return t;
}

Algorithm algorithm(AlgorithmKind kind, bool reference = false) {
  Algorithm a;
  a.kind = kind;
  a.kl_reference = reference || kind == AlgorithmKind::ppo || kind == AlgorithmKind::dpo;
  a.reward_model = kind == AlgorithmKind::ppo;
  return a;
}

// 2 (weights) + 2 (gradients) + 4 (fp32 master) + 4 + 4 (moments) = 16 B; x 70e9 = 1,120 GB.
TEST(StateBytes, FullFineTuningTakesSixteenBytesPerParameter) {
  EXPECT_DOUBLE_EQ(trained_state(parameters, zero(0), 1).total().value, 1120e9);
  EXPECT_DOUBLE_EQ(trained_state(parameters, zero(3), 16).total().value, 70e9);
  EXPECT_DOUBLE_EQ(trained_state(parameters, zero(3), 64).total().value, 17.5e9);
}

// The accumulation buffer in fp32: 2 + 4 + 12 = 18 B.
TEST(StateBytes, Fp32GradientsAddTwoBytes) {
  TrainerOptions t = zero(0);
  t.gradients = DType::fp32;
  EXPECT_DOUBLE_EQ(trained_bytes_per_parameter(t).total().value, 18);
}

// ZeRO paper, figure 1, with 12 B of optimizer: (2 + 2 + 12) cut by 64 stage by stage: 16; 4 + 12/64
// = 4.1875; 2 + 14/64 = 2.21875; 16/64 = 0.25 B per parameter.
TEST(StateBytes, EachZeroStageCutsOnePartMore) {
  std::vector<double> const each = {16, 4.1875, 2.21875, 0.25};
  for (int stage = 0; stage <= 3; ++stage) {
    EXPECT_DOUBLE_EQ(trained_state(parameters, zero(stage), 64).total().value,
                     each[static_cast<std::size_t>(stage)] * parameters);
  }
}

// FSDP2 keeps one fp32 parameter with a gradient of its type: 4 + 4 + 8 = 16 B, no bf16 copy at rest.
TEST(StateBytes, Fsdp2KeepsOneFp32Copy) {
  TrainerOptions t;
  t.kind = TrainerKind::fsdp2;
  StateBytes const s = trained_bytes_per_parameter(t);
  EXPECT_DOUBLE_EQ(s.weights.value, 0);
  EXPECT_DOUBLE_EQ(s.gradients.value, 4);
  EXPECT_DOUBLE_EQ(s.total().value, 16);
  EXPECT_EQ(zero_stage(t), 3);
}

TEST(StateBytes, DistributedOptimizerIsStageOne) {
  TrainerOptions t;
  EXPECT_EQ(zero_stage(t), 0);
  t.distributed_optimizer = true;
  EXPECT_EQ(zero_stage(t), 1);
}

// Per parameter: sft 16; dpo 16 + frozen reference 2; ppo two trained (32) and two frozen (4): 36, with 70e9
// parameters 2,520 GB; grpo 16, with a frozen reference 18.
TEST(StateBytes, AlgorithmsAddUpTheirModels) {
  EXPECT_DOUBLE_EQ(algorithm_bytes_per_parameter(algorithm(AlgorithmKind::sft), zero(0)).value, 16);
  EXPECT_DOUBLE_EQ(algorithm_bytes_per_parameter(algorithm(AlgorithmKind::dpo), zero(0)).value, 18);
  EXPECT_DOUBLE_EQ(algorithm_bytes_per_parameter(algorithm(AlgorithmKind::grpo), zero(0)).value, 16);
  EXPECT_DOUBLE_EQ(algorithm_bytes_per_parameter(algorithm(AlgorithmKind::grpo, true), zero(0)).value, 18);
  EXPECT_DOUBLE_EQ(parameters * algorithm_bytes_per_parameter(algorithm(AlgorithmKind::ppo), zero(0)).value,
                   2520e9);
}

// Actor and critic over 64 GPUs under ZeRO-3: 2 x 16 x 70e9 / 64 = 35 GB each; the frozen reference and
// reward model 2 x 2 x 70e9 / 64 = 4.375 GB.
TEST(StateBytes, FourModelsOfPpoUnderZero3) {
  double trained = 0;
  double frozen = 0;
  for (ModelRole const& r : model_roles(algorithm(AlgorithmKind::ppo))) {
    if (r.trained) trained += trained_state(parameters, zero(3), 64).total().value;
    if (!r.trained) frozen += frozen_state(parameters, zero(3), 64).total().value;
  }
  EXPECT_DOUBLE_EQ(trained, 35e9);
  EXPECT_DOUBLE_EQ(frozen, 4.375e9);
}

// A frozen base in bf16, 2 x 70e9 = 140 GB, and an adapter of 41,943,040 parameters at 16 B, 671,088,640 B:
// 140.671 GB.
TEST(StateBytes, LoraIsABaseAndASmallTrainedModel) {
  Bytes const base = frozen_state(parameters, zero(0), 1).total();
  Bytes const adapter = trained_state(41'943'040, zero(0), 1).total();
  EXPECT_DOUBLE_EQ(adapter.value, 671'088'640);
  EXPECT_DOUBLE_EQ((base + adapter).value, 140'671'088'640);
}

// 70e9 x 0.5 = 35 GB; x (0.5 + 4/64 = 0.5625) = 39.375 GB; x (0.5 + 1/64 + 4/16,384 = 0.515869140625) = 36.11
// GB.
TEST(StateBytes, QloraBase) {
  Adapter a;
  a.kind = AdapterKind::qlora;
  a.block_constants = false;
  EXPECT_DOUBLE_EQ(parameters * quantized_bytes_per_weight(a).value, 35e9);
  a.block_constants = true;
  EXPECT_DOUBLE_EQ(parameters * quantized_bytes_per_weight(a).value, 39.375e9);
  a.double_quantization = true;
  EXPECT_DOUBLE_EQ(quantized_bytes_per_weight(a).value, 0.515869140625);
  EXPECT_NEAR(parameters * quantized_bytes_per_weight(a).value, 36.1e9, 0.05e9);
}

TEST(StateBytes, MoreRanksNeverHoldMore) {
  for (int stage = 0; stage <= 3; ++stage) {
    for (int ranks = 1; ranks < 1024; ranks *= 2) {
      EXPECT_LE(trained_state(parameters, zero(stage), 2 * ranks).total().value,
                trained_state(parameters, zero(stage), ranks).total().value);
      if (stage > 0) {
        EXPECT_LE(trained_state(parameters, zero(stage), ranks).total().value,
                  trained_state(parameters, zero(stage - 1), ranks).total().value);
      }
    }
  }
}

}  // namespace
}  // namespace rollcast
