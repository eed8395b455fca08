#include "models/engine_layout.hpp"

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

}  // namespace rollcast
