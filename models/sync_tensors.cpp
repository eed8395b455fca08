#include "models/sync_tensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "models/adapter.hpp"

namespace rollcast {
namespace {

bool is_quantized(Tensor const& t) {
  if (!t.matmul || t.split == Split::vocab) return false;
  for (std::string_view const kept :
       {"mlp.gate.weight", "mlp.shared_expert_gate.weight", "linear_attn.in_proj_a.weight",
        "linear_attn.in_proj_b.weight", "project_in.weight", "project_out.weight"}) {
    if (t.name == kept) return false;
  }
  return true;
}

int whole(Bytes b) { return static_cast<int>(b.value); }

// The pair follows its layer: the factor on the cut side is cut, the other one whole.
// Of several adapters they are numbered.
std::vector<Tensor> factors(Adapter const& adapter, Tensor const& t) {
  std::string const module = t.name.substr(0, t.name.size() - std::string_view("weight").size());
  Tensor a = t, b = t;
  a.rows = adapter.rank;
  a.split = t.split == Split::columns ? Split::columns : Split::replicated;
  a.kv = false;
  b.columns = adapter.rank;
  b.split = t.split == Split::columns ? Split::replicated : t.split;
  std::vector<Tensor> pairs;
  for (int i = 0; i < adapter.count; ++i) {
    std::string const of = adapter.count > 1 ? fmt::format("{}.weight", i) : "weight";
    a.name = module + "lora_A." + of;
    b.name = module + "lora_B." + of;
    pairs.push_back(a);
    pairs.push_back(b);
  }
  return pairs;
}

class List {
 public:
  List(SyncPayload const& payload, ExpertRuns const& runs) : payload_(payload), runs_(runs) {}

  void add(std::vector<Tensor> const& tensors, int layer) {
    int ordinal = std::max(0, layer);
    for (Tensor const& t : tensors) {
      if (!payload_.factors) {
        add_one(t, layer, ordinal++, layer >= 0);
        continue;
      }
      if (layer < 0 || !is_target(*payload_.factors, t)) continue;
      for (Tensor const& f : factors(*payload_.factors, t)) add_one(f, layer, ordinal++, false);
    }
  }

  std::vector<SyncTensor> take() { return std::move(list_); }

 private:
  void add_one(Tensor const& t, int layer, int ordinal, bool may_be_quantized) {
    SyncTensor s;
    s.tensor = t;
    s.tensor.copies = 1;
    s.layer = layer;
    s.ordinal = ordinal;
    s.factor = payload_.factors.has_value();
    bool const fp8 = payload_.weights == DType::fp8 && !s.factor;
    s.quantized = fp8 && may_be_quantized && is_quantized(t);
    s.element_bytes = whole(size_of(s.factor || (fp8 && !s.quantized) ? payload_.plain : payload_.weights));
    if (!t.expert) {
      list_.push_back(s);
      return;
    }
    for (int e = 0; e < t.copies; e += s.experts) {
      int const end = std::min(first_expert_of(expert_rank(e, runs_.train, 0) + 1, runs_.train, 0),
                               first_expert_of(expert_rank(e, runs_.engine, runs_.engine_longer) + 1,
                                               runs_.engine, runs_.engine_longer));
      s.first_expert = e;
      s.experts = runs_.apart ? 1 : std::min(static_cast<int>(t.copies), end) - e;
      list_.push_back(s);
      ++s.ordinal;
    }
  }

  SyncPayload const& payload_;
  ExpertRuns const& runs_;
  std::vector<SyncTensor> list_;
};

}  // namespace

std::string full_name(SyncTensor const& t) {
  std::string name = t.tensor.name;
  if (t.tensor.expert) {
    std::string_view const module = "experts.";
    if (auto const at = name.find(module); at != std::string::npos)
      name.insert(at + module.size(), std::to_string(t.first_expert) + ".");
  }
  return t.layer < 0 ? name : fmt::format("layers.{}.{}", t.layer, name);
}

SyncPayload sync_payload(Job const& job, Fp8Scaling scaling) {
  SyncPayload p;
  p.weights = job.rollout.weights;
  p.scaling = scaling;
  auto const& adapter = job.algorithm.adapter;
  if (adapter && adapter->sync == AdapterSync::adapter) {
    p.factors = adapter;
    p.plain = job.train.weights;
  }
  return p;
}

int expert_rank(int expert, int run, int longer) {
  int const in_longer = longer * (run + 1);
  if (expert < in_longer) return expert / (run + 1);
  return longer + (expert - in_longer) / std::max(1, run);
}

int first_expert_of(int rank, int run, int longer) { return rank * run + std::min(rank, longer); }

std::vector<SyncTensor> sync_tensors(Architecture const& a, SyncPayload const& payload,
                                     ExpertRuns const& runs) {
  List list(payload, runs);
  for (int layer = 0; layer < a.layers; ++layer) list.add(layer_tensors(a, layer), layer);
  list.add(outer_tensors(a), -1);
  return list.take();
}

}  // namespace rollcast
