#include "sim/rollout_loop.hpp"

#include <algorithm>
#include <stdexcept>

namespace rollcast {
namespace {

FleetOptions fleet_options(RolloutPool const& pool) {
  EngineOptions const& e = pool.job.rollout;
  return {.engines = pool.engines(), .balance = e.balance, .feed = e.feed, .most_in_flight = 0};
}

}  // namespace

RolloutWork work_between(RolloutPool const& pool, EngineCounters const& before, EngineCounters const& after) {
  // A step computes the first token of a sequence in its prefill, so dense tokens are prefill plus the rest.
  std::int64_t const tokens = (after.prefill_tokens - before.prefill_tokens) +
                              (after.generated_tokens - before.generated_tokens) -
                              (after.prefills - before.prefills);
  return rollout_work(pool.job.model, pool.job.rollout, std::max(0.0, static_cast<double>(tokens)),
                      after.decode_context_sum - before.decode_context_sum,
                      static_cast<double>(after.steps - before.steps));
}

RolloutLoop::RolloutLoop(RolloutPool const& pool, Job const& job, std::uint64_t seed, Seconds start)
    : job_(job),
      seed_(seed),
      fleet_(fleet_options(pool), pool.job.rollout, pool.kv_blocks, pool.prices, pool.least_prefill_step) {
  fleet_.advance_to(start, out_);
  Scoring const& s = job.score;
  turns_ = turn_model(s);
  if (s.sandbox) sandbox_ = distribution_of(s.sandbox->seconds, s.sandbox->timeout);
  int const workers = s.sandbox ? s.sandbox->workers : s.workers;
  for (int w = 0; w < workers && s.overlap; ++w) workers_.push(start);
}

std::vector<Turn> RolloutLoop::turns_of_life(StepSample const& s) const {
  if (!turns_) return {{s.prompt_tokens, 0, s.response_tokens, Seconds(0)}};
  return turns_of(*turns_, seed_, s);
}

Request RolloutLoop::request_of(Live const& l) const {
  Turn const& turn = l.turns[l.turn];
  // Later turns continue the sample's own context, which no sibling shares.
  return {.id = l.life.sample.id,
          .group = l.turn == 0 ? l.life.group : -1,
          .prompt_tokens = turn.context_tokens,
          .response_tokens = turn.generate_tokens};
}

void RolloutLoop::start(std::vector<std::pair<std::int64_t, std::vector<StepSample>>> const& groups,
                        Seconds at) {
  std::vector<Request> requests;
  for (auto const& [number, samples] : groups) {
    missing_[number] = static_cast<int>(samples.size());
    done_[number].reserve(samples.size());
    for (StepSample const& s : samples) {
      if (s.generated >= s.response_tokens) {
        done_[number].push_back({.sample = s, .group = number, .generated = s.generated, .finished = at});
        --missing_.at(number);
        continue;
      }
      Live live{.life = {.sample = s, .group = number}, .turns = turns_of_life(s)};
      requests.push_back(request_of(live));
      requests.back().generated = s.generated;
      if (!live_.emplace(s.id, std::move(live)).second) throw std::logic_error("a sample is started twice");
    }
    if (missing_.at(number) > 0) continue;
    missing_.erase(number);
    finished_.push_back({number, at});
  }
  std::vector<int> const engines = fleet_.submit(requests, at);
  for (std::size_t i = 0; i < requests.size(); ++i) live_.at(requests[i].id).life.engine = engines[i];
}

Seconds RolloutLoop::scored_by(StepSample const& s, Seconds at) {
  Seconds const service =
      sandbox_ ? sample(*sandbox_, draw_key(seed_, Purpose::score_time, s)) : rule_time(job_.score);
  Seconds const done = max(at, workers_.top()) + service;
  workers_.pop();
  workers_.push(done);
  return done;
}

void RolloutLoop::end(FleetCompletion const& c) {
  auto const sample = live_.find(c.completion.id);
  Live& l = sample->second;
  if (l.life.first_token < Seconds(0)) l.life.first_token = c.completion.first_token;
  l.life.generated += l.turns[l.turn].generate_tokens;
  if (l.turn + 1 < l.turns.size()) {
    Seconds const pause = l.turns[l.turn].pause;
    ++l.turn;
    // Where what it has said so far may still be cached, as verl keeps a conversation with its server.
    fleet_.submit_to(l.life.engine, request_of(l), max(fleet_.now(), c.completion.time + pause));
    return;
  }
  l.life.finished = c.completion.time;
  if (!job_.score.overlap) return finish(sample, c.completion.time);
  scoring_.push({scored_by(l.life.sample, c.completion.time), c.completion.id});
}

void RolloutLoop::finish(LiveSamples::iterator const& sample, Seconds at) {
  SampleLife life = sample->second.life;
  live_.erase(sample);
  done_[life.group].push_back(life);
  auto const missing = missing_.find(life.group);
  if (--missing->second > 0) return;
  missing_.erase(missing);
  finished_.push_back({life.group, at});
}

std::optional<FinishedGroup> RolloutLoop::next_group(Seconds limit) {
  for (;;) {
    if (!finished_.empty()) {
      FinishedGroup const g = finished_.front();
      finished_.pop_front();
      return g;
    }
    Seconds until = limit;
    bool const scores = !scoring_.empty() && scoring_.top().time <= limit;
    if (scores) until = scoring_.top().time;
    out_.clear();
    bool const any = fleet_.advance_to_completion(until, out_);
    for (FleetCompletion const& c : out_) end(c);
    if (any) continue;
    if (!scores) return std::nullopt;
    Scored const s = scoring_.top();
    scoring_.pop();
    finish(live_.find(s.id), s.time);
  }
}

void RolloutLoop::resume(bool recompute) {
  if (recompute) fleet_.drop_cache();
  fleet_.resume();
}

std::vector<SampleLife> RolloutLoop::abandon() {
  out_.clear();
  fleet_.abort_all(out_);
  for (FleetCompletion const& c : out_) {
    Live& l = live_.at(c.completion.id);
    // A turn that is cut short is generated again as a whole; a single turn goes on where it was.
    l.life.generated = l.turns.size() == 1 ? c.completion.generated : l.life.sample.generated;
  }
  std::vector<SampleLife> all;
  for (auto& [id, l] : live_) all.push_back(l.life);
  for (auto const& [group, samples] : done_) all.insert(all.end(), samples.begin(), samples.end());
  live_.clear();
  done_.clear();
  missing_.clear();
  finished_.clear();
  std::sort(all.begin(), all.end(), [](SampleLife const& a, SampleLife const& b) {
    return std::pair(a.group, a.sample.id) < std::pair(b.group, b.sample.id);
  });
  for (SampleLife& s : all) s.sample.generated = s.generated;
  return all;
}

std::vector<SampleLife> RolloutLoop::take(std::int64_t group) {
  auto node = done_.extract(group);
  if (node.empty()) throw std::logic_error("a group is taken that is not there");
  std::vector<SampleLife> samples = std::move(node.mapped());
  std::sort(samples.begin(), samples.end(),
            [](SampleLife const& a, SampleLife const& b) { return a.sample.id < b.sample.id; });
  return samples;
}

}  // namespace rollcast
