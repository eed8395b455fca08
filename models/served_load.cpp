#include "models/served_load.hpp"

#include <stdexcept>
#include <vector>

#include "models/rollout_engine.hpp"

namespace rollcast {
namespace {

constexpr int kMeasuredWaves = 3;

}  // namespace

ServedTimes served_times(EngineOptions const& options, std::int64_t kv_blocks, StepPrices const& prices,
                         Seconds least_prefill_step, ServedLoad const& load) {
  if (load.concurrency < 1 || load.prompt_tokens < 1 || load.response_tokens < 1)
    throw std::logic_error("a served load needs requests, prompt and response tokens");
  RolloutEngine engine(options, kv_blocks, prices, least_prefill_step);
  std::vector<Seconds> submitted;  // by id
  auto const submit = [&](Seconds at) {
    auto const id = static_cast<std::int64_t>(submitted.size());
    submitted.push_back(at);
    engine.submit({id, -1, load.prompt_tokens, load.response_tokens}, at);
  };
  for (int i = 0; i < load.concurrency; ++i) submit(Seconds(0));

  auto const warm_up = static_cast<std::size_t>(load.concurrency);
  std::size_t const wanted = warm_up * (1 + kMeasuredWaves);
  std::vector<Completion> done;
  while (done.size() < wanted) {
    std::size_t const before = done.size();
    engine.advance_to_completion(done);
    if (done.size() == before) throw std::logic_error("a served load stands still");
    for (std::size_t i = before; i < done.size(); ++i) submit(done[i].time);
  }

  Seconds waiting, decoding;
  for (std::size_t i = warm_up; i < wanted; ++i) {
    waiting += done[i].first_token - submitted[static_cast<std::size_t>(done[i].id)];
    decoding += done[i].time - done[i].first_token;
  }
  auto const requests = static_cast<double>(wanted - warm_up);
  ServedTimes times;
  times.ttft = waiting / requests;
  if (load.response_tokens > 1) times.tpot = decoding / (requests * (load.response_tokens - 1));
  return times;
}

}  // namespace rollcast
