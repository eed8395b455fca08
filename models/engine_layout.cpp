#include "models/engine_layout.hpp"

#include <algorithm>

namespace rollcast {

EngineLayout engine_layout(EngineOptions const& e) {
  EngineLayout l;
  l.experts = {e.parallel.tp, e.parallel.ep, /*whole_experts=*/true};
  l.own = l.experts;
  if (!e.data_parallel_attention) return l;
  l.own = {1, 1, true};
  l.groups = e.parallel.tp;
  return l;
}

int draft_tokens(EngineOptions const& e) {
  return e.speculative ? std::max(0, e.speculative->draft_tokens) : 0;
}

}  // namespace rollcast
