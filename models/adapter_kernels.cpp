#include "models/adapter_kernels.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "models/adapter_memory.hpp"
#include "models/engine_layout.hpp"
#include "models/engine_versions.hpp"
#include "models/prices.hpp"

namespace rollcast {
namespace {

constexpr double kElement = 2;
constexpr double kShrunk = 4;  // between the two kernels, fp32
constexpr int kMergeOperations = 3;
constexpr double kMergeElement = 4;  // fp32

// A projection's name, and a name for the kernels that it shares with others where an engine fuses them.
struct Projection {
  std::string_view name;
  std::string_view fused;
  bool column;  // tensor parallelism cuts its outputs; else its inputs
};
constexpr Projection kProjections[] = {
    {"q", "qkv", true},        {"k", "qkv", true},      {"v", "qkv", true},     {"o", "o", false},
    {"gate", "gate_up", true}, {"up", "gate_up", true}, {"down", "down", false}};

Projection const* projection_of(std::string const& tensor, std::string& before) {
  for (Projection const& each : kProjections) {
    std::size_t const at = tensor.find("." + std::string(each.name) + "_proj.");
    if (at == std::string::npos) continue;
    before = tensor.substr(0, at + 1);
    return &each;
  }
  return nullptr;
}

bool targets(AdapterVariant const& v, std::string_view projection) {
  return std::find(v.targets.begin(), v.targets.end(), projection) != v.targets.end();
}

// How the kernels are laid out.
struct Style {
  bool everywhere = false;  // beside products that no adapter targets, too
  bool fused = false;
  bool padded = false;
  bool sharded = false;  // both factors cut
};

class KernelList {
 public:
  KernelList(Profile const& p, ServedAdapters const& adapters, Style style, double tp)
      : p_(p), adapters_(adapters), style_(style), tp_(tp) {}

  void add(Matmul const& m, LayerKind const& kind) {
    std::string before;
    Projection const* const projection = projection_of(m.tensor, before);
    if (projection == nullptr) return;
    auto const used = [&](AdapterVariant const& v) {
      return targets(v, projection->name) || (style_.everywhere && !m.expert);
    };
    if (std::none_of(adapters_.variants.begin(), adapters_.variants.end(), used)) return;
    std::string const name = before + std::string(style_.fused ? projection->fused : projection->name) + ' ' +
                             std::to_string(kind.example);
    auto const at = std::find(names_.begin(), names_.end(), name);
    auto const place = static_cast<std::size_t>(at - names_.begin()) * 2;
    if (at == names_.end()) {
      names_.push_back(name);
      kernels_.resize(kernels_.size() + 2, {static_cast<double>(kind.count), m,
                                            std::vector<AdapterShare>(adapters_.variants.size())});
    }
    for (std::size_t v = 0; v < adapters_.variants.size(); ++v) {
      if (!used(adapters_.variants[v])) continue;
      double const rank = style_.padded ? slot_of(adapters_).rank : adapters_.variants[v].rank;
      bool const cut = style_.sharded && !m.whole;
      add_share(kernels_[place].of_variant[v], m, kElement * m.k, m.k, rank, cut && projection->column);
      add_share(kernels_[place + 1].of_variant[v], m, 2 * kElement * m.n, m.n, rank,
                cut && !projection->column);
    }
  }

  std::vector<AdapterKernel> take() { return std::move(kernels_); }
  double products() const {
    double sum = 0;
    for (std::size_t i = 0; i < kernels_.size(); i += 2) sum += kernels_[i].layers;
    return sum;
  }

 private:
  void add_share(AdapterShare& share, Matmul const& m, double row_bytes, double width, double rank,
                 bool cut) {
    double const own = cut ? 1 / tp_ : 1;
    share.rows += m.rows_per_token * memory_time(p_, bytes(row_bytes + kShrunk * rank)).value;
    share.matrix += (bytes(kElement * rank * width * own) / (p_.gpu.memory_bandwidth * kAdapterGather)).value;
    share.flops += (Flops(2 * m.rows_per_token * rank * width * own) / matmul_rate(p_, DType::bf16)).value;
  }

  Profile const& p_;
  ServedAdapters const& adapters_;
  Style style_;
  double tp_;
  std::vector<std::string> names_;
  std::vector<AdapterKernel> kernels_;  // shrink and expand of each name
};

// One kernel for `tokens` tokens of `distinct` adapters, added to what others in it move and compute.
struct Load {
  double moved = 0;
  double computed = 0;
  double distinct = 0;

  void add(AdapterKernel const& kernel, std::size_t variant, double tokens, double adapters) {
    AdapterShare const& share = kernel.of_variant[variant];
    if (!(share.rows > 0) || !(tokens > 0)) return;
    double const matrices = adapters * matrices_read(kernel.product, tokens / adapters);
    moved += tokens * share.rows + matrices * share.matrix;
    computed += tokens * share.flops;
    distinct += adapters;
  }
};

}  // namespace

AdapterKernels adapter_kernels(Profile const& p, Architecture const& a, EngineOptions const& e,
                               ServedAdapters const& adapters) {
  EngineLayout const layout = engine_layout(e);
  AdapterRelease const release = adapter_release(e.kind, e.version);
  double const tp = layout.own.tp;
  bool const everywhere = release.everywhere && adapters.pool == AdapterPool::fixed;
  KernelList batched(p, adapters, {everywhere, release.fused, adapters.padded_ranks, adapters.fully_sharded},
                     tp);
  KernelList plain(p, adapters, {}, tp);
  for (LayerKind const& kind : layer_kinds(a, 0, a.layers)) {
    for (Matmul const& m : layer_shape(a, kind.example, layout.own).matmuls) {
      batched.add(m, kind);
      plain.add(m, kind);
    }
  }
  AdapterKernels out;
  out.launches = release.launches * (batched.products() / e.parallel.pp);
  out.groups = layout.groups;
  out.exchanges = adapters.fully_sharded && tp > 1 ? batched.products() : 0;
  out.kernels = batched.take();
  out.plain = plain.take();
  return out;
}

Seconds adapter_step_time(AdapterKernels const& k, std::span<AdapterCounts const> of_variants) {
  double sum = 0;
  bool any = false;
  for (AdapterKernel const& kernel : k.kernels) {
    Load load;
    for (std::size_t v = 0; v < of_variants.size(); ++v) {
      double const own = std::max(1.0, of_variants[v].tokens / k.groups);
      if (of_variants[v].tokens > 0) load.add(kernel, v, own, std::min(of_variants[v].distinct, own));
    }
    if (!(load.distinct > 0)) continue;
    any = true;
    sum += kernel.layers * (kAdapterKernel.value + load.distinct * kAdapterSegment.value +
                            std::max(load.moved, load.computed));
  }
  return Seconds(any ? sum + k.exchanges * kAdapterKernel.value : 0);
}

Seconds adapter_host_time(AdapterKernels const& k) { return k.launches; }

Seconds adapter_split_time(AdapterKernels const& k, int variant, double tokens) {
  double sum = 0;
  for (AdapterKernel const& kernel : k.plain) {
    Load load;
    load.add(kernel, static_cast<std::size_t>(variant), std::max(1.0, tokens / k.groups), 1);
    if (load.distinct > 0)
      sum += kernel.layers * (kAdapterKernel.value + std::max(load.moved, load.computed));
  }
  return Seconds(tokens > 0 ? sum : 0);
}

Seconds merge_time(Profile const& p, Architecture const& a, EngineOptions const& e, AdapterVariant const& v) {
  EngineLayout const layout = engine_layout(e);
  Seconds gpu;
  double operations = 0;
  for (LayerKind const& kind : layer_kinds(a, 0, a.layers)) {
    for (Matmul const& m : layer_shape(a, kind.example, layout.own).matmuls) {
      std::string before;
      Projection const* const projection = projection_of(m.tensor, before);
      if (projection == nullptr || !targets(v, projection->name)) continue;
      double const elements = m.copies * m.n * m.k;
      Seconds const product = max(memory_time(p, bytes(kMergeElement * elements)),
                                  Flops(2 * elements * v.rank) / matmul_rate(p, DType::fp32));
      Bytes const scaled = bytes(2 * kMergeElement * elements);
      // Added as fp32, or cast and taken off.
      Bytes const added = bytes((kMergeElement + (kMergeElement + 2 * kElement)) / 2 * elements) +
                          size_of(e.weights) * (2 * elements);
      gpu += (product + memory_time(p, scaled + added)) * kind.count;
      operations += kMergeOperations * m.copies * kind.count;
    }
  }
  Seconds const host = Seconds(p.kernel_launch.value) * p.eager_launches.value * operations;
  return max(gpu, host) / e.parallel.pp;
}

}  // namespace rollcast
