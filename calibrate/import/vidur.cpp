#include "calibrate/import/vidur.hpp"

#include <optional>
#include <utility>

#include "calibrate/import/collective_names.hpp"
#include "calibrate/import/stack.hpp"
#include "calibrate/import/table.hpp"

namespace rollcast {
namespace {

// One timed part of a layer: a product has n and k, a pass has its width and a name.
struct Part {
  std::string column;
  double n = 0;
  double k = 0;
  double width = 0;
  std::string variant;
};

std::vector<Part> parts_of(TableReader& row) {
  double const heads = row.count("n_head"), kv = row.count("n_kv_head"), hidden = row.count("n_embd");
  double const inner = row.count("n_expanded_embd"), tp = row.count("num_tensor_parallel_workers");
  if (!row.good()) return {};
  double const head_dim = hidden / heads;
  double const up = row.text("use_gated_mlp") == "True" ? 2 : 1;
  double const kv_of_rank = kv < tp ? 1 : kv / tp;
  double const qkv = (heads / tp + 2 * kv_of_rank) * head_dim;
  return {{"attn_pre_proj", qkv, hidden, 0, ""},
          {"attn_post_proj", hidden, hidden / tp, 0, ""},
          {"mlp_up_proj", up * inner / tp, hidden, 0, ""},
          {"mlp_down_proj", hidden, inner / tp, 0, ""},
          {"input_layernorm", 0, 0, hidden, "norm"},
          {"post_attention_layernorm", 0, 0, hidden, "norm"},
          {"attn_rope", 0, 0, (heads / tp + kv_of_rank) * head_dim, "rope"},
          {"mlp_act", 0, 0, inner / tp, "activation"},
          {"add", 0, 0, hidden, "add"},
          {"emb", 0, 0, hidden, "embedding"}};
}

// The layer that a row timed, while its parts are read.
struct TimedLayer {
  int products = 0;
  int passes = 0;
  Seconds product_time;
  Seconds pass_time;

  void add(Part const& part, Seconds time) {
    if (part.variant == "embedding") return;  // once a model
    if (part.n > 0) {
      ++products;
      product_time += time;
      return;
    }
    ++passes;
    // A layer adds its residual twice; the table times one.
    pass_time += part.variant == "add" ? 2 * time : time;
  }
};

void add_layer(TableReader& row, Sample s, TimedLayer const& timed, Imported& out) {
  constexpr int kProducts = 4, kPasses = 5;
  if (row.text("use_gated_mlp") != "True" || timed.products < kProducts) return;
  double const heads = row.count("n_head"), hidden = row.count("n_embd");
  s.variant = "fused";
  s.shape = {row.count("num_tokens"),
             hidden,
             heads,
             row.count("n_kv_head"),
             hidden / heads,
             row.count("n_expanded_embd"),
             row.count("num_tensor_parallel_workers")};
  s.operation = "layer_gemm";
  s.seconds = timed.product_time;
  out.samples.push_back(s);
  if (timed.passes < kPasses) return;
  s.operation = "layer";
  s.seconds += timed.pass_time;
  out.samples.push_back(std::move(s));
}

}  // namespace

bool is_vidur_layers(std::vector<std::string> const& columns) {
  return has_columns(columns, {"time_stats.mlp_up_proj.median", "num_tokens", "num_tensor_parallel_workers",
                               "n_head", "n_kv_head", "n_embd", "n_expanded_embd"});
}

void read_vidur_layers(SourceText const& source, Imported& out) {
  TableReader row(source, out);
  while (row.next()) {
    std::string const gpu = gpu_of(source, row);
    double const tokens = row.count("num_tokens");
    TimedLayer timed;
    std::optional<Sample> last;
    for (Part const& part : parts_of(row)) {
      std::string const column = "time_stats." + part.column + ".median";
      if (!row.has(column)) continue;
      std::string const& cell = row.text(column);
      if (cell.empty() || cell == "0.0" || cell == "0" || cell == "nan") {
        skip(out, source, "an operation without a time");
        continue;
      }
      Sample s;
      s.gpu = gpu;
      s.operation = part.n > 0 ? "gemm" : "memory_pass";
      s.variant = part.n > 0 ? "sustained" : part.variant;
      s.dtype = "bf16";
      s.shape =
          part.n > 0 ? std::vector<double>{tokens, part.n, part.k} : std::vector<double>{tokens, part.width};
      s.seconds = ms(row.positive(column));
      s.source = source.name;
      s.version = "vidur";
      if (!row.good()) continue;
      timed.add(part, s.seconds);
      last = s;
      out.samples.push_back(std::move(s));
    }
    if (last) add_layer(row, std::move(*last), timed, out);
  }
}

bool is_vidur_network(std::vector<std::string> const& columns) {
  return has_columns(columns, {"num_workers", "size", "collective", "devices_per_node"}) &&
         (has_columns(columns, {"time_stats.all_reduce.median"}) ||
          has_columns(columns, {"time_stats.send_recv.median"}));
}

void read_vidur_network(SourceText const& source, Imported& out) {
  TableReader row(source, out);
  while (row.next()) {
    Sample s;
    s.gpu = gpu_of(source, row);
    s.operation = collective_operation(row.text("collective"));
    if (s.operation.empty()) {
      row.problem("collective", "'" + shown(row.text("collective")) + "' is no collective with a price",
                  "remove the row");
      continue;
    }
    s.variant = "nccl";
    s.dtype = "fp16";
    double const ranks = row.count("num_workers"), per_node = row.count("devices_per_node");
    double const nodes = per_node > 0 ? ranks / per_node : 0;
    s.shape = {row.count("size"), ranks, nodes};
    s.seconds = ms(row.positive("time_stats." + row.text("collective") + ".median"));
    s.source = source.name;
    s.version = "vidur";
    if (!row.good()) continue;
    if (ranks < 2) {
      skip(out, source, "a collective of one rank");
      continue;
    }
    out.samples.push_back(std::move(s));
  }
}

}  // namespace rollcast
