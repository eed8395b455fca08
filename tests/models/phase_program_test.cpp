#include "models/phase_program.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "models/ledger_lines.hpp"
#include "tests/models/ledger_jobs.hpp"

namespace rollcast {
namespace {

constexpr ModelRole kActor{Role::actor, true, false};

struct Peak {
  double bytes = 0;
  double left = 0;  // at the end
};

Peak peak_of(PhaseProgram const& p) {
  std::map<int, double> in_use;
  double sum = 0;
  Peak peak;
  for (ProgramEvent const& e : p.events) {
    if (e.kind == ProgramEvent::Kind::allocate) {
      EXPECT_TRUE(in_use.emplace(e.block, static_cast<double>(e.bytes)).second);
      sum += static_cast<double>(e.bytes);
    } else if (e.kind == ProgramEvent::Kind::free) {
      EXPECT_TRUE(in_use.contains(e.block));
      sum -= in_use[e.block];
      in_use.erase(e.block);
    }
    peak.bytes = std::max(peak.bytes, sum);
  }
  peak.left = sum;
  return peak;
}

// The lines of the phase that come and go.
double of_ledger(Job const& job, int stage, Phase phase) {
  double sum = 0;
  for (LedgerLine const& line : trainer_lines(job, stage, process_memory())) {
    if (!line.host && line.in_pass && is_present(line, phase)) sum += line.bytes.value;
  }
  return sum;
}

struct Case {
  std::string name;
  TrainerKind kind;
  Recompute recompute;
  int micro_batch;
  CrossEntropy loss;
};

class Programs : public testing::TestWithParam<Case> {
 protected:
  Job job() const {
    Job j = test::plain_job(test::model("llama-3.1-8b-instruct"), AlgorithmKind::sft, 8);
    j.train.kind = GetParam().kind;
    j.train.zero_stage = j.train.kind == TrainerKind::fsdp2 || j.train.kind == TrainerKind::deepspeed ? 3 : 0;
    if (j.train.kind == TrainerKind::megatron) j.train.distributed_optimizer = true;
    if (j.train.kind == TrainerKind::ddp) j.cluster.node.gpus = 1;
    j.train.recompute = GetParam().recompute;
    j.train.micro_batch = GetParam().micro_batch;
    j.train.cross_entropy = GetParam().loss;
    j.algorithm.train_batch = 32;
    return j;
  }
};

// The moments of the ledger (models/update_moment.hpp) are points of the program: the most that it holds is
// what the ledger says, and at its end it holds nothing.
TEST_P(Programs, HoldAtMostWhatTheLedgerSays) {
  Job const j = job();
  std::vector<double> const tokens(static_cast<std::size_t>(32 / j.train.micro_batch / data_parallel(j)),
                                   allowed_micro_batches(j).update);
  Peak const peak = peak_of(update_program(j, kActor, 0, {tokens}));
  EXPECT_EQ(peak.left, 0);
  EXPECT_NEAR(peak.bytes / of_ledger(j, 0, Phase::update_actor), 1, 1e-3);
}

// The same of several data-parallel ranks, and of steps in the backward pass.
TEST(PhaseProgram, PlainLoopsHoldWhatTheLedgerSays) {
  for (char const* name : {"llama-3.1-8b-instruct", "llama-3.2-1b"}) {
    for (int gpus : {1, 8}) {
      for (bool in_backward : {false, true}) {
        Job j = test::plain_job(test::model(name), AlgorithmKind::sft, gpus);
        j.train.kind = TrainerKind::ddp;
        j.train.recompute = Recompute::full;
        j.train.cross_entropy = CrossEntropy::fused;
        j.train.optimizer_in_backward = in_backward && gpus == 1;
        j.algorithm.train_batch = 4 * gpus;
        std::vector<double> const tokens(4, allowed_micro_batches(j).update);
        Peak const peak = peak_of(update_program(j, kActor, 0, {tokens}));
        EXPECT_NEAR(peak.bytes / of_ledger(j, 0, Phase::update_actor), 1, 1e-3)
            << name << gpus << in_backward;
      }
    }
  }
}

// Five equal micro-batches with fp32 logits and the entropy beside them.
TEST(PhaseProgram, RepeatedMicroBatchesWithEntropyAreWritten) {
  Job j = test::plain_job(test::model("llama-3.2-1b"), AlgorithmKind::grpo, 8);
  j.train.kind = TrainerKind::megatron;
  for (Entropy e : {Entropy::whole, Entropy::chunked}) {
    j.train.entropy = e;
    j.train.entropy_in_update = true;
    std::vector<double> const tokens(5, 512);
    EXPECT_EQ(peak_of(forward_program(j, kActor, 0, tokens)).left, 0);
    EXPECT_EQ(peak_of(update_program(j, kActor, 0, {tokens})).left, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, Programs,
    testing::Values(Case{"megatron", TrainerKind::megatron, Recompute::none, 1, CrossEntropy::whole},
                    Case{"megatron_full", TrainerKind::megatron, Recompute::full, 2, CrossEntropy::whole},
                    Case{"fsdp2", TrainerKind::fsdp2, Recompute::full, 1, CrossEntropy::whole},
                    Case{"fsdp2_one_pass", TrainerKind::fsdp2, Recompute::full, 4, CrossEntropy::fused},
                    Case{"fsdp2_none", TrainerKind::fsdp2, Recompute::none, 2, CrossEntropy::fused},
                    Case{"deepspeed", TrainerKind::deepspeed, Recompute::full, 2, CrossEntropy::whole},
                    Case{"ddp", TrainerKind::ddp, Recompute::full, 1, CrossEntropy::whole},
                    Case{"ddp_chunked", TrainerKind::ddp, Recompute::none, 32, CrossEntropy::chunked}),
    [](auto const& i) { return i.param.name; });

// 1F1B on four stages: the first one holds four micro-batches at once, the last one a single one.
TEST(PhaseProgram, AStageHoldsAsManyMicroBatchesAsThePipelineIsDeep) {
  Job j = test::plain_job(test::model("llama-3.1-8b-instruct"), AlgorithmKind::sft, 8);
  j.train.kind = TrainerKind::megatron;
  j.train.parallel.pp = 4;
  j.algorithm.train_batch = 16;
  std::vector<double> const tokens(8, 2048);
  auto const kept = [&](int stage) {
    PhaseProgram const p = update_program(j, kActor, stage, {tokens});
    auto const name = std::find(p.names.begin(), p.names.end(), "actor activations: kept activations");
    int const index = static_cast<int>(name - p.names.begin());
    int most = 0, in_use = 0;
    std::map<int, bool> is_kept;
    for (ProgramEvent const& e : p.events) {
      if (e.kind == ProgramEvent::Kind::allocate) {
        is_kept[e.block] = e.name == index;
        in_use += e.name == index ? 1 : 0;
      } else if (e.kind == ProgramEvent::Kind::free) {
        in_use -= is_kept[e.block] ? 1 : 0;
      }
      most = std::max(most, in_use);
    }
    return most;
  };
  EXPECT_EQ(kept(0), 4 * kept(3) - 4);  // the last stage keeps the head's inputs, one tensor, too
}

// 24,576 tokens on a vocabulary of 151,936 in fp32: 14,935,916,544 B = 13.91 GiB (verl issue 2828), three of
// them; in chunks of 128 rows 77.8 MB each.
TEST(PhaseProgram, EntropyTakesThreeCopiesOfItsRows) {
  Job j = test::plain_job(test::model("qwen2.5-32b-instruct"), AlgorithmKind::grpo, 8);
  ASSERT_EQ(j.model.vocab, 152064);
  j.model.vocab = 151936;
  j.train.kind = TrainerKind::fsdp2;
  j.train.zero_stage = 3;
  j.train.cross_entropy = CrossEntropy::fused;
  j.train.entropy = Entropy::whole;
  auto const copies = [&] {
    PhaseProgram const p = forward_program(j, kActor, 0, {24576});
    auto const name = std::find(p.names.begin(), p.names.end(), "actor logits: entropy");
    std::vector<std::int64_t> sizes;
    for (ProgramEvent const& e : p.events) {
      if (e.kind == ProgramEvent::Kind::allocate && e.name == name - p.names.begin())
        sizes.push_back(e.bytes);
    }
    return sizes;
  };
  EXPECT_EQ(copies(), (std::vector<std::int64_t>(3, 14'935'916'544)));
  j.train.entropy = Entropy::chunked;
  j.train.entropy_rows = 128;
  EXPECT_EQ(copies(), (std::vector<std::int64_t>(3, 128LL * 151936 * 4)));
  j.train.entropy = Entropy::none;
  EXPECT_TRUE(copies().empty());
}

// Of eight equal micro-batches three are written; the work of all counts.
TEST(PhaseProgram, EqualMicroBatchesAreWrittenThreeTimes) {
  Job const j = test::plain_job(test::model("llama-3.2-1b"), AlgorithmKind::grpo, 8);
  PhaseProgram const three = forward_program(j, kActor, 0, {512, 512, 512});
  PhaseProgram const eight = forward_program(j, kActor, 0, std::vector<double>(8, 512));
  EXPECT_EQ(eight.events.size(), three.events.size());
  EXPECT_NEAR(eight.work, three.work * 8 / 3, 1e-9);
}

}  // namespace
}  // namespace rollcast
