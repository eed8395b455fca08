// Hugging Face generate against the generation phases of R22: the rows that its host times were fitted on.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>

#include "calibrate/profiles.hpp"
#include "models/catalog/catalog.hpp"
#include "models/engine_versions.hpp"
#include "models/static_generate.hpp"

namespace rollcast {
namespace {

struct Row {
  char const* name;
  char const* model;
  int batch;       // of one rank
  int ranks;       // that generate
  double seconds;  // for 1,024 samples
  bool unpadded;   // flash attention (OpenRLHF) rather than PyTorch's (DeepSpeed-Chat)
  double scored;   // sequences that the busiest GPU scores for one batch of every rank
};

// OpenRLHF benchmark README: prompts and answers of 1,024 tokens on 8 A800. Actor, reference, critic and
// reward model score every batch: all on the same GPUs, or reference and reward model on one GPU each for
// four actors.
constexpr Row kRows[] = {
    {"7B DeepSpeed-Chat, offload", "llama-2-7b", 8, 8, 697.12, false, 32},
    {"7B DeepSpeed-Chat", "llama-2-7b", 4, 8, 975.36, false, 16},
    {"7B OpenRLHF", "llama-2-7b", 8, 8, 920.81, true, 32},
    {"7B OpenRLHF ray", "llama-2-7b", 16, 4, 1498.77, true, 64},
    {"13B DeepSpeed-Chat", "llama-2-13b", 2, 8, 2590.72, false, 8},
    {"13B OpenRLHF ray", "llama-2-13b", 8, 4, 2722.51, true, 32},
};

TEST(HuggingFaceGeneration, PublishedPhasesAreWithinTenPercent) {
  Profile const p = profile_for(*find_gpu(builtin_catalog(), "a800-sxm-80gb"));
  ClusterSpec cluster;
  cluster.node = *find_node(builtin_catalog(), "hgx-a800");
  cluster.nodes = 1;
  CollectivePrices collectives(p, cluster);
  for (Row const& row : kRows) {
    Architecture const& a = *find_architecture(builtin_catalog(), row.model);
    EngineOptions e;
    e.kind = EngineKind::hf;
    StaticOptions options;
    options.prompt_length = 1024;
    options.unpadded_attention = row.unpadded;
    StaticBatch const b =
        static_generate(p, collectives, a, e, *overhead_of_version(EngineKind::hf, ""), options,
                        std::vector<StaticSequence>(static_cast<std::size_t>(row.batch), {1024, 1024}));
    // The forwards of 2,048 tokens at 60 % of 312 TFLOP/s.
    double const scoring =
        row.scored * 2 * static_cast<double>(count_parameters(a).total) * 2048 / (0.6 * 312e12);
    double const batches = 1024.0 / row.ranks / row.batch;
    double const forecast = batches * (b.end.value + scoring);
    std::cout << fmt::format("{:<26} {:.0f} s, measured {:.0f} s\n", row.name, forecast, row.seconds);
    EXPECT_LT(std::fabs(forecast / row.seconds - 1), 0.1) << row.name;
  }
}

}  // namespace
}  // namespace rollcast
