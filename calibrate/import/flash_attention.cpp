#include "calibrate/import/flash_attention.hpp"

#include <utility>

#include "calibrate/import/gpu_names.hpp"
#include "calibrate/import/table.hpp"

namespace rollcast {
namespace {

constexpr double kHidden = 2048;
constexpr double kForwardAndBackward = 3.5;  // FLOPs over those of the forward
constexpr double kTera = 1e12;

}  // namespace

bool is_flash_attention(std::vector<std::string> const& columns) {
  return has_columns(columns,
                     {"gpu", "kernel", "pass", "causal", "head_dim", "seqlen", "batch_x_seqlen", "tflops"});
}

void read_flash_attention(SourceText const& source, Imported& out) {
  TableReader row(source, out);
  while (row.next()) {
    if (row.text("causal") != "1" || row.text("pass") != "fwd+bwd") {
      skip(out, source, "no causal forward with backward");
      continue;
    }
    Sample s;
    s.gpu = gpu_named_in(row.text("gpu"));
    if (s.gpu.empty()) row.problem("gpu", "no telling which GPU this is", "write the name of one");
    s.operation = "attention_backward";
    s.variant = "forward";
    s.dtype = "bf16";
    double const dim = row.count("head_dim"), length = row.count("seqlen"), all = row.count("batch_x_seqlen");
    double const rate = row.positive("tflops");
    s.source = source.name;
    s.version = row.text("kernel");
    if (!row.good()) continue;
    s.shape = {all / length, length, kHidden / dim, kHidden / dim, dim};
    s.seconds = Seconds(kForwardAndBackward * 2 * all * length * kHidden / (rate * kTera));
    out.samples.push_back(std::move(s));
  }
}

}  // namespace rollcast
