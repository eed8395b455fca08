#include "models/adapter_passes.hpp"

namespace rollcast {

AdapterWork adapter_work(KernelStack stack, double n, double k) {
  bool const scale_apart = stack == KernelStack::eager;
  double const scale = scale_apart ? 4 * n : 0;
  int const operations = scale_apart ? 1 : 0;
  return {6 * n + scale, 6 * k + scale, 3 + operations, 5 + operations};
}

}  // namespace rollcast
