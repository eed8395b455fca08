// What RolloutEngine computes, the slow way: every step by itself, every sequence of the step by itself,
// written after the loop of vLLM V1's scheduler. The measure of the engine in its test and in its benchmark.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <list>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "models/engine_versions.hpp"
#include "models/rollout_engine.hpp"

namespace rollcast {

class ReferenceRollout {
 public:
  ReferenceRollout(EngineOptions const& options, std::int64_t kv_blocks, StepPrices const& prices)
      : options_(options), free_(kv_blocks), total_(kv_blocks), prices_(prices) {}

  void submit(Request const& r, Seconds at) { announce(at, {Action::submit, r}); }
  void pause(Seconds at) { announce(at, {Action::pause, {}}); }
  void resume(Seconds at) { announce(at, {Action::resume, {}}); }

  void advance_to(Seconds t, std::vector<Completion>& out) {
    for (;;) {
      act_due();
      if (!(now_ < t.value)) return;
      double const next = announced_.empty() ? t.value : std::min(t.value, announced_.begin()->first);
      if (paused_ || (running_.empty() && waiting_.empty())) {
        if (next > std::numeric_limits<double>::max()) return;
        now_ = next;
      } else {
        step(out);
      }
    }
  }

  void run_to_end(std::vector<Completion>& out) {
    advance_to(Seconds(std::numeric_limits<double>::infinity()), out);
  }

  bool abort(std::int64_t id, std::vector<Completion>& out) {
    auto const is_it = [&](Live const& r) { return r.request.id == id; };
    if (auto r = std::find_if(running_.begin(), running_.end(), is_it); r != running_.end()) {
      give_back(*r);
      out.push_back({id, Seconds(now_), r->generated, true});
      running_.erase(r);
    } else if (auto w = std::find_if(waiting_.begin(), waiting_.end(), is_it); w != waiting_.end()) {
      out.push_back({id, Seconds(now_), w->generated, true});
      waiting_.erase(w);
    } else {
      auto const a = std::find_if(announced_.begin(), announced_.end(), [&](auto const& e) {
        return e.second.what == Action::submit && e.second.request.id == id;
      });
      if (a == announced_.end()) return false;
      out.push_back({id, Seconds(now_), a->second.request.generated, true});
      announced_.erase(a);
    }
    note();
    return true;
  }

  void abort_all(std::vector<Completion>& out) {
    std::vector<std::int64_t> ids;
    for (Live const& r : running_) ids.push_back(r.request.id);
    for (Live const& r : waiting_) ids.push_back(r.request.id);
    for (auto const& [time, action] : announced_) {
      if (action.what == Action::submit) ids.push_back(action.request.id);
    }
    for (std::int64_t id : ids) abort(id, out);
    note();
  }

  void drop_cache() {
    while (!running_.empty()) preempt_last();
    free_ += static_cast<std::int64_t>(idle_.size());
    idle_.clear();
    groups_.clear();
    note();
  }

  double now() const { return now_; }
  EngineCounters const& counters() const { return counters_; }
  // At every boundary (and after every preemption), where the engine only has events.
  std::vector<EnginePoint> const& curve() const { return curve_; }

 private:
  struct Action {
    enum What { submit, pause, resume } what = submit;
    Request request;
  };
  struct Live {
    Request request;
    int generated = 0;
    std::int64_t computed = 0;  // tokens in KV
    std::int64_t own = 0;       // pages of its own
    std::int64_t room = 0;      // tokens that its pages can hold, shared ones included
    bool decodes = false;
    std::int64_t chunk = 0;  // tokens of this step

    std::int64_t tokens() const { return std::int64_t{request.prompt_tokens} + generated; }
  };
  struct Load {  // what a step is priced by
    std::int64_t sequences = 0;
    std::int64_t tokens = 0;
    std::int64_t batch = 0;
    std::int64_t context = 0;
    std::vector<std::pair<double, double>> chunks;  // computed, added

    void add(Live const& r) {
      ++sequences;
      tokens += r.chunk;
      if (r.decodes) {
        ++batch;
        context += r.computed + 1;
      } else {
        chunks.emplace_back(static_cast<double>(r.computed), static_cast<double>(r.chunk));
      }
    }
  };
  struct Group {
    std::int64_t present = 0;  // leading prompt pages whose content is there
    int holders = 0;           // running members
  };

  void announce(Seconds at, Action a) { announced_.emplace(at.value, a); }

  void act_due() {
    while (!announced_.empty() && announced_.begin()->first <= now_) {
      Action const a = announced_.begin()->second;
      announced_.erase(announced_.begin());
      if (a.what == Action::submit) {
        Live r;
        r.request = a.request;
        r.generated = a.request.generated;
        waiting_.push_back(r);
      } else {
        paused_ = a.what == Action::pause;
      }
      note();
    }
  }

  // ---- pages: free_ ones are empty; idle_ ones have content that nobody holds, the next to be taken in
  // front.
  bool shares(Live const& r) const { return options_.prefix_caching && r.request.group >= 0; }
  std::int64_t shareable(Live const& r) const {
    return shares(r) ? (r.request.prompt_tokens - 1) / options_.block_size : 0;
  }
  std::int64_t available() const { return free_ + static_cast<std::int64_t>(idle_.size()); }
  void take_page() {
    if (free_ > 0) {
      --free_;
      return;
    }
    groups_[idle_.front().first].present = idle_.front().second;  // page k gone: k pages are left
    idle_.pop_front();
  }
  // Makes r hold pages for `tokens` tokens; a page that a prompt fills becomes the group's.
  bool grow(Live& r, std::int64_t tokens) {
    if (r.decodes && tokens <= r.room) return true;
    std::int64_t const shared = shareable(r);
    std::int64_t const have = r.own + (shared > 0 ? std::min(shared, r.computed / options_.block_size) : 0);
    std::int64_t const need = (tokens + options_.block_size - 1) / options_.block_size - have;
    if (need > available()) return false;
    for (std::int64_t k = 0; k < need; ++k) take_page();
    r.own += need;
    r.room = (have + need) * options_.block_size;
    if (shared > 0) {
      Group& g = groups_[r.request.group];
      std::int64_t const full = std::min(shared, tokens / options_.block_size);
      if (full > g.present) {
        r.own -= full - g.present;
        g.present = full;
      }
    }
    return true;
  }
  void give_back(Live& r) {
    free_ += r.own;
    if (shareable(r) > 0) {
      Group& g = groups_[r.request.group];
      if (--g.holders == 0)
        for (std::int64_t k = g.present; k-- > 0;) idle_.emplace_back(r.request.group, k);
    }
    r.own = 0;
    r.room = 0;
    r.computed = 0;
    r.decodes = false;
  }
  void preempt_last() {
    give_back(running_.back());
    waiting_.push_front(running_.back());
    running_.pop_back();
  }

  // ---- one step
  void step(std::vector<Completion>& out) {
    std::int64_t budget = options_.max_num_batched_tokens;
    bool preempted = false;
    std::size_t first = 0;  // running_ from here to `scheduled` are in the step
    std::size_t scheduled = 0;
    Load load;
    bool const apart = prompts_apart(options_);
    std::size_t const before = running_.size();
    if (apart && admit_waiting(budget, load)) {
      first = before;
      scheduled = running_.size();
    }
    bool const prompts_alone = scheduled > 0;
    while (!prompts_alone && scheduled < running_.size() && budget > 0) {
      std::size_t const i = scheduled;
      std::int64_t const n = std::min(running_[i].tokens() - running_[i].computed, budget);
      while (i < running_.size() && !grow(running_[i], running_[i].computed + n)) {
        preempt_last();
        ++counters_.preemptions;
        preempted = true;
      }
      if (i == running_.size()) break;
      running_[i].chunk = n;
      load.add(running_[i]);
      budget -= n;
      ++scheduled;
    }
    if (preempted) note();
    if (!apart && !preempted && admit_waiting(budget, load)) scheduled = running_.size();

    double const cost = price(load);
    counters_.decode_context_sum += static_cast<double>(load.context);
    now_ += cost;
    counters_.busy += Seconds(cost);
    ++counters_.steps;
    counters_.peak_blocks = std::max(counters_.peak_blocks, total_ - available());

    std::size_t kept = 0;
    for (std::size_t i = 0; i < running_.size(); ++i) {
      Live& r = running_[i];
      bool ended = false;
      if (i >= first && i < scheduled) {
        if (!r.decodes) counters_.prefill_tokens += r.chunk;
        r.computed += r.chunk;
        if (r.computed == r.tokens()) {
          r.decodes = true;
          ++r.generated;
          ++counters_.generated_tokens;
          ended = r.generated == r.request.response_tokens;
        }
      }
      if (ended) {
        give_back(r);
        out.push_back({r.request.id, Seconds(now_), r.generated, false});
      } else {
        if (kept != i) running_[kept] = r;
        ++kept;
      }
    }
    running_.resize(kept);
    note();
  }

  // Whether any was admitted.
  bool admit_waiting(std::int64_t& budget, Load& load) {
    bool any = false;
    while (!waiting_.empty() && budget > 0 && static_cast<int>(running_.size()) < options_.max_num_seqs) {
      Live r = waiting_.front();
      std::int64_t const present = shareable(r) > 0 ? groups_[r.request.group].present : 0;
      r.computed = present * options_.block_size;
      if (!options_.chunked_prefill && r.tokens() - r.computed > budget) break;
      r.chunk = std::min(r.tokens() - r.computed, budget);
      if (!admit(r)) break;
      counters_.cached_tokens += present * options_.block_size;
      load.add(r);
      budget -= r.chunk;
      waiting_.pop_front();
      running_.push_back(r);
      any = true;
    }
    return any;
  }

  // Fails unless the pages that are present but idle and the new ones are available together.
  bool admit(Live& r) {
    if (shareable(r) > 0) {
      Group& g = groups_[r.request.group];
      std::int64_t const need =
          (r.computed + r.chunk + options_.block_size - 1) / options_.block_size - g.present;
      if (need + (g.holders == 0 ? g.present : 0) > available()) return false;
      if (g.holders++ == 0) {
        std::int64_t const group = r.request.group;
        idle_.remove_if([&](auto const& page) { return page.first == group; });
      }
    }
    return grow(r, r.computed + r.chunk);
  }

  double price(Load const& l) const {
    double const batch = static_cast<double>(l.batch);
    double const attention = l.batch == 0 ? 0.0 : attention_at(batch, static_cast<double>(l.context) / batch);
    auto const dense = [&](std::size_t i) { return prices_.dense.y[i]; };
    auto const prompt = [&](double tokens) {
      return line(
          prices_.prefill.x, [&](std::size_t i) { return prices_.prefill.y[i]; }, tokens * (tokens + 1) / 2);
    };
    double prefill = 0;
    for (auto const& [computed, added] : l.chunks) {
      double const least = std::max(prompt(added), prices_.chunk_read * (computed + added));
      prefill += computed > 0 ? std::max(prompt(computed + added) - prompt(computed), least) : least;
    }
    return prices_.fixed.value + prices_.per_sequence.value * static_cast<double>(l.sequences) +
           line(prices_.dense.x, dense, static_cast<double>(l.tokens)) + attention + prefill;
  }

  // Linear between knots, beyond them with the slope of the end segment.
  template <class Y>
  static double line(std::vector<double> const& x, Y y, double v) {
    if (x.empty()) return 0.0;
    if (x.size() == 1) return y(0);
    std::size_t i = 0;
    while (i + 2 < x.size() && v > x[i + 1]) ++i;
    double const y0 = y(i);
    return y0 + (y(i + 1) - y0) * (v - x[i]) / (x[i + 1] - x[i]);
  }
  double attention_at(double batch, double mean) const {
    auto const& b = prices_.batch_knots;
    auto const row = [&](std::size_t i) {
      return line(
          prices_.context_knots, [&](std::size_t j) { return prices_.decode_attention[i][j]; }, mean);
    };
    if (b.empty()) return 0.0;
    if (batch <= b[0] || b.size() == 1) return row(0) * batch / b[0];
    return line(b, row, batch);
  }

  void note() {
    EnginePoint const p{Seconds(now_), static_cast<int>(running_.size()), static_cast<int>(waiting_.size()),
                        total_ - available()};
    if (!curve_.empty() && curve_.back().time.value >= now_) curve_.pop_back();
    curve_.push_back(p);
  }

  EngineOptions options_;
  std::int64_t free_;
  std::int64_t total_;
  StepPrices prices_;
  double now_ = 0;
  bool paused_ = false;
  std::multimap<double, Action> announced_;
  std::vector<Live> running_;
  std::deque<Live> waiting_;
  std::list<std::pair<std::int64_t, std::int64_t>> idle_;  // (group, page), the next to be taken in front
  std::unordered_map<std::int64_t, Group> groups_;
  EngineCounters counters_;
  std::vector<EnginePoint> curve_;
};

}  // namespace rollcast
