#include "scenarios/text/catalog_fields.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace rollcast {
namespace {

constexpr Range kShape{1, 1e7, false};
constexpr Range kOptionalShape{0, 1e7, false};

template <class T>
struct Kind;
template <>
struct Kind<Gpu> {
  static constexpr std::string_view noun = "GPU";
  static std::vector<Gpu> const& all(Catalog const& c) { return c.gpus; }
  static Gpu const* find(Catalog const& c, std::string_view name) { return find_gpu(c, name); }
};
template <>
struct Kind<Node> {
  static constexpr std::string_view noun = "node";
  static std::vector<Node> const& all(Catalog const& c) { return c.nodes; }
  static Node const* find(Catalog const& c, std::string_view name) { return find_node(c, name); }
};
template <>
struct Kind<Fabric> {
  static constexpr std::string_view noun = "fabric";
  static std::vector<Fabric> const& all(Catalog const& c) { return c.fabrics; }
  static Fabric const* find(Catalog const& c, std::string_view name) { return find_fabric(c, name); }
};
template <>
struct Kind<Architecture> {
  static constexpr std::string_view noun = "model";
  static std::vector<Architecture> const& all(Catalog const& c) { return c.architectures; }
  static Architecture const* find(Catalog const& c, std::string_view name) {
    return find_architecture(c, name);
  }
};

// "llama-3.1-8b" for "llama-3.1-8b-something": the longest name that the word starts with.
std::string_view longest_prefix(std::string_view word, std::vector<std::string_view> const& names) {
  std::string_view best;
  for (std::string_view name : names) {
    if (name.size() > best.size() && word.substr(0, name.size()) == name) best = name;
  }
  return best;
}

template <class T>
T const* look_up(Fields& f, std::string_view key, Value const& v, Catalog const& c) {
  if (v.kind != ValueKind::scalar) {
    f.problem(v.mark, key, fmt::format("not the name of a {}", Kind<T>::noun),
              "write one name of the catalog");
    return nullptr;
  }
  if (T const* found = Kind<T>::find(c, v.text)) return found;
  std::vector<std::string_view> names;
  for (T const& t : Kind<T>::all(c)) names.push_back(t.name);
  std::string_view near = nearest(v.text, names);
  if (near.empty()) near = longest_prefix(v.text, names);
  f.problem(v.mark, key, fmt::format("the catalog has no {} '{}'", Kind<T>::noun, shown(v.text)),
            !near.empty()        ? fmt::format("did you mean {}?", near)
            : names.size() <= 40 ? fmt::format("there are {}", one_of(names))
                                 : "'rollcast catalog list' shows all names");
  return nullptr;
}

// The key `base`: the catalog entry whose values hold where the map gives none.
template <class T>
void start_from(Fields& f, T& v, Catalog const& c) {
  f.custom("base", "catalog name", "", fmt::format("the {} of the catalog to start from", Kind<T>::noun),
           [&](Value const& name) {
             if (T const* found = look_up<T>(f, "base", name, c)) {
               v = *found;
               f.set_from("catalog " + found->name, &found->sources);
             }
           });
}

// filled: the struct already holds a catalog entry, of `base` or of what encloses it.
void require_unless(bool filled, Fields& f, std::string_view key, std::string_view example) {
  if (!filled) f.require(key, fmt::format("write {}, or base: with a name of the catalog", example));
}

template <class T>
bool refer(Fields& f, std::string_view key, T& v, Catalog const& c, std::string_view meaning) {
  bool good = false;
  f.custom(key, "catalog name, or a map", "", meaning, [&](Value const& value) {
    std::size_t const problems = f.reading().problems.size();
    if (value.kind == ValueKind::scalar) {
      T const* found = look_up<T>(f, key, value, c);
      if (found == nullptr) return;
      v = *found;
      f.origin(key, v.name);
      Fields inner(f.reading(), nullptr, f.path_of(key), value.mark, "");
      inner.set_from("catalog " + found->name, &found->sources);
      describe(inner, v, c);
    } else if (value.kind == ValueKind::map) {
      Fields inner(f.reading(), &value, f.path_of(key), value.mark, "default");
      if (!v.name.empty()) inner.set_from("catalog " + v.name, &v.sources);
      describe(inner, v, c);
      inner.finish();
    } else {
      f.problem(value.mark, key, "a list in place of one name", "write one name of the catalog");
    }
    good = f.reading().problems.size() == problems;
  });
  if (f.listing()) {
    Fields inner(f.rows(), f.path_of(key));
    describe(inner, v, c);
  } else if (!f.has(key) && !v.name.empty()) {
    Fields inner(f.reading(), nullptr, f.path_of(key), {}, "");
    inner.set_from("catalog " + v.name, &v.sources);
    describe(inner, v, c);
  }
  return good;
}

void describe_mla(Fields& f, Mla& m) {
  f.integer("q_lora_rank", m.q_lora_rank, kOptionalShape, "rank of the query projection; 0: direct");
  f.integer("kv_lora_rank", m.kv_lora_rank, kShape, "width of the compressed KV");
  f.integer("qk_nope_head_dim", m.qk_nope_head_dim, kShape, "query-key width without position");
  f.integer("qk_rope_head_dim", m.qk_rope_head_dim, kShape,
            "query-key width with position, shared by the heads");
  f.integer("v_head_dim", m.v_head_dim, kShape, "value width per head");
  for (std::string_view key : {"kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"}) {
    f.require(key, "write it as in the model's config.json");
  }
}

void describe_moe(Fields& f, Moe& m) {
  f.integer("experts", m.experts, kShape, "routed experts per layer");
  f.integer("experts_per_token", m.experts_per_token, kShape, "experts that a token visits");
  f.integer("expert_intermediate", m.expert_intermediate, kShape, "width of one expert");
  f.integer("shared_experts", m.shared_experts, kOptionalShape, "experts that every token visits");
  f.integer("shared_intermediate", m.shared_intermediate, kOptionalShape,
            "width of all shared experts together");
  f.integer("first_dense_layers", m.first_dense_layers, kOptionalShape, "first layers with a dense MLP");
  f.flag("router_bias", m.router_bias, "a correction bias per expert");
  f.flag("shared_gate", m.shared_gate, "a gate on the shared expert");
  for (std::string_view key : {"experts", "experts_per_token", "expert_intermediate"}) {
    f.require(key, "write it as in the model's config.json");
  }
}

void describe_linear_attention(Fields& f, LinearAttention& l) {
  f.integer("full_attention_interval", l.full_attention_interval, kShape,
            "every n-th layer is full attention");
  f.integer("key_heads", l.key_heads, kShape, "heads of q and k");
  f.integer("value_heads", l.value_heads, kShape, "heads of v");
  f.integer("key_head_dim", l.key_head_dim, kShape, "width of a key head");
  f.integer("value_head_dim", l.value_head_dim, kShape, "width of a value head");
  f.integer("conv_kernel", l.conv_kernel, kShape, "taps of the short convolution");
  for (std::string_view key : {"key_heads", "value_heads", "key_head_dim", "value_head_dim"}) {
    f.require(key, "write it as in the model's config.json");
  }
}

template <class T>
void describe_part(Fields& f, std::string_view key, std::optional<T>& part, std::string_view meaning,
                   void (*describe_it)(Fields&, T&)) {
  T value = part.value_or(T{});
  bool const given = f.optional_group(key, meaning, [&](Fields& g) { describe_it(g, value); });
  if (given) part = value;
}

}  // namespace

std::string_view name_of(Interconnect v) {
  switch (v) {
    case Interconnect::nvswitch:
      return "nvswitch";
    case Interconnect::nvlink_pairs:
      return "nvlink_pairs";
    case Interconnect::pcie:
      return "pcie";
  }
  throw std::logic_error("no such Interconnect");
}

std::string_view name_of(FabricKind v) {
  switch (v) {
    case FabricKind::infiniband:
      return "infiniband";
    case FabricKind::roce:
      return "roce";
    case FabricKind::tcp:
      return "tcp";
  }
  throw std::logic_error("no such FabricKind");
}

void describe(Fields& f, Gpu& g, Catalog const& c) {
  bool const filled = f.has("base") || g.bf16.value > 0;
  start_from(f, g, c);
  f.text("name", g.name, "name in reports");
  f.quantity("bf16", g.bf16, kPositive, "dense bf16 matrix rate (fp16 on cards without bf16)");
  f.quantity("fp8", g.fp8, kNotNegative, "dense fp8 matrix rate; 0: the card has none");
  f.quantity("memory_on_the_box", g.memory_on_the_box, kNotNegative, "memory that the name promises");
  f.quantity("visible_memory", g.visible_memory, kPositive,
             "memory that a process sees; every forecast uses this one");
  f.quantity("memory_bandwidth", g.memory_bandwidth, kPositive, "HBM or GDDR bandwidth, data sheet");
  f.quantity("l2", g.l2, kNotNegative, "level 2 cache");
  f.integer("sms", g.sms, kOptionalShape, "streaming multiprocessors");
  f.quantity("nvlink", g.nvlink, kNotNegative, "NVLink per direction, all links together; 0: none");
  f.quantity("pcie", g.pcie, kPositive, "PCIe per direction, data sheet");
  f.number("dollars_per_hour", g.dollars_per_hour, kNotNegative,
           "rent of one GPU with its share of the node; 0: not known");
  require_unless(filled, f, "bf16", "bf16: 989 TFLOP/s");
  require_unless(filled, f, "visible_memory", "visible_memory: 79.1 GiB");
  require_unless(filled, f, "memory_bandwidth", "memory_bandwidth: 3.35 TB/s");
  require_unless(filled, f, "pcie", "pcie: 64 GB/s");
}

void describe(Fields& f, Node& n, Catalog const& c) {
  bool const filled = f.has("base") || n.gpus > 0;
  start_from(f, n, c);
  f.text("name", n.name, "name in reports");
  reference(f, "gpu", n.gpu, c, "the GPUs of the node, all equal");
  f.integer("gpus", n.gpus, {1, 1024, false}, "GPUs per node");
  f.choice("interconnect", n.interconnect,
           {Interconnect::nvswitch, Interconnect::nvlink_pairs, Interconnect::pcie},
           "how the GPUs are connected");
  f.integer("gpus_per_pcie_switch", n.gpus_per_pcie_switch, {1, 1024, false},
            "GPUs that share a PCIe switch");
  f.integer("numa_nodes", n.numa_nodes, {1, 64, false}, "NUMA nodes of the host");
  f.integer("nics", n.nics, {0, 1024, false}, "network cards for training traffic");
  f.quantity("nic", n.nic, kNotNegative, "one card, per direction");
  f.quantity("nic_slot", n.nic_slot, kNotNegative, "PCIe of one card, per direction; 0: as wide as a GPU's");
  f.flag("peer_access", n.peer_access,
         "GPUs and network cards reach a GPU over PCIe; false (GeForce): through host memory");
  f.integer("trays", n.trays, {1, 1024, false}, "hosts that NVLink joins into this node, all equal");
  f.integer("storage_nics", n.storage_nics, {0, 1024, false}, "network cards of the second network");
  f.quantity("storage_nic", n.storage_nic, kNotNegative, "one of them, per direction");
  f.quantity("nvme_read", n.nvme_read, kNotNegative, "local drives, all together; 0: none");
  f.quantity("nvme_write", n.nvme_write, kNotNegative, "local drives, all together; 0: none");
  f.quantity("host_memory", n.host_memory, kPositive, "memory of the host");
  f.quantity("host_memory_bandwidth", n.host_memory_bandwidth, kPositive, "per NUMA node");
  f.text("fabric", n.fabric, "catalog name of the fabric that it usually comes with");
  require_unless(filled, f, "gpu", "gpu: h100-sxm");
  require_unless(filled, f, "gpus", "gpus: 8");
  require_unless(filled, f, "host_memory", "host_memory: 2 TiB");
  require_unless(filled, f, "host_memory_bandwidth", "host_memory_bandwidth: 300 GB/s");
}

void describe(Fields& f, Fabric& x, Catalog const& c) {
  bool const filled = f.has("base") || x.nic.value > 0;
  start_from(f, x, c);
  f.text("name", x.name, "name in reports");
  f.choice("kind", x.kind, {FabricKind::infiniband, FabricKind::roce, FabricKind::tcp}, "transport");
  f.quantity("nic", x.nic, kPositive,
             "per network card and direction; the smaller of this and the node's holds");
  f.quantity("latency", x.latency, kNotNegative, "one message, card to card");
  f.flag("rail_optimized", x.rail_optimized, "card i of every node is on leaf i");
  f.integer("nodes_per_leaf", x.nodes_per_leaf, {1, 1e6, false}, "nodes below one leaf switch");
  f.number("oversubscription", x.oversubscription, {1, 1000, false}, "leaf down-links over up-links");
  if (!f.listing() && f.has("kind")) x.gpu_direct = x.kind != FabricKind::tcp;
  f.flag("gpu_direct", x.gpu_direct, "cards reach GPU memory; default: false where kind is given as tcp");
  require_unless(filled, f, "nic", "nic: 400 Gb/s");
  require_unless(filled, f, "latency", "latency: 5 us");
}

void describe(Fields& f, Architecture& a, Catalog const& c) {
  bool const filled = f.has("base") || a.layers > 0;
  start_from(f, a, c);
  f.text("name", a.name, "name in reports");
  f.text("family", a.family, "family of the model, as model_type in its config.json");
  f.integer("layers", a.layers, {1, 10000, false}, "decoder layers");
  f.integer("hidden", a.hidden, kShape, "width of the residual stream");
  f.integer("heads", a.heads, kShape, "query heads");
  if (!f.listing() && a.kv_heads == 0) a.kv_heads = a.heads;
  f.integer("kv_heads", a.kv_heads, kShape, "key and value heads; default: heads");
  if (!f.listing() && a.head_dim == 0 && a.heads > 0) a.head_dim = a.hidden / a.heads;
  f.integer("head_dim", a.head_dim, kShape, "width of a head; default: hidden / heads");
  f.integer("intermediate", a.intermediate, kOptionalShape, "width of the dense MLP");
  f.integer("vocab", a.vocab, kShape, "rows of the embedding as stored");
  f.integer("max_context", a.max_context, {0, 1e9, false}, "longest context; 0: not limited");
  f.flag("gated_mlp", a.gated_mlp, "gate, up and down (SwiGLU) rather than up and down");
  f.flag("tied_embeddings", a.tied_embeddings, "lm_head shares the embedding");
  f.flag("qkv_bias", a.qkv_bias, "biases on q, k and v");
  f.flag("output_bias", a.output_bias, "bias on the attention output");
  f.flag("mlp_bias", a.mlp_bias, "biases in the MLP");
  f.flag("lm_head_bias", a.lm_head_bias, "bias on lm_head");
  f.flag("qk_norm", a.qk_norm, "norms on q and k per head");
  f.flag("gated_attention", a.gated_attention, "q_proj also yields an output gate");
  f.flag("norm_bias", a.norm_bias, "LayerNorm with bias rather than RMSNorm");
  f.flag("parallel_block", a.parallel_block, "attention and MLP share one norm");
  f.flag("final_norm", a.final_norm, "a norm after the last layer");
  f.integer("learned_positions", a.learned_positions, kOptionalShape, "rows of a learned position table");
  f.integer("embedding_width", a.embedding_width, kOptionalShape,
            "word embedding width where it is not hidden; 0: hidden");
  f.integer("mtp_layers", a.mtp_layers, kOptionalShape,
            "multi-token prediction modules stored with the model");
  describe_part<Mla>(f, "mla", a.mla, "multi-head latent attention", describe_mla);
  describe_part<Moe>(f, "moe", a.moe, "mixture of experts", describe_moe);
  describe_part<LinearAttention>(f, "linear_attention", a.linear_attention, "gated delta net layers",
                                 describe_linear_attention);
  require_unless(filled, f, "layers", "layers: 32");
  require_unless(filled, f, "hidden", "hidden: 4096");
  require_unless(filled, f, "heads", "heads: 32");
  if (f.listing() || !f.has("moe")) require_unless(filled, f, "intermediate", "intermediate: 14336");
  require_unless(filled, f, "vocab", "vocab: 128256");
}

bool reference(Fields& f, std::string_view key, Gpu& v, Catalog const& c, std::string_view meaning) {
  return refer(f, key, v, c, meaning);
}
bool reference(Fields& f, std::string_view key, Node& v, Catalog const& c, std::string_view meaning) {
  return refer(f, key, v, c, meaning);
}
bool reference(Fields& f, std::string_view key, Fabric& v, Catalog const& c, std::string_view meaning) {
  return refer(f, key, v, c, meaning);
}

Architecture const* named_architecture(Fields& f, std::string_view key, Value const& name, Catalog const& c) {
  return look_up<Architecture>(f, key, name, c);
}

}  // namespace rollcast
