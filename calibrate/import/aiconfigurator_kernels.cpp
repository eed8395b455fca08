#include <utility>

#include "calibrate/import/aiconfigurator.hpp"
#include "calibrate/import/dtypes.hpp"
#include "calibrate/import/stack.hpp"
#include "calibrate/import/table.hpp"

namespace rollcast {
namespace {

using Names = std::map<std::string, std::string>;

bool file_is(SourceText const& source, std::string_view part) {
  auto const slash = source.path.find_last_of('/');
  return source.path.find(part, slash == std::string::npos ? 0 : slash) != std::string::npos;
}

std::string kernel_of(Names const& names, TableReader const& row) {
  std::string const& id = row.text("kernel_source");
  auto const it = names.find(id);
  if (it != names.end()) return it->second;
  bool const number = !id.empty() && id.find_first_not_of("0123456789") == std::string::npos;
  return number ? "kernel " + id : id;
}

Sample sample_of(SourceText const& source, TableReader& row, std::string operation, std::string dtype) {
  Sample s;
  s.gpu = gpu_of(source, row);
  s.operation = std::move(operation);
  s.dtype = std::move(dtype);
  s.seconds = ms(row.positive("latency"));
  s.source = source.name;
  s.version = stack_of(source, row);
  return s;
}

std::string attention_variant(Names const& names, TableReader& row) {
  std::string variant = kernel_of(names, row);
  double const window = row.has("window_size") ? row.whole("window_size") : 0;
  if (window > 0) variant += " window " + row.text("window_size");
  return variant;
}

double kv_heads_of(TableReader& row) {
  double const kv = row.whole("num_key_value_heads");
  return kv > 0 ? kv : row.count("num_heads");
}

bool has_attention_columns(std::vector<std::string> const& columns) {
  return has_columns(columns, {"batch_size", "isl", "num_heads", "num_key_value_heads", "head_dim",
                               "attn_dtype", "kv_cache_dtype", "step", "latency"});
}

}  // namespace

bool is_aiconfigurator_gemm(std::vector<std::string> const& columns) {
  return has_columns(columns, {"gemm_dtype", "m", "n", "k", "latency"});
}

void read_aiconfigurator_gemm(SourceText const& source, Imported& out) {
  Names const names = kernel_names(source);
  TableReader row(source, out);
  while (row.next()) {
    Sample s = sample_of(source, row, "gemm", dtype_named(row.text("gemm_dtype")));
    s.variant = kernel_of(names, row);
    s.shape = {row.count("m"), row.count("n"), row.count("k")};
    if (row.good()) out.samples.push_back(std::move(s));
  }
}

// Both attention tables have the same columns: the file's name tells them apart.
bool is_aiconfigurator_prefill(SourceText const& source, std::vector<std::string> const& columns) {
  return has_attention_columns(columns) && file_is(source, "context_attention");
}

void read_aiconfigurator_prefill(SourceText const& source, Imported& out) {
  Names const names = kernel_names(source);
  TableReader row(source, out);
  while (row.next()) {
    Sample s = sample_of(source, row, "attention_prefill", dtype_named(row.text("kv_cache_dtype")));
    s.variant = attention_variant(names, row);
    s.shape = {row.count("batch_size"), row.count("isl"), row.whole("step"),
               row.count("num_heads"),  kv_heads_of(row), row.count("head_dim")};
    if (!row.good()) continue;
    if (dtype_named(row.text("attn_dtype")) != "bf16") {
      skip(out, source, "attention computed in another type than bf16");
      continue;
    }
    out.samples.push_back(std::move(s));
  }
}

bool is_aiconfigurator_decode(SourceText const& source, std::vector<std::string> const& columns) {
  return has_attention_columns(columns) && file_is(source, "generation_attention");
}

void read_aiconfigurator_decode(SourceText const& source, Imported& out) {
  Names const names = kernel_names(source);
  TableReader row(source, out);
  while (row.next()) {
    Sample s = sample_of(source, row, "attention_decode", dtype_named(row.text("kv_cache_dtype")));
    s.variant = attention_variant(names, row);
    s.shape = {row.count("batch_size"), row.whole("isl") + row.whole("step"), row.count("num_heads"),
               kv_heads_of(row), row.count("head_dim")};
    if (!row.good()) continue;
    if (dtype_named(row.text("attn_dtype")) != "bf16") {
      skip(out, source, "attention computed in another type than bf16");
      continue;
    }
    if (s.shape[1] < 1) {
      skip(out, source, "a decode step without context");
      continue;
    }
    out.samples.push_back(std::move(s));
  }
}

bool is_aiconfigurator_moe(std::vector<std::string> const& columns) {
  return has_columns(columns, {"moe_dtype", "num_tokens", "hidden_size", "inter_size", "topk", "num_experts",
                               "moe_tp_size", "moe_ep_size", "distribution", "latency"});
}

void read_aiconfigurator_moe(SourceText const& source, Imported& out) {
  TableReader row(source, out);
  while (row.next()) {
    Sample s = sample_of(source, row, "moe", dtype_named(row.text("moe_dtype")));
    s.variant = row.text("distribution");
    s.shape = {row.count("num_tokens"),  row.count("hidden_size"), row.count("inter_size"),
               row.count("num_experts"), row.count("topk"),        row.count("moe_tp_size"),
               row.count("moe_ep_size")};
    if (row.good()) out.samples.push_back(std::move(s));
  }
}

}  // namespace rollcast
