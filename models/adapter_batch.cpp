#include "models/adapter_batch.hpp"

#include <algorithm>
#include <utility>

namespace rollcast {

AdapterBatch::AdapterBatch(std::shared_ptr<AdapterPlan const> plan)
    : plan_(std::move(plan)),
      execution_(plan_->options.execution),
      host_time_(adapter_host_time(plan_->kernels).value),
      parts_(static_cast<std::size_t>(plan_->options.count) + 1),
      of_variants_(plan_->options.variants.size()) {}

void AdapterBatch::join(int adapter) {
  Part& p = part(adapter);
  if (p.sequences++ > 0) return;
  p.place = parts();
  active_.push_back(adapter);
  if (adapter < 0) return;
  ++distinct_;
  ++of(adapter).distinct;
}

void AdapterBatch::leave(int adapter) {
  Part& p = part(adapter);
  if (--p.sequences > 0) return;
  active_[static_cast<std::size_t>(p.place)] = active_.back();
  part(active_.back()).place = p.place;
  active_.pop_back();
  if (adapter < 0) return;
  --distinct_;
  --of(adapter).distinct;
}

void AdapterBatch::start(int adapter, std::int64_t context, std::int64_t step) {
  Part& p = part(adapter);
  ++p.decoding;
  p.context_at_0 += context - step;
  if (adapter >= 0) ++of(adapter).tokens;
}

void AdapterBatch::stop(int adapter, std::int64_t context, std::int64_t step) {
  Part& p = part(adapter);
  --p.decoding;
  p.context_at_0 -= context - step;
  if (adapter >= 0) --of(adapter).tokens;
}

void AdapterBatch::add_chunk(int adapter, std::int64_t tokens, double seconds) {
  Part& p = part(adapter);
  if (p.chunks++ == 0) chunked_.push_back(adapter);
  p.chunk_tokens += tokens;
  p.prefill += seconds;
  if (adapter >= 0) of(adapter).tokens += static_cast<double>(tokens);
}

int AdapterBatch::adapters_with_chunks() const {
  return static_cast<int>(std::count_if(chunked_.begin(), chunked_.end(), [](int a) { return a >= 0; }));
}

double AdapterBatch::chunk_kernels(bool alone) const {
  if (!alone) return adapter_step_time(plan_->kernels, of_variants_).value;
  std::vector<AdapterCounts> counts(of_variants_.size());
  for (int const a : chunked_) {
    if (a < 0) continue;
    AdapterCounts& c = counts[static_cast<std::size_t>(variant(a))];
    c.tokens += static_cast<double>(part(a).chunk_tokens);
    ++c.distinct;
  }
  return adapter_step_time(plan_->kernels, counts).value;
}

double AdapterBatch::chunk_step(StepTable& prices, double work, double least, std::int64_t step, bool alone) {
  double cost = std::max(work, least);
  int const distinct = alone ? adapters_with_chunks() : distinct_;
  if (execution_ == AdapterExecution::batched && distinct > 0) {
    cost = std::max(work + chunk_kernels(alone), least + host_time_);
  } else if (is_split()) {
    cost = 0;
    for (int const a : alone ? chunked_ : active_) {
      Part const& p = part(a);
      std::int64_t const decoding = alone ? 0 : p.decoding;
      std::int64_t const tokens = decoding + p.chunk_tokens;
      double const attention = alone ? 0 : prices.attention(decoding, p.context_at_0 + decoding * step, 1);
      double const own =
          prices.base(decoding + p.chunks, tokens) + attention + p.prefill + split_time(a, tokens);
      cost += p.chunks > 0 ? std::max(own, least) : own;
    }
  }
  for (int const a : chunked_) {
    Part& p = part(a);
    if (a >= 0) of(a).tokens -= static_cast<double>(p.chunk_tokens);
    p.chunks = 0;
    p.chunk_tokens = 0;
    p.prefill = 0;
  }
  chunked_.clear();
  return cost;
}

double AdapterBatch::decode_step(StepTable& prices, double base) {
  if (execution_ == AdapterExecution::batched)
    return base + adapter_step_time(plan_->kernels, of_variants_).value;
  if (!is_split()) return base;
  double sum = 0;
  for (int const a : active_) {
    std::int64_t const n = part(a).decoding;
    sum += prices.base(n, n) + split_time(a, n);
  }
  return sum;
}

double AdapterBatch::attention(StepTable& prices, std::int64_t step, std::int64_t steps) {
  double sum = 0;
  for (int const a : active_) {
    Part const& p = part(a);
    sum += prices.attention(p.decoding, p.context_at_0 + p.decoding * step, steps);
  }
  return sum;
}

double AdapterBatch::split_time(int adapter, std::int64_t tokens) const {
  return adapter < 0
             ? 0
             : adapter_split_time(plan_->kernels, variant(adapter), static_cast<double>(tokens)).value;
}

}  // namespace rollcast
