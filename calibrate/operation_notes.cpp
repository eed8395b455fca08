#include "calibrate/operation_notes.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "calibrate/datasheet.hpp"

namespace rollcast {
namespace {

constexpr int kServedPoints = 10;  // that engine_step and engine_per_sequence are fitted to

bool has_note(ProfileText const& p, std::string const& operation, std::string const& dtype) {
  return std::any_of(p.operations.begin(), p.operations.end(), [&](OperationNote const& o) {
    bool const same = o.operation == operation || o.operation.starts_with(operation + " ");
    return same && (dtype.empty() || o.dtype == dtype);
  });
}

std::string source_of(ProfileText const& p, std::string const& number, Cited const& otherwise) {
  for (auto const& [name, cited] : p.numbers) {
    if (name == number) return cited.source;
  }
  return otherwise.source;
}

class Notes {
 public:
  explicit Notes(ProfileText& p) : p_(p) {}

  void add(std::string operation, std::string dtype, Basis basis, std::string source, int rows = 0) {
    if (has_note(p_, operation, dtype)) return;
    OperationNote note;
    note.operation = std::move(operation);
    note.dtype = std::move(dtype);
    note.basis = basis;
    note.source = std::move(source);
    note.rows = rows;
    p_.operations.push_back(std::move(note));
  }

 private:
  ProfileText& p_;
};

}  // namespace

void add_unmeasured_notes(Gpu const& gpu, ProfileText& p) {
  Profile const d = datasheet_profile(gpu);
  Notes notes(p);
  std::string const share = "share of the peak: ";
  notes.add("gemm", "bf16", Basis::derived, share + d.gemm_bf16.source);
  notes.add("gemm", "fp8", Basis::derived, share + d.gemm_fp8.source);
  notes.add("gemm", "fp8_block", Basis::derived, share + "as fp8: " + d.gemm_fp8.source);
  notes.add("attention_prefill", "bf16", Basis::derived, share + d.attention_forward.source);
  notes.add("attention_decode", "bf16", Basis::derived, share + d.decode_attention.source);
  notes.add("moe", "bf16", Basis::derived,
            "products of the experts that tokens reach: " + d.gemm_bf16.source);
  notes.add("attention_backward", "bf16", Basis::derived,
            source_of(p, "attention_backward_over_forward", d.attention_backward));
  notes.add("collectives", "", Basis::derived, d.nvlink.source);

  std::string const passes = "memory_pass: " + source_of(p, "memory_pass", d.memory_pass);
  for (char const* kind : {"norm", "rope", "activation", "add", "embedding"})
    notes.add(std::string("memory_pass ") + kind, "", Basis::bytes_over_bandwidth, passes);
  notes.add("memory_pass log_softmax", "", Basis::bytes_over_bandwidth,
            "the logits read once and one number a token, at " + passes);
  notes.add("cross_entropy", "", Basis::bytes_over_bandwidth,
            "18 B a logit forward and 14 B backward, fused 2 and 4 B, at " + passes);
  notes.add("memory_pass adam", "", Basis::bytes_over_bandwidth,
            "fp32 weight and moments, bf16 gradient and weight, at " + passes);

  notes.add("copy", "", Basis::derived, "pcie: " + source_of(p, "pcie", d.pcie));
  notes.add("kernel_launch", "", Basis::derived, source_of(p, "kernel_launch", d.kernel_launch));
  notes.add("cuda_graph_launch", "", Basis::fitted,
            "not apart: a part of engine_step: " + source_of(p, "engine_step", d.engine_step), kServedPoints);
  notes.add("sampling", "", Basis::fitted,
            "a part of engine_per_sequence: " + source_of(p, "engine_per_sequence", d.engine_per_sequence),
            kServedPoints);
  notes.add("sustained_clock", "", Basis::derived, source_of(p, "sustained_clock", d.sustained_clock));
}

}  // namespace rollcast
