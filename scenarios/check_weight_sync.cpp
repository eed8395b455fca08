#include "scenarios/check_weight_sync.hpp"

#include <fmt/format.h>

#include "models/pools.hpp"
#include "models/roles.hpp"
#include "models/weight_sync.hpp"

namespace rollcast {
namespace {

class SyncChecker {
 public:
  explicit SyncChecker(Job const& job)
      : job_(job),
        options_(job.weight_sync),
        together_(colocated(job)),
        method_(sync_method(job, together_ ? SyncDistance::shared_gpus : SyncDistance::apart)) {}

  std::vector<Problem> run() {
    if (!contains(step_phases(job_), Phase::weight_sync)) {
      refuse(options_.method != SyncMethod::automatic, "method", "a step without weight_sync",
             "remove the key, or write weight_sync into framework.order");
      return std::move(problems_);
    }
    check_method();
    check_options();
    check_weights();
    return std::move(problems_);
  }

 private:
  void refuse(bool given, char const* key, std::string what, std::string remedy) {
    if (given)
      problems_.push_back(
          {"", 0, 0, fmt::format("weight_sync.{}", key), std::move(what), std::move(remedy), ""});
  }
  void unused(bool given, char const* key) {
    refuse(given, key, fmt::format("{} does not use it", name_of(method_)), "remove the key");
  }

  void check_method() {
    bool const either = method_ == SyncMethod::host_memory || method_ == SyncMethod::storage;
    refuse(method_ == SyncMethod::ipc && !together_, "method", "ipc between pools",
           "write method: buckets, or let trainer and engines share a pool");
    refuse(together_ && method_ != SyncMethod::ipc && !either, "method",
           fmt::format("{} where trainer and engines share their GPUs", name_of(method_)),
           "write method: ipc or host_memory, or give the engines a pool of their own");
    refuse(method_ == SyncMethod::point_to_point && job_.rollout.data_parallel_attention, "method",
           "parts of engines whose ranks have attention whole", "write method: buckets");
    refuse(method_ == SyncMethod::point_to_point && alone(), "method",
           "an adapter alone, which every rank needs whole", "write method: buckets");
    refuse(job_.framework.kind == FrameworkKind::nemo_rl && together_ && method_ != SyncMethod::ipc &&
               (job_.framework.refit_buffer.value > 0 || job_.framework.refit_whole_tensors),
           "method", "a refit buffer, which is of ipc",
           "remove framework.refit_buffer and refit_whole_tensors");
  }

  void check_options() {
    bool const whole = method_ == SyncMethod::tensors || method_ == SyncMethod::buckets;
    bool const ipc = method_ == SyncMethod::ipc;
    WeightSyncOptions const plain;
    unused(options_.fan_out != plain.fan_out && !whole, "fan_out");
    unused(options_.transport != plain.transport && !whole, "transport");
    refuse(options_.transport == SyncTransport::gloo && options_.fan_out != FanOut::ring && whole, "fan_out",
           "gloo broadcasts by its own tree", "remove one of transport and fan_out");
    unused(options_.shares != plain.shares && method_ != SyncMethod::host_memory, "shares");
    refuse(options_.shares == HostShares::engines && together_, "shares",
           "trainer and engines have the same ranks", "write shares: trainer");
    unused(differs(options_.storage, plain.storage) && method_ != SyncMethod::storage, "storage");
    unused(differs(options_.bucket, plain.bucket) && (ipc || method_ == SyncMethod::tensors), "bucket");
    unused(!options_.overlap && ipc, "overlap");
    unused(options_.load_per_tensor && ipc, "load_per_tensor");
    unused(options_.call.value > 0 &&
               (ipc || method_ == SyncMethod::host_memory || method_ == SyncMethod::storage),
           "call");
    unused(options_.flush.value > 0 && ipc, "flush");
  }

  void check_weights() {
    bool const smaller = size_of(job_.rollout.weights) < size_of(job_.train.weights);
    refuse(options_.requantize && (!smaller || alone()), "requantize",
           "the engine's weights have no smaller type than the trainer's", "remove the key");
  }

  template <class Q>
  static bool differs(Q a, Q b) {
    return a < b || b < a;
  }

  bool alone() const {
    auto const& adapter = job_.algorithm.adapter;
    return adapter && adapter->sync == AdapterSync::adapter;
  }

  Job const& job_;
  WeightSyncOptions const& options_;
  bool together_;
  SyncMethod method_;
  std::vector<Problem> problems_;
};

}  // namespace

std::vector<Problem> check_weight_sync(Job const& job) {
  if (!generates(job.algorithm.kind)) return {};
  return SyncChecker(job).run();
}

}  // namespace rollcast
