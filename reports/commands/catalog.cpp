// rollcast catalog list [gpus|nodes|fabrics|models|profiles]
// rollcast catalog show NAME
// rollcast catalog presets [A] [B] (catalog_presets)
// rollcast catalog topology NODE (catalog_topology)
#include "models/catalog/catalog.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "calibrate/embedded_profiles.hpp"
#include "calibrate/measured_profile.hpp"
#include "calibrate/profiles.hpp"
#include "reports/commands/catalog_presets.hpp"
#include "reports/commands/catalog_topology.hpp"
#include "reports/commands/commands.hpp"
#include "reports/commands/scenario_input.hpp"
#include "scenarios/text/catalog_fields.hpp"
#include "scenarios/text/catalog_file.hpp"

namespace rollcast {
namespace {

std::string gb(Bytes b) { return fmt::format("{:.6g} GB", b.value / 1e9); }
std::string gib(Bytes b) { return fmt::format("{:.6g} GiB", b.value / GiB(1).value); }
std::string gb_per_s(BytesPerSecond r) { return fmt::format("{:.6g} GB/s", r.value / 1e9); }
std::string gbit_per_s(BytesPerSecond r) { return fmt::format("{:.6g} Gb/s", r.value * 8 / 1e9); }
std::string tflops(FlopsPerSecond r) { return fmt::format("{:.6g} TFLOP/s", r.value / 1e12); }
std::string yes_no(bool v) { return v ? "yes" : "no"; }

// 8030261248 -> "8,030,261,248"
std::string grouped(std::int64_t v) {
  std::string s = std::to_string(v);
  for (std::size_t at = s.size(); at > 3;) {
    at -= 3;
    s.insert(at, ",");
  }
  return s;
}

// One entry: its numbers, each with the mark of its source, then the sources.
class Sheet {
 public:
  Sheet(std::string title, std::vector<SourceNote> const& notes)
      : text_(std::move(title) + "\n"), notes_(notes) {}

  void line(std::string const& field, std::string const& value) {
    std::string const mark = mark_of(field);
    text_ += mark.empty() ? fmt::format("  {:<22} {}\n", field, value)
                          : fmt::format("  {:<22} {:<28} {}\n", field, value, mark);
  }
  void derived(std::string const& field, std::string const& value) {
    text_ += fmt::format("  {:<22} {}\n", field, value);
  }
  void heading(std::string const& words) { text_ += "  " + words + "\n"; }
  void raw(std::string const& words) { text_ += words; }

  std::string finish() const {
    std::string out = text_;
    for (std::size_t i = 0; i < used_.size(); ++i) out += fmt::format("  [{}] {}\n", i + 1, used_[i]);
    return out;
  }

 private:
  std::string mark_of(std::string const& field) {
    std::string const* source = nullptr;
    for (SourceNote const& n : notes_) {
      if (n.field == "*" && source == nullptr) source = &n.source;
      if (n.field == field) source = &n.source;
    }
    if (source == nullptr) return {};
    for (std::size_t i = 0; i < used_.size(); ++i) {
      if (used_[i] == *source) return fmt::format("[{}]", i + 1);
    }
    used_.push_back(*source);
    return fmt::format("[{}]", used_.size());
  }

  std::string text_;
  std::vector<SourceNote> const& notes_;
  std::vector<std::string> used_;
};

std::string sheet_of(Gpu const& g) {
  Sheet s("GPU " + g.name, g.sources);
  s.line("bf16", tflops(g.bf16));
  s.line("fp8", g.fp8.value > 0 ? tflops(g.fp8) : "none");
  s.line("memory_on_the_box", gb(g.memory_on_the_box));
  s.line("visible_memory", gib(g.visible_memory));
  s.line("memory_bandwidth", gb_per_s(g.memory_bandwidth));
  s.line("l2", g.l2.value > 0 ? fmt::format("{:.6g} MB", g.l2.value / 1e6) : "unknown");
  s.line("sms", g.sms > 0 ? std::to_string(g.sms) : "unknown");
  s.line("nvlink", g.nvlink.value > 0 ? gb_per_s(g.nvlink) + " per direction" : "none");
  s.line("pcie", gb_per_s(g.pcie) + " per direction");
  if (g.dollars_per_hour > 0) {
    s.line("dollars_per_hour", fmt::format("{:.2f} $", g.dollars_per_hour));
  } else {
    s.derived("dollars_per_hour", "unknown");
  }
  s.raw("  " + sentence(price_note(g)) + "\n");
  return s.finish();
}

std::string sheet_of(Node const& n) {
  Sheet s("node " + n.name, n.sources);
  s.line("gpu", n.gpu.name);
  s.line("gpus", std::to_string(n.gpus));
  s.line("interconnect", std::string(name_of(n.interconnect)));
  s.line("gpus_per_pcie_switch", std::to_string(n.gpus_per_pcie_switch));
  s.line("numa_nodes", std::to_string(n.numa_nodes));
  s.line("nics", std::to_string(n.nics));
  s.line("nic", gbit_per_s(n.nic) + " each");
  if (n.nic_slot.value > 0) s.line("nic_slot", gb_per_s(n.nic_slot) + " per direction");
  if (n.interconnect != Interconnect::nvswitch || !n.peer_access)
    s.line("peer_access", yes_no(n.peer_access));
  if (n.trays > 1) s.line("trays", std::to_string(n.trays));
  if (n.storage_nics > 0) {
    s.line("storage_nics", std::to_string(n.storage_nics));
    s.line("storage_nic", gbit_per_s(n.storage_nic) + " each");
  }
  if (n.nvme_read.value > 0) {
    s.line("nvme_read", gb_per_s(n.nvme_read) + " in all");
    s.line("nvme_write", gb_per_s(n.nvme_write) + " in all");
  }
  s.line("host_memory", gib(n.host_memory));
  s.line("host_memory_bandwidth", gb_per_s(n.host_memory_bandwidth) + " per NUMA");
  s.line("fabric", n.fabric.empty() ? "none" : n.fabric);
  return s.finish();
}

std::string sheet_of(Fabric const& f) {
  Sheet s("fabric " + f.name, f.sources);
  s.line("kind", std::string(name_of(f.kind)));
  s.line("nic", gbit_per_s(f.nic) + " per NIC");
  s.line("latency", fmt::format("{:.6g} us", f.latency.value * 1e6));
  s.line("rail_optimized", yes_no(f.rail_optimized));
  s.line("nodes_per_leaf", std::to_string(f.nodes_per_leaf));
  s.line("oversubscription", fmt::format("{:.6g}", f.oversubscription));
  s.line("gpu_direct", yes_no(f.gpu_direct));
  return s.finish();
}

std::int64_t kv_bytes_per_token(Architecture const& a) {
  std::int64_t elements = 0;
  for (int layer = 0; layer < a.layers; ++layer) elements += kv_elements_per_token(a, layer);
  return 2 * elements;
}

std::int64_t state_bytes_per_sequence(Architecture const& a) {
  std::int64_t elements = 0;
  for (int layer = 0; layer < a.layers; ++layer) elements += state_elements_per_sequence(a, layer);
  return 2 * elements;
}

std::string tensor_lines(std::vector<Tensor> const& tensors) {
  std::string out;
  for (Tensor const& t : tensors) {
    std::string const shape =
        t.columns == 1 ? fmt::format("[{}]", t.rows) : fmt::format("[{}, {}]", t.rows, t.columns);
    out += fmt::format("    {:<40} {:<18}{}\n", t.name, shape,
                       t.copies > 1 ? fmt::format(" x {}", t.copies) : "");
  }
  return out;
}

// Layers of the same kind have the same tensors.
void add_tensors(Sheet& s, Architecture const& a) {
  struct Kind {
    std::string words;
    int first = 0;
    int layers = 0;
  };
  std::vector<Kind> kinds;
  for (int layer = 0; layer < a.layers; ++layer) {
    std::string const words =
        std::string(is_linear_attention_layer(a, layer) ? "linear attention" : "full attention") +
        (is_moe_layer(a, layer) ? ", experts" : ", dense MLP");
    auto it = kinds.begin();
    while (it != kinds.end() && it->words != words) ++it;
    if (it == kinds.end()) it = kinds.insert(kinds.end(), Kind{words, layer, 0});
    ++it->layers;
  }
  for (Kind const& k : kinds) {
    s.heading(fmt::format("tensors of {} layers ({})", k.layers, k.words));
    s.raw(tensor_lines(layer_tensors(a, k.first)));
  }
  s.heading("tensors outside the layers");
  s.raw(tensor_lines(outer_tensors(a)));
}

void add_optional_shapes(Sheet& s, Architecture const& a) {
  if (a.mla) {
    Mla const& m = *a.mla;
    s.line("mla", fmt::format("q_lora {}, kv_lora {}, nope {}, rope {}, v {}", m.q_lora_rank, m.kv_lora_rank,
                              m.qk_nope_head_dim, m.qk_rope_head_dim, m.v_head_dim));
  }
  if (a.moe) {
    Moe const& m = *a.moe;
    s.line("moe",
           fmt::format("{} experts of {}, {} per token, {} shared, first {} layers dense", m.experts,
                       m.expert_intermediate, m.experts_per_token, m.shared_experts, m.first_dense_layers));
  }
  if (a.linear_attention) {
    LinearAttention const& l = *a.linear_attention;
    s.line("linear_attention",
           fmt::format("{} key heads of {}, {} value heads of {}, every {}-th layer full", l.key_heads,
                       l.key_head_dim, l.value_heads, l.value_head_dim, l.full_attention_interval));
  }
  if (a.learned_positions > 0) s.line("learned_positions", std::to_string(a.learned_positions));
  if (a.embedding_width > 0) s.line("embedding_width", std::to_string(a.embedding_width));
  if (a.mtp_layers > 0) s.line("mtp_layers", fmt::format("{} (not counted below)", a.mtp_layers));
}

std::string sheet_of(Architecture const& a) {
  Sheet s("model " + a.name, a.sources);
  s.line("family", a.family);
  s.line("layers", std::to_string(a.layers));
  s.line("hidden", std::to_string(a.hidden));
  s.line("heads", std::to_string(a.heads));
  s.line("kv_heads", std::to_string(a.kv_heads));
  s.line("head_dim", std::to_string(a.head_dim));
  if (a.intermediate > 0) s.line("intermediate", std::to_string(a.intermediate));
  s.line("vocab", grouped(a.vocab) + " rows");
  s.line("max_context", grouped(a.max_context) + " tokens");
  s.line("tied_embeddings", yes_no(a.tied_embeddings));
  add_optional_shapes(s, a);
  if (a.published_parameters > 0) s.line("published_parameters", grouped(a.published_parameters));
  s.heading("follows from the shapes");
  ParameterCounts const c = count_parameters(a);
  s.derived("parameters", grouped(c.total));
  if (c.active != c.total) s.derived("active per token", grouped(c.active));
  for (auto const& [name, count] :
       {std::pair{"embedding", c.embedding}, std::pair{"lm_head", c.lm_head},
        std::pair{"attention", c.attention}, std::pair{"mlp", c.mlp}, std::pair{"experts", c.experts},
        std::pair{"router", c.router}, std::pair{"norms", c.norms}}) {
    if (count > 0) s.derived(std::string("  ") + name, grouped(count));
  }
  s.derived("weights in bf16", gb(bytes(2.0 * static_cast<double>(c.total))));
  s.derived("KV per token in bf16", grouped(kv_bytes_per_token(a)) + " B");
  if (a.linear_attention)
    s.derived("state per sequence", grouped(state_bytes_per_sequence(a)) + " B in bf16");
  add_tensors(s, a);
  return s.finish();
}

std::string summary_of(Gpu const& g) {
  return fmt::format("{:<32} {:>14} bf16 {:>12} {:>12}", g.name, tflops(g.bf16), gib(g.visible_memory),
                     gb_per_s(g.memory_bandwidth));
}
std::string summary_of(Node const& n) {
  return fmt::format("{:<32} {:>3} x {:<16} {:>3} x {:<10} {}", n.name, n.gpus, n.gpu.name, n.nics,
                     gbit_per_s(n.nic), n.fabric);
}
std::string summary_of(Fabric const& f) {
  return fmt::format("{:<32} {:>10} per NIC {:>8.6g} us {}", f.name, gbit_per_s(f.nic), f.latency.value * 1e6,
                     name_of(f.kind));
}
std::string summary_of(Architecture const& a) {
  ParameterCounts const c = count_parameters(a);
  return fmt::format("{:<32} {:>16} parameters {:>16} active {:>9} B KV/token", a.name, grouped(c.total),
                     grouped(c.active), grouped(kv_bytes_per_token(a)));
}

// The name that --profile takes, and the engine whose attention it holds.
std::string built_in_name(ProfileText const& text) {
  std::string name(embedded_name(text));
  for (OperationNote const& o : text.operations) {
    if (o.operation != "attention_decode" || o.software.empty()) continue;
    return name + " (" + o.software + ")";
  }
  return name;
}

std::string profile_line(Gpu const& g, PriceNote const& n, std::string const& name) {
  std::string const basis =
      n.basis == PriceBasis::derived ? "derived from " + n.from : std::string(name_of(n.basis));
  std::string out = fmt::format("{:<32} {:<32}", g.name, basis);
  if (n.p90 > 0) out += fmt::format(" {:>5.1f} % median {:>5.1f} % p90", 100 * n.median, 100 * n.p90);
  if (!name.empty()) out += "  " + name;
  return out;
}

template <class T>
std::string list_of(std::string const& title, std::vector<T> const& entries) {
  std::string out = title + "\n";
  for (T const& e : entries) out += "  " + summary_of(e) + "\n";
  return out;
}

struct Options {
  std::string section;
  std::string name;
  std::vector<std::string> files;
};

// false, with the problems on stderr, when a file cannot be applied.
bool load(std::vector<std::string> const& files, Catalog& c) {
  std::vector<Problem> problems;
  for (std::string const& file : files) {
    for (Problem& p : apply_catalog_file(file, c)) problems.push_back(std::move(p));
  }
  if (!problems.empty()) std::fputs(format(problems).c_str(), stderr);
  return problems.empty();
}

int list(Options const& o) {
  Catalog c = builtin_catalog();
  if (!load(o.files, c)) return 2;
  std::string out;
  if (o.section.empty() || o.section == "gpus") out += list_of("gpus", c.gpus);
  if (o.section.empty() || o.section == "nodes") out += list_of("nodes", c.nodes);
  if (o.section.empty() || o.section == "fabrics") out += list_of("fabrics", c.fabrics);
  if (o.section.empty() || o.section == "models") out += list_of("models", c.architectures);
  if (o.section == "profiles") {
    out += "profiles: what kernels are priced by, and how far off such a price is\n";
    for (Gpu const& g : c.gpus) {
      if (!built_in_text_for(g)) out += "  " + profile_line(g, price_note(g), "") + "\n";
      for (ProfileText const& text : built_in_texts_for(g)) {
        out += "  " + profile_line(g, price_note(text, g), built_in_name(text)) + "\n";
      }
    }
  }
  return print(out);
}

// At most five names: those that hold the word, else the nearest one.
std::string suggestion(Catalog const& c, std::string const& word) {
  std::vector<std::string_view> all;
  for (Gpu const& g : c.gpus) all.push_back(g.name);
  for (Node const& n : c.nodes) all.push_back(n.name);
  for (Fabric const& f : c.fabrics) all.push_back(f.name);
  for (Architecture const& a : c.architectures) all.push_back(a.name);
  std::vector<std::string_view> near;
  for (std::string_view name : all) {
    if (near.size() < 5 && !word.empty() && name.find(word) != std::string_view::npos) near.push_back(name);
  }
  if (near.empty()) {
    std::string_view const one = nearest(word, all);
    if (!one.empty()) near.push_back(one);
  }
  return near.empty() ? "'rollcast catalog list' shows all names"
                      : fmt::format("did you mean {}?", one_of(near));
}

int show(Options const& o) {
  Catalog c = builtin_catalog();
  if (!load(o.files, c)) return 2;
  std::string out;
  if (Gpu const* g = find_gpu(c, o.name)) out += sheet_of(*g);
  if (Node const* n = find_node(c, o.name)) out += sheet_of(*n);
  if (Fabric const* f = find_fabric(c, o.name)) out += sheet_of(*f);
  if (Architecture const* a = find_architecture(c, o.name)) out += sheet_of(*a);
  if (out.empty()) {
    std::fputs(fmt::format("the catalog has no '{}'; {}\n", shown(o.name), suggestion(c, o.name)).c_str(),
               stderr);
    return 2;
  }
  return print(out);
}

}  // namespace

void add_catalog_command(CLI::App& app, int& exit_code) {
  auto const options = std::make_shared<Options>();
  CLI::App* catalog =
      app.add_subcommand("catalog", "Show the GPUs, nodes, fabrics, models and presets that are built in");
  catalog->require_subcommand(1);
  catalog->add_option("--catalog", options->files, "YAML file that changes or extends the catalog");

  CLI::App* listing = catalog->add_subcommand("list", "List the names");
  listing
      ->add_option("section", options->section,
                   "gpus, nodes, fabrics, models or profiles; default: the first four")
      ->check(CLI::IsMember({"gpus", "nodes", "fabrics", "models", "profiles"}));
  listing->callback([options, &exit_code] { exit_code = list(*options); });

  CLI::App* showing = catalog->add_subcommand("show", "Show one entry, every number with its source");
  showing->add_option("name", options->name, "name of a GPU, node, fabric or model")->required();
  showing->callback([options, &exit_code] { exit_code = show(*options); });
  add_presets_command(*catalog, exit_code);
  // The files live as long as the options.
  add_topology_command(*catalog, {options, &options->files}, exit_code);
}

}  // namespace rollcast
