// The running sequences of a rollout engine by adapter, and what a step of them costs beyond the base
// model's.
//
//   batched  a step of the base model + adapter_step_time of each variant's tokens and distinct adapters
//   split    of each adapter (the base model alone is one more) a step of the base model for its sequences
//            + adapter_split_time, one after another
//   merged, deployments, none   a step of the base model
// With prompt tokens a step, of split each adapter's, takes at least its launches; those of the adapters'
// kernels (adapter_host_time) are among them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/adapter_plan.hpp"
#include "models/step_table.hpp"

namespace rollcast {

class AdapterBatch {
 public:
  explicit AdapterBatch(std::shared_ptr<AdapterPlan const> plan);

  // A sequence begins or ceases to run. Adapter -1: the base model.
  void join(int adapter);
  void leave(int adapter);
  // It begins or ceases to decode: in step `step` its context is `context`, and one more in each later step.
  void start(int adapter, std::int64_t context, std::int64_t step);
  void stop(int adapter, std::int64_t context, std::int64_t step);

  int sequences(int adapter) const { return part(adapter).sequences; }
  int distinct() const { return distinct_; }                      // adapters, the base model not counted
  int parts() const { return static_cast<int>(active_.size()); }  // the base model is one
  int any_adapter() const { return active_.front(); }             // of a sequence that runs

  // Prompt tokens of one sequence in the next step, `seconds` of attention.
  void add_chunk(int adapter, std::int64_t tokens, double seconds);
  // A step with those chunks: `work` is what the base model's takes on the GPU, `least` what its launches
  // take. The chunks are done with.
  double chunk_step(StepTable& prices, double work, double least, std::int64_t step);
  // A step of decoding without its attention, where the base model's takes `base`.
  double decode_step(StepTable& prices, double base);
  // Whether attention is that of attention(): of `steps` decode steps from `step` on, summed.
  bool is_split() const { return execution_ == AdapterExecution::split; }
  double attention(StepTable& prices, std::int64_t step, std::int64_t steps);

 private:
  struct Part {
    int sequences = 0;
    int place = -1;  // in active_
    int decoding = 0;
    std::int64_t context_at_0 = 0;  // total context is this + decoding x step
    int chunks = 0;
    std::int64_t chunk_tokens = 0;
    double prefill = 0;
  };

  Part& part(int adapter) { return parts_[static_cast<std::size_t>(adapter + 1)]; }
  Part const& part(int adapter) const { return parts_[static_cast<std::size_t>(adapter + 1)]; }
  int variant(int adapter) const { return adapter % static_cast<int>(of_variants_.size()); }
  AdapterCounts& of(int adapter) { return of_variants_[static_cast<std::size_t>(variant(adapter))]; }
  double split_time(int adapter, std::int64_t tokens) const;

  std::shared_ptr<AdapterPlan const> plan_;
  AdapterExecution execution_;
  double host_time_;
  std::vector<Part> parts_;  // the base model is the first
  std::vector<int> active_;  // adapters with running sequences
  int distinct_ = 0;
  std::vector<int> chunked_;                // adapters with chunks in the next step
  std::vector<AdapterCounts> of_variants_;  // in the next step
};

}  // namespace rollcast
