// What one pipeline stage of the trainer holds, the same for every micro-batch: its kinds of layers with
// their products, passes, operations and exchanges, and its head. models/stage_prices.hpp prices it.
#pragma once

#include <optional>
#include <vector>

#include "models/adapter_passes.hpp"
#include "models/collective_prices.hpp"
#include "models/job.hpp"
#include "models/layer_passes.hpp"
#include "models/layer_prices.hpp"
#include "models/partition_work.hpp"
#include "models/prices.hpp"
#include "models/shard_exchange.hpp"
#include "models/stage_prices.hpp"

namespace rollcast {

// StageSums for the forward and the backward of a stage.
struct StageSums {
  Seconds compute;
  Seconds communication;
  Flops flops;
};

// Of the products at the number of tokens that was priced last.
struct ProductSums {
  double tokens = -1;
  StageSums forward;
  StageSums backward;
};

struct StageWork {
  struct Layers {
    int example = 0;  // one of them
    LayerShape shape;
    LayerPasses passes;
    int forward_operations = 0;
    int backward_operations = 0;
    PartitionWork hooks;
    Seconds forward_host;  // beside the operations
    std::vector<AdapterPair> adapters;
    ShardExchange exchange;
    int count = 0;
    LayerProducts products;
    std::optional<AttentionPrices> attention;
    ProductSums last = {};
  };
  std::vector<Layers> layers;
  std::vector<Matmul> head;  // empty without lm_head
  LayerProducts head_products;
  ProductSums last_head;
};

StageWork stage_work(Profile const& p, CollectivePrices& collectives, Job const& job, Stage const& s);

}  // namespace rollcast
