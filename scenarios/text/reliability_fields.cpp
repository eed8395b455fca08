#include "scenarios/text/reliability_fields.hpp"

namespace rollcast {

void read_reliability(Fields& f, std::optional<ReliabilityOptions>& r) {
  constexpr Range kDays{0, 10'000, true};
  constexpr Range kSpares{0, 1e6, false};
  constexpr Range kTime{0, 1e9, false};  // as a log holds them
  ReliabilityOptions read;
  bool const given = f.optional_group(
      "reliability", "a long run with random failures is forecast from the step", [&](Fields& g) {
        g.quantity("mtbf_per_gpu", read.mtbf_per_gpu, kPositive,
                   "mean time between failures that end the run, of one GPU; default: of Llama 3 405B");
        g.quantity("detection", read.detection, kTime,
                   "from a failure until the last process has ended; default: PyTorch's watchdog of NCCL");
        g.quantity(
            "relaunch", read.relaunch, kTime,
            "from there until the checkpoint is loaded: scheduler, start, communicators, frozen models");
        g.require("relaunch", "write for example relaunch: 5 min");
        g.integer("spares", read.spares, kSpares, "nodes that stand by beside the cluster's");
        g.quantity("replacement", read.replacement, kTime,
                   "from detection until another node is there; 0: at once");
        g.number("days", read.days, kDays, "of the run that is forecast");
      });
  if (given) r = read;
}

}  // namespace rollcast
