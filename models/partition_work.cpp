#include "models/partition_work.hpp"

#include <algorithm>
#include <cmath>

#include "models/adapter.hpp"
#include "models/gradient_buckets.hpp"
#include "models/shard_exchange.hpp"

namespace rollcast {
namespace {

constexpr int kPerModule = 4;
constexpr int kPerMatrix = 4;
constexpr int kPerMatrixAlone = 2;
constexpr int kPerGradient = 7;
constexpr int kToBucket = 1;
constexpr double kOfOwner = 3;
constexpr int kPlainModules = 5;  // layer, attention, rotary embedding, MLP, activation
constexpr int kAdapterModules = 4;
constexpr int kExpertModules = 2;
constexpr double kDivision = 4;

// Modules and parameters of one layer as Transformers and peft make them.
struct Contents {
  double modules = kPlainModules;
  double matrices = 0;
  double trained = 0;
};

Contents contents_of(Job const& job, int layer) {
  auto const& adapter = job.algorithm.adapter;
  double const experts_here = 1.0 / job.train.parallel.ep;
  Contents c;
  for (Tensor const& t : layer_tensors(job.model, layer)) {
    double const copies = static_cast<double>(t.copies) * (t.expert ? experts_here : 1);
    bool const bias = t.name.ends_with(".bias");
    if (!bias) c.modules += copies;
    if (t.matmul) c.matrices += copies;
    if (!adapter) c.trained += copies;
    if (t.expert && t.name.find("down_proj") != std::string::npos) c.modules += kExpertModules * copies;
    if (adapter && is_target(*adapter, t)) {
      c.modules += kAdapterModules * copies;
      c.matrices += 2 * copies;
      c.trained += 2 * copies * adapter->count;
    }
  }
  return c;
}

int whole(double operations) { return static_cast<int>(std::lround(operations)); }

PartitionWork fully_sharded_work(Job const& job, int layer, Contents const& c, int ranks) {
  double const hooks = kPerModule * c.modules + (ranks > 1 ? kPerMatrix : kPerMatrixAlone) * c.matrices;
  double const g = size_of(job.train.gradients).value;
  double const of_shard = 2 + 2 * g;
  double const trained = trained_parameters(job, {layer, 1, false, false});
  return {whole(hooks), whole(hooks + kPerGradient * c.trained), trained * (kDivision + of_shard / ranks)};
}

}  // namespace

PartitionWork partition_work(Job const& job, int layer) {
  if (job.train.kind != TrainerKind::deepspeed || job.train.zero_stage < 2) return {};
  Contents const c = contents_of(job, layer);
  int const ranks = shard_group(job).ranks;
  if (job.train.zero_stage == 3) return fully_sharded_work(job, layer, c, ranks);
  return {0, whole(c.trained * (kToBucket + kOfOwner / ranks)), 0};
}

}  // namespace rollcast
