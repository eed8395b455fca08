#include "scenarios/text/weight_sync_fields.hpp"

#include <fmt/format.h>

namespace rollcast {
namespace {

// Told or not, without a default.
void describe_load(Fields& f, std::optional<Seconds>& v) {
  constexpr std::string_view kKey = "load_per_tensor";
  Seconds read = v.value_or(Seconds(0));
  if (!f.listing() && !f.has(kKey)) return f.allow(kKey);
  f.quantity(kKey, read, kNotNegative,
             "the engine's loader, of one tensor, beside what every call of it costs; without it "
             "framework.sync_per_tensor has both");
  if (f.listing()) {
    f.rows().back().fallback.clear();
  } else {
    v = read;
  }
}

void describe(Fields& f, WeightSyncOptions& o) {
  using enum SyncMethod;
  f.choice("method", o.method, {automatic, ipc, tensors, buckets, point_to_point, host_memory, storage},
           "automatic: ipc on shared GPUs, else buckets. tensors: each for itself; point_to_point: every "
           "engine rank its part, at the same time; host_memory: shares in page-locked memory, broadcast "
           "bucket by bucket; storage: written and read");
  f.choice("fan_out", o.fan_out, {FanOut::ring, FanOut::serial, FanOut::tree, FanOut::chain},
           "tensors, buckets: how they reach several engines: NCCL's broadcast, one engine after another, "
           "each that has all to one more, each to the next as it comes");
  f.choice("shares", o.shares, {HostShares::trainer, HostShares::engines, HostShares::elsewhere},
           "host_memory: whose ranks have a share: the trainer's, which copy it out first; a server's beside "
           "the engines, which has it already; a server's on other nodes");
  f.choice("transport", o.transport, {SyncTransport::nccl, SyncTransport::gloo},
           "tensors, buckets: gloo goes over TCP by way of host memory");
  f.quantity("bucket", o.bucket, {1e6, 1e18, false}, "bytes of a bucket");
  f.flag("overlap", o.overlap,
         "successive tensors or buckets are exported, sent and loaded side by side; else in turn");
  f.flag("requantize", o.requantize, "weights come in the trainer's type, and the engine makes fp8 of them");
  describe_load(f, o.load_per_tensor);
  f.quantity("call", o.call, kNotNegative, "call of one tensor or bucket to one engine, the engines in turn");
  f.quantity("flush", o.flush, kNotNegative, "caches emptied around each tensor or bucket");
  f.quantity("setup", o.setup, kNotNegative,
             "once a sync: metadata, communicators, the last steps of the engine");
  f.quantity("storage", o.storage, kPositive, "storage: bandwidth of a node to it and from it");
}

}  // namespace

void read_weight_sync(Fields& f, Job& job) {
  if (!f.listing() && !generates(job.algorithm.kind))
    return f.forbid("weight_sync", fmt::format("{} generates nothing", name_of(job.algorithm.kind)));
  f.group("weight_sync", "how new weights reach the engines",
          [&](Fields& g) { describe(g, job.weight_sync); });
}

}  // namespace rollcast
