#include <utility>

#include "calibrate/import/aiconfigurator.hpp"
#include "calibrate/import/collective_names.hpp"
#include "calibrate/import/dtypes.hpp"
#include "calibrate/import/stack.hpp"
#include "calibrate/import/table.hpp"

namespace rollcast {
namespace {

constexpr double kGpusOfNode = 8;

void read_collectives(SourceText const& source, std::string_view dtype_column, Imported& out) {
  TableReader row(source, out);
  while (row.next()) {
    Sample s;
    s.gpu = gpu_of(source, row);
    s.operation = collective_operation(row.text("op_name"));
    s.dtype = dtype_named(row.text(dtype_column));
    s.variant = row.text("kernel_source") == "NCCL" ? "nccl" : row.text("backend");
    if (s.variant.empty()) s.variant = row.text("kernel_source");
    double const element = bytes_of_dtype(s.dtype);
    if (element <= 0)
      row.problem(dtype_column, "'" + shown(row.text(dtype_column)) + "' is no element type",
                  "write for example half, bfloat16 or int8");
    s.shape = {row.count("message_size") * element, row.count("num_gpus"), 1};
    s.seconds = ms(row.positive("latency"));
    s.source = source.name;
    s.version = stack_of(source, row);
    if (!row.good()) continue;
    if (s.operation.empty()) {
      skip(out, source, "no price for the collective " + shown(row.text("op_name")));
      continue;
    }
    out.samples.push_back(std::move(s));
  }
}

void add_expert_exchange(SourceText const& source, TableReader& row, std::string operation,
                         std::string variant, Seconds seconds, Imported& out) {
  Sample s;
  s.gpu = gpu_of(source, row);
  s.operation = std::move(operation);
  s.variant = std::move(variant);
  s.dtype = s.operation == "ep_dispatch" ? "fp8" : "bf16";  // DeepEP's own test: fp8 out, bf16 back
  double const nodes = row.count("node_num");
  s.shape = {row.count("num_token"), row.count("hidden_size"), row.count("num_experts"),
             row.count("num_topk"),  kGpusOfNode * nodes,      nodes};
  s.seconds = seconds;
  s.source = source.name;
  s.version = stack_of(source, row);
  if (row.good()) out.samples.push_back(std::move(s));
}

}  // namespace

bool is_aiconfigurator_nccl(std::vector<std::string> const& columns) {
  return has_columns(columns, {"nccl_dtype", "num_gpus", "message_size", "op_name", "latency"});
}
void read_aiconfigurator_nccl(SourceText const& source, Imported& out) {
  read_collectives(source, "nccl_dtype", out);
}

bool is_aiconfigurator_all_reduce(std::vector<std::string> const& columns) {
  return has_columns(columns, {"allreduce_dtype", "num_gpus", "message_size", "op_name", "latency"});
}
void read_aiconfigurator_all_reduce(SourceText const& source, Imported& out) {
  read_collectives(source, "allreduce_dtype", out);
}

bool is_aiconfigurator_wideep(std::vector<std::string> const& columns) {
  return has_columns(columns, {"node_num", "hidden_size", "num_token", "num_topk", "num_experts"}) &&
         (has_columns(columns, {"dispatch_avg_t_us", "combine_avg_t_us"}) ||
          has_columns(columns, {"dispatch_transmit_us", "dispatch_notify_us", "combine_transmit_us",
                                "combine_notify_us"}));
}

void read_aiconfigurator_wideep(SourceText const& source, Imported& out) {
  TableReader row(source, out);
  bool const low_latency = row.has("dispatch_avg_t_us");
  while (row.next()) {
    for (std::string const part : {"dispatch", "combine"}) {
      if (low_latency) {
        add_expert_exchange(source, row, "ep_" + part, "deepep low latency",
                            us(row.positive(part + "_avg_t_us")), out);
      } else {
        Seconds const notify =
            row.text(part + "_notify_us") == "0" ? Seconds(0) : us(row.positive(part + "_notify_us"));
        add_expert_exchange(source, row, "ep_" + part, "deepep normal, " + row.text(part + "_sms") + " SMs",
                            us(row.positive(part + "_transmit_us")) + notify, out);
      }
    }
  }
}

}  // namespace rollcast
