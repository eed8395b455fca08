#include "models/stage_work.hpp"

#include <utility>

#include "models/switching.hpp"

namespace rollcast {
namespace {

constexpr double kElement = 2;  // activations are bf16

Fusion fusion_of(TrainerOptions const& t) {
  if (t.kind == TrainerKind::megatron) return Fusion::all;
  return t.merged_qkv ? Fusion::qkv : Fusion::none;
}

// Operations of the adapter's pairs and of dequantization, forward and backward.
void count_adapter(Job const& job, StageWork::Layers& layers) {
  auto const& adapter = job.algorithm.adapter;
  if (!adapter) return;
  TrainerOptions const& t = job.train;
  layers.adapters = adapter_pairs(layers.shape.matmuls, *adapter, t.merged_qkv);
  for (AdapterPair const& pair : layers.adapters) {
    AdapterWork const work = adapter_work(t.kernels, pair, adapter->dropout);
    layers.forward_operations += work.forward_operations;
    layers.backward_operations += work.backward_operations;
    layers.forward_host += work.forward_host;
  }
  if (adapter->kind != AdapterKind::qlora) return;
  DequantizationWork const work = dequantization_work(*adapter, t.kernels, t.weights);
  auto const products = static_cast<int>(fused(layers.shape.matmuls, fusion_of(t)).size());
  layers.forward_operations += work.forward_operations * products;
  layers.backward_operations += work.backward_operations * products;
}

}  // namespace

StageWork stage_work(Profile const& p, CollectivePrices& collectives, Job const& job, Stage const& s) {
  Parallel const& parallel = job.train.parallel;
  StageWork work;
  for (LayerKind const& kind : layer_kinds(job.model, s.first_layer, s.layers)) {
    Cut const cut = trainer_cut(parallel);
    StageWork::Layers layers;
    layers.example = kind.example;
    layers.shape = layer_shape(job.model, kind.example, cut);
    if (job.train.sequence_parallel) {
      for (Matmul& m : layers.shape.matmuls) m.rows_per_token /= m.whole ? parallel.tp : 1;
    }
    layers.passes = layer_passes(job.model, kind.example, cut, job.train.kernels, job.train.kind,
                                 job.algorithm.adapter.has_value(), job.train.merged_qkv);
    if (job.train.expand_kv) add_kv_copies(layers.passes, job.model, kind.example, cut);
    layers.forward_operations = layers.passes.forward.operations;
    layers.backward_operations = layers.passes.backward.operations;
    count_adapter(job, layers);
    layers.hooks = partition_work(job, kind.example);
    layers.exchange = shard_exchange(collectives, job, kind.example);
    layers.exchange.scatter += stream_time(p, bytes(layers.hooks.reduce_bytes));
    layers.count = kind.count;
    layers.products = layer_products(p, layers.shape, job.train.weights, fusion_of(job.train));
    if (p.kernels && layers.shape.heads)
      layers.attention = p.kernels->attention(AttentionKind::prefill, kElement, 0, *layers.shape.heads);
    work.layers.push_back(std::move(layers));
  }
  if (s.has_lm_head) work.head = lm_head_matmuls(job.model, parallel.tp);
  work.head_products.matmuls = work.head;
  return work;
}

}  // namespace rollcast
