#include "models/logit_copies.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rollcast {

LogitsKept logits_kept(Architecture const& a, TrainerOptions const& t, std::optional<Adapter> const& adapter,
                       bool backward) {
  bool const linear = t.cross_entropy == CrossEntropy::linear;
  int const width = linear ? std::min(a.hidden, a.vocab) : a.vocab;
  LogitsKept k{std::ceil(static_cast<double>(width) / t.parallel.tp), 1, 0};
  if (t.cross_entropy == CrossEntropy::chunked || t.cross_entropy == CrossEntropy::fused) return k;
  if (linear && t.kernels == KernelStack::fused) return k;
  if (t.kind == TrainerKind::megatron) {
    k.fp32_copies = 2;
  } else if (t.shifted_labels) {
    bool const compiled = t.kernels == KernelStack::compiled;
    k.copies = compiled && backward ? 1 : 0;
    k.fp32_copies = backward && !compiled ? 3 : 2;
  } else if (t.logits == LogitsPrecision::weights) {
    k.copies = backward ? 4 : 2;
  } else if (t.logits == LogitsPrecision::autocast) {
    k.copies = backward ? 2 : 1;
    k.fp32_copies = 2;
  } else {
    k.copies = adapter && adapter->unquantized == DType::fp32 ? 0 : 1;
    k.fp32_copies = backward ? 4 : 2;
  }
  return k;
}

Bytes logits_bytes(LogitsKept const& k, TrainerOptions const& t) {
  return bytes(k.entries * k.copies * std::max(2.0, size_of(t.weights).value));
}

Bytes fp32_logits_bytes(LogitsKept const& k) { return bytes(k.entries * 4 * k.fp32_copies); }

EntropyCopies entropy_copies(Architecture const& a, TrainerOptions const& t,
                             std::optional<Adapter> const& adapter, Role role, bool backward) {
  if (t.entropy == Entropy::none || role != Role::actor || (backward && !t.entropy_in_update)) return {};
  EntropyCopies e;
  e.copies = 3;
  e.rows = t.entropy == Entropy::chunked ? t.entropy_rows : std::numeric_limits<double>::infinity();
  e.per_token = bytes(4 * std::ceil(static_cast<double>(a.vocab) / t.parallel.tp));
  LogitsKept const k = logits_kept(a, t, adapter, backward);
  bool const fp32_logits = k.fp32_copies > 0 && (t.kind == TrainerKind::megatron || t.shifted_labels ||
                                                 t.logits == LogitsPrecision::fp32);
  if (backward)
    e.before = fp32_logits_bytes(k);
  else if (fp32_logits)
    e.before = bytes(4 * k.entries);
  return e;
}

}  // namespace rollcast
