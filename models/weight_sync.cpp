#include "models/weight_sync.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "models/adapter.hpp"
#include "models/shard_exchange.hpp"
#include "models/switching.hpp"
#include "models/weight_loading.hpp"

namespace rollcast {
namespace {

// vwxyzjn in vLLM issue 5723: an 8B model (16.06 GB), gathered as a whole, over gloo in 5 to 6 s.
constexpr BytesPerSecond kGloo = GB_per_s(16.06 / 5.5);

double tensor_count(Architecture const& a) {
  double count = 0;
  for (int layer = 0; layer < a.layers; ++layer) {
    for (Tensor const& t : layer_tensors(a, layer)) count += static_cast<double>(t.copies);
  }
  for (Tensor const& t : outer_tensors(a)) count += static_cast<double>(t.copies);
  return count;
}

// Two factors for each target and adapter.
double adapter_tensor_count(Adapter const& adapter, Architecture const& a) {
  double count = 0;
  for (int layer = 0; layer < a.layers; ++layer) {
    for (Tensor const& t : layer_tensors(a, layer)) {
      if (is_target(adapter, t)) count += 2 * static_cast<double>(t.copies);
    }
  }
  return count * adapter.count;
}

// What is sent, without how.
WeightSync payload(Job const& job) {
  WeightSync s;
  auto const& adapter = job.algorithm.adapter;
  bool const adapter_alone = adapter && adapter->sync == AdapterSync::adapter;
  bool const trainers_type = adapter_alone || job.weight_sync.requantize;
  Bytes const element = size_of(trainers_type ? job.train.weights : job.rollout.weights);
  s.weights = element * static_cast<double>(adapter_alone ? adapter_parameters(*adapter, job.model)
                                                          : count_parameters(job.model).total);
  s.tensors = adapter_alone ? adapter_tensor_count(*adapter, job.model) : tensor_count(job.model);
  return s;
}

Seconds sharded_gather_time(CollectivePrices& collectives, Job const& job, Bytes weights) {
  int const ranks = job.train.shard_ranks > 0 ? job.train.shard_ranks : job.cluster.gpus();
  if (ranks == 1) return Seconds(0);
  return collectives.at(CollectiveKind::all_gather, placed_group(job.cluster, ranks, 1), weights).total();
}

Seconds gather_time(CollectivePrices& collectives, Job const& job, Bytes weights) {
  if (is_fully_sharded(job.train)) return sharded_gather_time(collectives, job, weights);
  Parallel const& parallel = job.train.parallel;
  ParameterCounts const count = count_parameters(job.model);
  Bytes const experts = weights * (static_cast<double>(count.experts) / static_cast<double>(count.total));
  Bytes const dense = weights - experts;
  Seconds gather;
  if (parallel.pp > 1) {
    // Pipeline stages are the outermost dimension of the rank order: data-parallel ranks lie between them.
    Group const stages = placed_group(job.cluster, parallel.pp, job.cluster.gpus() / parallel.pp);
    Bytes const part = dense / parallel.tp + experts / parallel.expert_block();
    gather += collectives.at(CollectiveKind::broadcast, stages, part).total();
  }
  auto const all_gather = [&](int ranks, int stride, Bytes whole) {
    if (ranks == 1 || whole.value <= 0) return Seconds(0);
    return collectives.at(CollectiveKind::all_gather, placed_group(job.cluster, ranks, stride), whole)
        .total();
  };
  return gather + all_gather(parallel.tp, 1, dense) +
         all_gather(parallel.expert_tp(), 1, experts / parallel.ep) +
         all_gather(parallel.ep, parallel.expert_tp(), experts);
}

// Composes the stages of one synchronisation.
class Plan {
 public:
  Plan(SyncSide const& trainer, SyncSide const& engines, SyncDistance distance)
      : trainer_(trainer),
        engines_(engines),
        distance_(distance),
        options_(trainer.job.weight_sync),
        sync_(payload(trainer.job)) {}

  WeightSync run() {
    if (options_.setup.value > 0) in_turn({{SyncCause::setup, options_.setup}});
    switch (sync_method(trainer_.job, distance_)) {
      case SyncMethod::ipc:
        in_turn({gather(), per_tensor(), copy(sync_.weights)});
        break;
      case SyncMethod::tensors:
        stream(sync_.tensors, sync_.tensors);
        break;
      case SyncMethod::buckets:
        // NCCL's broadcast of all in one price: the latency of a bucket is nothing beside its bytes.
        stream(options_.fan_out == FanOut::ring ? 1 : buckets(1), buckets(1));
        break;
      case SyncMethod::point_to_point:
        point_to_point();
        break;
      case SyncMethod::host_memory:
        host_memory();
        break;
      case SyncMethod::storage:
        storage();
        break;
      case SyncMethod::automatic:
        throw std::logic_error("sync_method leaves none automatic");
    }
    return std::move(sync_);
  }

 private:
  bool shared_gpus() const { return distance_ == SyncDistance::shared_gpus; }

  double buckets(int holders) const {
    return holders * std::max(1.0, std::ceil(sync_.weights / options_.bucket / holders));
  }

  SyncPart gather() {
    return {SyncCause::gather, gather_time(trainer_.collectives, trainer_.job, sync_.weights)};
  }
  SyncPart per_tensor() const {
    return {SyncCause::per_tensor, trainer_.job.framework.sync_per_tensor * sync_.tensors};
  }
  SyncPart calls(double units) const {
    return {SyncCause::calls, options_.call * (units * rollout_engines(engines_.job))};
  }
  SyncPart caches(double units) const { return {SyncCause::caches, options_.flush * units}; }
  SyncPart load(double load_calls) const {
    if (!options_.load_per_tensor) return {SyncCause::load, Seconds(0)};
    return {SyncCause::load,
            *options_.load_per_tensor * sync_.tensors + load_walk(trainer_.job.model) * load_calls};
  }
  SyncPart copy(Bytes of_rank) const {
    double const passes = options_.requantize ? 4.5 : 2;
    return {SyncCause::copy, memory_time(trainer_.profile, of_rank * passes)};
  }
  SyncPart on_wire() const { return {SyncCause::wire, sync_.wire.time()}; }

  void in_turn(SyncChain chain) { sync_.stages.push_back({std::move(chain)}); }

  void side_by_side(SyncStage chains) {
    if (options_.overlap) {
      sync_.stages.push_back(std::move(chains));
    } else {
      for (SyncChain& c : chains) in_turn(std::move(c));
    }
  }

  // The sender's chain, the wire's, the engine's; copied: what an engine's rank receives.
  void pipeline(SyncChain sender, SyncChain wire, double units, Bytes copied) {
    SyncStage chains = {std::move(sender), std::move(wire), {load(units), caches(units)}};
    std::erase_if(chains, [](SyncChain const& c) { return c.empty(); });
    if (options_.load_per_tensor && options_.overlap) {
      chains.push_back({copy(copied)});
      side_by_side(std::move(chains));
    } else {
      side_by_side(std::move(chains));
      in_turn({copy(copied)});
    }
  }

  // On several nodes the sender's one NIC sets the pace, so the ring has one rank of each node.
  Group one_sender() const {
    int const gpus = engines_.job.cluster.gpus();
    int const nodes = 1 + engines_.job.cluster.nodes;
    return distance_ == SyncDistance::one_node
               ? Group{std::min(1 + gpus, trainer_.job.cluster.node.gpus), 1, 1}
               : Group{nodes, nodes, 1};
  }

  // messages: that are priced; units: that are announced and loaded.
  void stream(double messages, double units) {
    sync_.wire = fan_out_wire(trainer_.collectives, options_.fan_out, one_sender(),
                              rollout_engines(engines_.job), sync_.weights, messages);
    SyncChain wire = {on_wire()};
    if (options_.transport == SyncTransport::gloo)
      wire.push_back({SyncCause::tcp, max(Seconds(0), sync_.weights / kGloo - sync_.wire.time())});
    pipeline({gather(), per_tensor(), calls(units)}, std::move(wire), units, sync_.weights);
  }

  void point_to_point() {
    sync_.wire = point_to_point_wire(trainer_.collectives, trainer_.job, engines_.job,
                                     distance_ == SyncDistance::one_node, sync_.weights);
    Parallel const& p = engines_.job.rollout.parallel;
    pipeline({per_tensor(), calls(1)}, {on_wire()}, buckets(1), sync_.weights / (p.tp * p.pp));
  }

  // Every rank of the group sends its shares in turn, so that all NICs of its node carry them.
  void host_memory() {
    bool const trainers = options_.shares == HostShares::trainer;
    SyncSide const& holder = trainers ? trainer_ : engines_;
    ClusterSpec const& cluster = holder.job.cluster;
    int const holders = cluster.gpus();
    Bytes const share = sync_.weights / holders;
    if (trainers) {
      HostCopy const out{Direction::device_to_host, share, {}, true};
      sync_.stages.push_back({{gather(), per_tensor()},
                              {{SyncCause::to_host, shared_copy_time(holder.profile, cluster.node, out)}}});
      in_turn({{SyncCause::to_host, packing(cluster, share)}});
    }
    in_turn({{SyncCause::from_host, from_host(share)}});
    bool const both = trainers && !shared_gpus();
    int const ranks = holders + (both ? engines_.job.cluster.gpus() : 0);
    int const nodes =
        distance_ == SyncDistance::one_node ? 1 : cluster.nodes + (both ? engines_.job.cluster.nodes : 0);
    double const messages = buckets(holders);
    sync_.wire =
        fan_out_wire(holder.collectives, FanOut::ring, Group{ranks, nodes, 1}, 1, sync_.weights, messages);
    pipeline({}, {on_wire()}, messages, sync_.weights);
  }

  // Read and written in the memory of each node.
  static Seconds packing(ClusterSpec const& c, Bytes share) {
    if (!(c.node.host_memory_bandwidth.value > 0)) return Seconds(0);
    return share * 2.0 * c.node.gpus / (c.node.host_memory_bandwidth * std::max(1, c.node.numa_nodes));
  }

  Seconds from_host(Bytes share) const {
    if (options_.shares == HostShares::elsewhere) {
      Node const& node = engines_.job.cluster.node;
      CollectivePrice const p =
          engines_.collectives.at(CollectiveKind::send_recv, Group{2, 2, node.gpus}, share);
      return p.total();
    }
    SyncSide const& holder = options_.shares == HostShares::trainer ? trainer_ : engines_;
    return shared_copy_time(holder.profile, holder.job.cluster.node,
                            {Direction::host_to_device, share, {}, true});
  }

  void storage() {
    Seconds const written = sync_.weights / (options_.storage * trainer_.job.cluster.nodes);
    in_turn({gather(), per_tensor(), {SyncCause::to_storage, written}});
    sync_.wire = {sync_.weights, options_.storage, Seconds(0)};
    pipeline({}, {on_wire()}, buckets(1), sync_.weights);
  }

  SyncSide const& trainer_;
  SyncSide const& engines_;
  SyncDistance distance_;
  WeightSyncOptions const& options_;
  WeightSync sync_;
};

}  // namespace

std::string_view name_of(SyncCause c) {
  switch (c) {
    case SyncCause::setup:
      return "metadata, communicators and last steps";
    case SyncCause::gather:
      return "gather weights";
    case SyncCause::per_tensor:
      return "handles, export and calls of each tensor";
    case SyncCause::calls:
      return "calls to the engines";
    case SyncCause::to_host:
      return "weights to host memory";
    case SyncCause::to_storage:
      return "weights to storage";
    case SyncCause::from_host:
      return "weights from host memory";
    case SyncCause::wire:
      return "send weights to the engines";
    case SyncCause::tcp:
      return "TCP and host copies of gloo";
    case SyncCause::load:
      return "the engine's loader";
    case SyncCause::caches:
      return "caches emptied";
    case SyncCause::copy:
      return "write and read shared buffers";
  }
  throw std::logic_error("no such SyncCause");
}

Seconds duration(SyncStage const& stage) {
  Seconds longest;
  for (SyncChain const& chain : stage) {
    Seconds sum;
    for (SyncPart const& part : chain) sum += part.time;
    longest = max(longest, sum);
  }
  return longest;
}

Seconds WeightSync::total() const {
  Seconds sum;
  for (SyncStage const& stage : stages) sum += duration(stage);
  return sum;
}

Seconds WeightSync::of(SyncCause cause) const {
  Seconds sum;
  for (SyncStage const& stage : stages) {
    for (SyncChain const& chain : stage) {
      for (SyncPart const& part : chain) sum += part.cause == cause ? part.time : Seconds(0);
    }
  }
  return sum;
}

SyncMethod sync_method(Job const& job, SyncDistance distance) {
  if (job.weight_sync.method != SyncMethod::automatic) return job.weight_sync.method;
  return distance == SyncDistance::shared_gpus ? SyncMethod::ipc : SyncMethod::buckets;
}

WeightSync weight_sync(SyncSide const& trainer, SyncSide const& engines, SyncDistance distance) {
  return Plan(trainer, engines, distance).run();
}

}  // namespace rollcast
