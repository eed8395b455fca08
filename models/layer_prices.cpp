#include "models/layer_prices.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "models/random.hpp"
#include "models/sustained_clock.hpp"

namespace rollcast {
namespace {

constexpr double kElement = 2;  // activations are bf16

// Launches of a dense layer's forward in eager mode: two norms, q, k, v, rope, attention, o, two adds, gate,
// up, activation, down. A mixture adds router, top-k, two permutations and the shared experts.
constexpr int kDenseKernels = 14;
constexpr int kMoeKernels = 22;

Matmul cut_matmul(Architecture const& a, Tensor const& t, Cut cut) {
  Matmul m;
  m.tensor = t.name;
  m.n = static_cast<double>(t.rows);
  m.k = static_cast<double>(t.columns);
  double divisor = t.kv ? kv_cut(a, cut.tp) : cut.tp;
  if (t.expert) {
    divisor = cut.expert_tp();
    double const experts = a.moe->experts;
    bool const whole = cut.whole_experts && cut.ep > 1;
    m.copies = experts / cut.ep;
    m.hit = a.moe->experts_per_token / experts;
    m.rows_per_token = a.moe->experts_per_token * (whole ? 1.0 / cut.tp : cut.expert_share());
    m.expert = true;
    m.arrivals = whole ? std::max(1.0, static_cast<double>(cut.ep) / cut.tp) : cut.ep * cut.expert_share();
    if (whole) divisor = 1;
  }
  m.whole = t.split == Split::replicated;
  if (t.split == Split::rows || t.split == Split::vocab) m.n /= divisor;
  if (t.split == Split::columns) m.k /= divisor;
  return m;
}

// "self_attn.q_proj.weight" is a part of "self_attn.qkv".
std::string fused_name(std::string const& tensor, Fusion fusion) {
  for (std::string_view const part : {".q_proj.", ".k_proj.", ".v_proj.", ".gate_proj.", ".up_proj."}) {
    std::size_t const at = tensor.find(part);
    if (at == std::string::npos) continue;
    bool const gate_up = part == ".gate_proj." || part == ".up_proj.";
    if (gate_up && fusion == Fusion::qkv) return tensor;
    return tensor.substr(0, at) + (gate_up ? ".gate_up" : ".qkv");
  }
  return tensor;
}

// Activation of a (gated) MLP of this width: reads gate and up, writes the product.
double activation_bytes(Architecture const& a, double width) {
  return (a.gated_mlp ? 3 : 2) * width * kElement;
}

// Without a gate there is one input: a read and a write, as of rope.
Pass activation_pass(Architecture const& a, double width, double rows) {
  return {a.gated_mlp ? ElementwisePass::activation : ElementwisePass::rope, width, rows};
}

PassTable const* measured_passes(Profile const& p) {
  if (!p.kernels || p.kernels->tables().passes.empty()) return nullptr;
  return &p.kernels->tables().passes.front();
}

}  // namespace

Cut trainer_cut(Parallel const& p) { return {p.tp, p.ep, /*whole_experts=*/false, p.etp}; }

int kv_cut(Architecture const& a, int tp) { return std::min(tp, std::max(1, a.kv_heads)); }

bool is_target(Adapter const& adapter, std::string const& tensor) {
  return std::any_of(adapter.targets.begin(), adapter.targets.end(), [&](std::string const& target) {
    return tensor.find("." + target + "_proj.") != std::string::npos;
  });
}

double matrices_read(Matmul const& m, double tokens) {
  if (m.hit >= 1) return m.copies;
  return m.copies * (1 - portable_exp(tokens * m.arrivals * portable_log(1 - m.hit)));
}

LayerShape layer_shape(Architecture const& a, int layer, Cut cut) {
  LayerShape s;
  s.moe = is_moe_layer(a, layer);
  for (Tensor const& t : layer_tensors(a, layer)) {
    if (t.matmul) s.matmuls.push_back(cut_matmul(a, t, cut));
  }

  double const h = a.hidden;
  double const norms = a.parallel_block ? 1 : 2;
  s.passes.insert(s.passes.end(), static_cast<std::size_t>(norms), {ElementwisePass::norm, h, 1, true});
  s.passes.insert(s.passes.end(), 2, {ElementwisePass::add, h, 1, true});
  s.stream_bytes = bytes((norms * 2 * h + 2 * 3 * h) * kElement);
  s.kernels = s.moe ? kMoeKernels : kDenseKernels;

  double inner = 0;
  if (is_linear_attention_layer(a, layer)) {
    LinearAttention const& l = *a.linear_attention;
    double const key = static_cast<double>(l.key_heads) * l.key_head_dim;
    double const value = static_cast<double>(l.value_heads) * l.value_head_dim;
    // Convolution over q, k, v; norm and gate of the output.
    inner += (2 * (2 * key + value) + 3 * value) * kElement / cut.tp;
    s.passes.push_back({ElementwisePass::norm, (2 * key + value) / cut.tp});
    s.passes.push_back({ElementwisePass::activation, value / cut.tp});
    s.recurrence_per_token = Flops(2 * 3 * value * l.key_head_dim / cut.tp);
  } else {
    double const qk = a.mla ? a.mla->qk_nope_head_dim + a.mla->qk_rope_head_dim : a.head_dim;
    double const v = a.mla ? a.mla->v_head_dim : a.head_dim;
    double const kv_heads =
        a.mla ? a.heads / static_cast<double>(cut.tp) : a.kv_heads / static_cast<double>(kv_cut(a, cut.tp));
    double const heads = a.heads / static_cast<double>(cut.tp);
    // MLA rotates a part of each query and one key that all heads share.
    double const rotated = a.mla ? (heads + 1) * a.mla->qk_rope_head_dim : (heads + kv_heads) * qk;
    double const rope = 2 * rotated * kElement;
    inner += rope + (a.qk_norm ? rope : 0);
    s.passes.push_back({ElementwisePass::rope, rotated});
    // Its rows of head_dim share blocks, so it streams as rope does.
    if (a.qk_norm) s.passes.push_back({ElementwisePass::rope, rotated});
    if (a.gated_attention) {
      inner += 3 * heads * v * kElement;
      s.passes.push_back({ElementwisePass::activation, heads * v});
    }
    s.attention_per_pair = attention_flops_per_pair(a, layer) / cut.tp;
    s.kv_per_token = bytes(kv_heads * (qk + v) * kElement);
    if (!a.mla) s.heads = HeadShape{heads, kv_heads, qk};
  }
  if (s.moe) {
    Moe const& m = *a.moe;
    bool const whole = cut.whole_experts && cut.ep > 1;
    double const rows = m.experts_per_token * (whole ? 1.0 / cut.tp : cut.expert_share());
    double const width = static_cast<double>(m.expert_intermediate) / (whole ? 1 : cut.expert_tp());
    s.experts = MoeShape{h,
                         static_cast<double>(m.expert_intermediate),
                         static_cast<double>(m.experts),
                         static_cast<double>(m.experts_per_token),
                         whole ? 1.0 : cut.expert_tp(),
                         whole ? static_cast<double>(cut.ep) : 1.0};
    if (!whole) s.expert_ranks = cut.ep;
    // Tokens are copied to their experts' order and back.
    double const shared = static_cast<double>(m.shared_intermediate) / cut.tp;
    inner += rows * (activation_bytes(a, width) + 4 * h * kElement);
    inner += activation_bytes(a, shared);
    Pass activation = activation_pass(a, width, rows);
    activation.part = Pass::Part::experts;
    s.passes.push_back(activation);
    // A read and a write of each routed token, as rope has them.
    s.passes.insert(s.passes.end(), 2, {ElementwisePass::rope, h, rows, false, Pass::Part::routing});
    if (shared > 0) s.passes.push_back(activation_pass(a, shared, 1));
  } else {
    double const width = static_cast<double>(a.intermediate) / cut.tp;
    inner += activation_bytes(a, width);
    s.passes.push_back(activation_pass(a, width, 1));
  }
  s.inner_bytes = bytes(inner);
  return s;
}

std::vector<Matmul> fused(std::vector<Matmul> const& matmuls, Fusion fusion) {
  if (fusion == Fusion::none) return matmuls;
  std::vector<Matmul> list;
  for (Matmul m : matmuls) {
    m.tensor = fused_name(m.tensor, fusion);
    auto const partner =
        std::find_if(list.begin(), list.end(), [&](Matmul const& other) { return other.tensor == m.tensor; });
    if (partner == list.end()) {
      list.push_back(std::move(m));
    } else {
      partner->n += m.n;
    }
  }
  return list;
}

std::vector<Matmul> lm_head_matmuls(Architecture const& a, int tp) {
  double const width = a.embedding_width > 0 ? a.embedding_width : a.hidden;
  std::vector<Matmul> list;
  Matmul head;
  head.tensor = "lm_head.weight";
  head.n = static_cast<double>(a.vocab) / tp;
  head.k = width;
  if (a.embedding_width > 0 && a.embedding_width != a.hidden) {
    Matmul projection;
    projection.tensor = "project_out.weight";
    projection.n = width;
    projection.k = a.hidden;
    list.push_back(projection);
  }
  list.push_back(head);
  return list;
}

std::vector<LayerKind> layer_kinds(Architecture const& a, int first, int count) {
  LayerKind kinds[4];
  for (int layer = first; layer < first + count; ++layer) {
    LayerKind& kind = kinds[(is_moe_layer(a, layer) ? 2 : 0) + (is_linear_attention_layer(a, layer) ? 1 : 0)];
    kind.example = layer;
    ++kind.count;
  }
  std::vector<LayerKind> list;
  for (LayerKind const& kind : kinds) {
    if (kind.count > 0) list.push_back(kind);
  }
  return list;
}

Seconds matmul_time(Profile const& p, Matmul const& m, double tokens, DType dtype, double clock) {
  double const rows = tokens * m.rows_per_token;
  if (!m.expert && rows > 0) return gemm_time(p, rows, m.n, m.k, dtype, clock);
  Flops const work(2 * rows * m.n * m.k);
  Bytes const moved = size_of(dtype) * (rows * m.k + matrices_read(m, tokens) * m.n * m.k + rows * m.n);
  return max(work / (matmul_rate(p, dtype) * clock), moved / matmul_bandwidth(p));
}

LayerProducts layer_products(Profile const& p, LayerShape const& s, DType dtype, Fusion fusion) {
  LayerProducts products;
  products.matmuls = fused(s.matmuls, fusion);
  if (!s.experts || !p.kernels) return products;
  products.experts = p.kernels->moe(gemm_kind_of(dtype), *s.experts);
  if (!products.experts) return products;
  products.expert_shape = *s.experts;
  products.expert_ranks = s.expert_ranks;
  auto const first_expert = std::stable_partition(products.matmuls.begin(), products.matmuls.end(),
                                                  [](Matmul const& m) { return !m.expert; });
  if (first_expert != products.matmuls.end()) products.arrivals = first_expert->arrivals;
  products.matmuls.erase(first_expert, products.matmuls.end());
  return products;
}

Seconds experts_time(Profile const& p, LayerProducts const& products, double tokens, DType dtype,
                     double clock) {
  if (!products.experts || tokens <= 0) return Seconds(0);
  MoeShape const& s = products.expert_shape;
  GemmKind const kind = gemm_kind_of(dtype);
  double const routed = tokens * products.arrivals;
  Seconds const all = products.experts->at(routed) * (dtype == DType::fp32 ? 2 : 1);
  Flops const work(6 * routed * s.top_k / s.ep * s.hidden * s.intermediate / s.tp);
  Seconds const compute = work / matrix_peak(p.gpu, kind);
  double const busy = std::min(1.0, compute / moe_roofline(p.gpu, kind, s, routed));
  return sustained_time(all / products.expert_ranks, busy, clock);
}

Seconds products_time(Profile const& p, LayerProducts const& products, double tokens, DType dtype,
                      double clock) {
  Seconds total = experts_time(p, products, tokens, dtype, clock);
  for (Matmul const& m : products.matmuls) total += matmul_time(p, m, tokens, dtype, clock);
  return total;
}

Seconds passes_time(Profile const& p, LayerShape const& s, double tokens, double stream_cut, bool fuse,
                    bool measured_experts) {
  PassTable const* const table = measured_passes(p);
  Seconds const by_bytes = memory_time(p, (s.inner_bytes + s.stream_bytes / stream_cut) * tokens);
  if (table == nullptr) return by_bytes;
  int norms_to_fuse = fuse ? 2 : 0;  // there are two adds
  Seconds total;
  for (Pass const& pass : s.passes) {
    bool const counted = pass.part == Pass::Part::experts || (pass.part == Pass::Part::routing && fuse);
    if (counted && measured_experts) continue;
    double const rows = tokens * pass.rows_per_token / (pass.stream ? stream_cut : 1);
    std::optional<Seconds> time;
    if (pass.stream && pass.kind == ElementwisePass::norm && norms_to_fuse > 0) {
      --norms_to_fuse;
      continue;  // with the add before it
    }
    if (pass.stream && pass.kind == ElementwisePass::add && fuse) {
      time = fused_time(*table, p.gpu, {ElementwisePass::add, ElementwisePass::norm}, rows, pass.width);
    } else {
      time = pass_time(*table, p.gpu, pass.kind, rows, pass.width);
    }
    if (!time) return by_bytes;
    total += *time;
  }
  return total;
}

}  // namespace rollcast
