// What RolloutEngine computes with adapters, the slow way: every step by itself, every choice by a look at
// all that wait, every time of a load by a look at all steps. Loads take what `load_time` says.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <list>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "models/rollout_engine.hpp"
#include "tests/models/reference_rollout.hpp"

namespace rollcast {

// How long the n-th load of an adapter takes.
using LoadTime = std::function<double(int adapter, int n)>;

class ReferenceServing {
 public:
  ReferenceServing(EngineOptions const& options, std::int64_t kv_blocks, StepPrices const& prices,
                   double least, AdapterPlan const& plan, LoadTime load_time)
      : options_(options),
        free_(kv_blocks),
        total_(kv_blocks),
        prices_(prices),
        least_(least),
        plan_(plan),
        load_time_(std::move(load_time)),
        adapters_(static_cast<std::size_t>(plan.options.count)) {}

  void submit(Request const& r, double at) { coming_.emplace(at, r); }

  void run_to_end(std::vector<Completion>& out) {
    for (;;) {
      act_due();
      if (!step(out)) {
        double next = std::numeric_limits<double>::infinity();
        if (!coming_.empty()) next = std::min(next, coming_.begin()->first);
        if (!on_the_way_.empty()) next = std::min(next, on_the_way_.begin()->first);
        for (Live const& w : waiting_) {
          double const patience = w.arrival + plan_.patience.value;
          if (plan_.patience.value > 0 && patience > now_) next = std::min(next, patience);
        }
        if (next > 1e300) break;
        now_ = next;
      }
    }
    for (auto const& [from, to] : load_spans()) {
      double hidden = 0;
      for (auto const& [begin, end] : steps_)
        hidden += std::max(0.0, std::min(end, to) - std::max(begin, from));
      use_.load_time += Seconds(to - from);
      use_.exposed += Seconds(to - from - hidden);
    }
  }

  double now() const { return now_; }
  EngineCounters const& counters() const { return counters_; }
  AdapterUse const& use() const { return use_; }
  std::vector<EnginePoint> const& curve() const { return curve_; }  // at the end of each step
  std::vector<WantedLoad> const& wanted() const { return wanted_; }
  int most_in_batch() const { return most_in_batch_; }
  bool all_returned() const {
    std::int64_t held = 0;
    for (std::size_t a = 0; a < adapters_.size(); ++a)
      if (adapters_[a].state != Adapter::absent) held += pages(static_cast<int>(a));
    return available() + held == total_;
  }

 private:
  struct Live {
    Request request;
    double arrival = 0;
    int arrived = 0;
    bool charged = false;
    int generated = 0;
    std::int64_t computed = 0;
    std::int64_t own = 0;
    std::int64_t room = 0;
    bool decodes = false;
    bool sits_out = false;  // a step of prompts alone
    std::int64_t chunk = 0;

    std::int64_t tokens() const { return std::int64_t{request.prompt_tokens} + generated; }
  };
  struct Adapter {
    enum State { absent, loading, there } state = absent;
    bool asked_for = false;  // by a request that waits
    int last_use = 0;
    int requests = 0;
    int loads = 0;
  };
  struct Group {
    std::int64_t present = 0;
    int holders = 0;
  };
  using GroupKey = std::pair<std::int64_t, int>;
  using Waiting = std::list<Live>::iterator;

  bool is(AdapterExecution e) const { return plan_.options.execution == e; }
  bool moves() const { return !is(AdapterExecution::none) && !is(AdapterExecution::deployments); }
  bool unified() const { return plan_.options.pool == AdapterPool::unified; }
  bool blocking() const { return plan_.options.loading == AdapterLoading::blocking; }
  std::size_t variant(int a) const { return static_cast<std::size_t>(a) % plan_.options.variants.size(); }
  std::int64_t pages(int a) const { return unified() && moves() ? plan_.pages[variant(a)] : 0; }
  Adapter& at(int a) { return adapters_[static_cast<std::size_t>(a)]; }
  int users(int a) const {
    return static_cast<int>(std::count_if(running_.begin(), running_.end(),
                                          [&](Live const& r) { return r.request.adapter == a; }));
  }

  // ---- outside
  void act_due() {
    while (!coming_.empty() && coming_.begin()->first <= now_) {
      Live r;
      r.request = coming_.begin()->second;
      r.arrival = coming_.begin()->first;
      r.generated = r.request.generated;
      r.arrived = arrived_++;
      coming_.erase(coming_.begin());
      int const a = r.request.adapter;
      if (alive_[a]++ == 0 && plan_.order == ServeOrder::fair) {
        std::optional<std::int64_t> least;
        for (auto const& [tenant, n] : alive_)
          if (tenant != a && n > 0) least = std::min(least.value_or(served_[tenant]), served_[tenant]);
        served_[a] = std::max(served_[a], least.value_or(last_served_));
      }
      if (a >= 0) ++at(a).requests;
      waiting_.push_back(r);
    }
    while (!on_the_way_.empty() && on_the_way_.begin()->first <= now_) {
      int const a = on_the_way_.begin()->second;
      on_the_way_.erase(on_the_way_.begin());
      at(a).state = Adapter::there;
      if (users(a) == 0) at(a).last_use = ++uses_;
    }
  }

  // ---- pages
  bool shares(Live const& r) const { return options_.prefix_caching && r.request.group >= 0; }
  static GroupKey key(Live const& r) { return {r.request.group, r.request.adapter}; }
  std::int64_t shareable(Live const& r) const {
    return shares(r) ? (r.request.prompt_tokens - 1) / options_.block_size : 0;
  }
  std::int64_t pages_of(std::int64_t tokens) const {
    return (tokens + options_.block_size - 1) / options_.block_size;
  }
  std::int64_t available() const { return free_ + static_cast<std::int64_t>(idle_.size()); }
  void take_page() {
    if (free_ > 0) {
      --free_;
      return;
    }
    groups_[idle_.front().first].present = idle_.front().second;
    idle_.pop_front();
  }
  std::int64_t missing_pages(Live const& r, std::int64_t tokens) const {
    if (r.decodes && tokens <= r.room) return 0;
    std::int64_t const have = r.own + std::min(shareable(r), r.computed / options_.block_size);
    return pages_of(tokens) - have;
  }
  void grow(Live& r, std::int64_t tokens) {
    if (r.decodes && tokens <= r.room) return;
    std::int64_t const need = missing_pages(r, tokens);
    r.room = (need + r.own + std::min(shareable(r), r.computed / options_.block_size)) * options_.block_size;
    for (std::int64_t k = 0; k < need; ++k) take_page();
    r.own += need;
    if (shareable(r) > 0) {
      Group& g = groups_[key(r)];
      std::int64_t const full = std::min(shareable(r), tokens / options_.block_size);
      if (full > g.present) {
        r.own -= full - g.present;
        g.present = full;
      }
    }
  }
  void give_back(Live& r) {
    free_ += r.own;
    if (shareable(r) > 0) {
      Group& g = groups_[key(r)];
      if (--g.holders == 0)
        for (std::int64_t k = g.present; k-- > 0;) idle_.emplace_back(key(r), k);
    }
    r.own = 0;
    r.room = 0;
    r.computed = 0;
    r.decodes = false;
  }
  // `users(a)` no longer counts the sequence.
  void left(int a) {
    if (a >= 0 && users(a) == 0) at(a).last_use = ++uses_;
  }
  void preempt_last() {
    Live r = running_.back();
    running_.pop_back();
    give_back(r);
    left(r.request.adapter);
    waiting_.push_front(r);
    ++counters_.preemptions;
  }

  // ---- adapters in memory
  int victim(int kept = -1) const {
    int best = -1;
    for (int a = 0; a < plan_.options.count; ++a) {
      Adapter const& x = adapters_[static_cast<std::size_t>(a)];
      if (a == kept || x.state != Adapter::there || users(a) > 0) continue;
      if (best < 0) {
        best = a;
        continue;
      }
      Adapter const& y = adapters_[static_cast<std::size_t>(best)];
      bool const popular = plan_.options.eviction == AdapterEviction::popularity;
      if (std::pair(popular ? x.requests : 0, x.last_use) < std::pair(popular ? y.requests : 0, y.last_use))
        best = a;
    }
    return best;
  }
  void evict(int a) {
    at(a).state = Adapter::absent;
    at(a).asked_for = false;
    free_ += pages(a);
    ++use_.evictions;
  }
  std::int64_t evictable(int kept) const {
    std::int64_t sum = 0;
    for (int a = 0; a < plan_.options.count; ++a)
      if (a != kept && adapters_[static_cast<std::size_t>(a)].state == Adapter::there && users(a) == 0)
        sum += pages(a);
    return sum;
  }
  int resident() const {
    return static_cast<int>(std::count_if(adapters_.begin(), adapters_.end(),
                                          [](Adapter const& a) { return a.state != Adapter::absent; }));
  }
  bool free_room(int a) const { return unified() ? pages(a) <= available() : resident() < plan_.slots; }
  bool has_room(int a) const {
    return unified() ? pages(a) <= available() + evictable(-1) : resident() < plan_.slots || victim() >= 0;
  }
  void load(int a, int kept) {
    while (!free_room(a)) evict(victim(kept));
    at(a).state = Adapter::loading;
    for (std::int64_t k = 0; k < pages(a); ++k) take_page();
    double const ready = now_ + load_time_(a, at(a).loads++);
    on_the_way_.emplace(ready, a);
    load_times_.emplace_back(now_, ready);
    wanted_.push_back({0, a, Seconds(now_)});
    ++use_.loads;
    use_.peak_resident = std::max<std::int64_t>(use_.peak_resident, resident());
    std::int64_t held = 0;
    for (int i = 0; i < plan_.options.count; ++i)
      if (at(i).state != Adapter::absent) held += pages(i);
    use_.peak_pages = std::max(use_.peak_pages, held);
  }

  // ---- who is next
  int in_batch() const {
    std::vector<int> seen;
    for (Live const& r : running_)
      if (r.request.adapter >= 0 || is(AdapterExecution::merged)) seen.push_back(r.request.adapter);
    std::sort(seen.begin(), seen.end());
    return static_cast<int>(std::unique(seen.begin(), seen.end()) - seen.begin());
  }
  // 0: in the batch, 1: in memory, 2: absent; -1: it cannot join now.
  int kind(Live const& r, bool room) {
    int const a = r.request.adapter;
    int const limit = is(AdapterExecution::merged) ? 1 : moves() ? plan_.options.batch_limit : 0;
    if (!moves() || users(a) > 0 || (a < 0 && !is(AdapterExecution::merged))) return 0;
    if (a < 0 || at(a).state == Adapter::there) return limit == 0 || in_batch() < limit ? 1 : -1;
    if (at(a).state == Adapter::loading || !room) return -1;
    return limit == 0 || in_batch() + awaited() < limit ? 2 : -1;
  }
  int awaited() const {
    return static_cast<int>(std::count_if(adapters_.begin(), adapters_.end(), [](Adapter const& a) {
      return a.state == Adapter::loading && a.asked_for;
    }));
  }
  Waiting candidate(bool room) {
    Waiting oldest = std::min_element(waiting_.begin(), waiting_.end(),
                                      [](Live const& x, Live const& y) { return x.arrived < y.arrived; });
    if (oldest != waiting_.end() && plan_.patience.value > 0 &&
        now_ >= oldest->arrival + plan_.patience.value)
      return kind(*oldest, room) >= 0 ? oldest : waiting_.end();
    Waiting best = waiting_.end();
    std::pair<int, std::int64_t> least;
    for (Waiting w = waiting_.begin(); w != waiting_.end(); ++w) {
      int const k = kind(*w, room);
      if (k < 0) continue;
      std::pair<int, std::int64_t> const mine{
          plan_.order == ServeOrder::grouped ? k : 0,
          plan_.order == ServeOrder::fair ? served_[w->request.adapter] : 0};
      if (best == waiting_.end() || mine < least) {
        best = w;
        least = mine;
      }
    }
    if (best == waiting_.end() || plan_.order != ServeOrder::fair) return best;
    for (Live const& w : waiting_) {
      int const a = w.request.adapter;
      bool const comes = moves() && a >= 0 && users(a) == 0 && at(a).state == Adapter::loading;
      if (!comes && least.second - served_[a] > AdapterQueue::kMostAhead) return waiting_.end();
    }
    return best;
  }
  void admit_waiting(std::int64_t budget) {
    bool room = true;
    int tried = -1;
    while (budget > 0 && static_cast<int>(running_.size()) < options_.max_num_seqs) {
      Waiting const w = candidate(room);
      if (w == waiting_.end()) break;
      int const a = w->request.adapter;
      bool const absent = kind(*w, room) == 2;
      if (absent && !blocking() && awaited() >= options_.max_num_seqs - static_cast<int>(running_.size())) {
        room = false;
        continue;
      }
      if (absent && !has_room(a)) {
        if (unified()) break;
        room = false;
        continue;
      }
      if (absent && !blocking()) {
        load(a, -1);
        at(a).asked_for = true;
        continue;
      }
      Live r = *w;
      std::int64_t const present = shareable(r) > 0 ? groups_[key(r)].present : 0;
      r.computed = present * options_.block_size;
      tried = a;
      if (!options_.chunked_prefill && r.tokens() - r.computed > budget) break;
      r.chunk = std::min(r.tokens() - r.computed, budget);
      std::int64_t need = pages_of(r.computed + r.chunk) - present;
      if (shareable(r) > 0 && groups_[key(r)].holders == 0) need += present;
      std::int64_t const all = need + (absent ? pages(a) : 0);
      if (all > available() + evictable(a)) break;
      while (all > available()) evict(victim(a));
      tried = -1;
      if (shareable(r) > 0 && groups_[key(r)].holders++ == 0)
        idle_.remove_if([&](auto const& page) { return page.first == key(r); });
      grow(r, r.computed + r.chunk);
      if (absent) {
        load(a, a);
      } else if (moves() && a >= 0) {
        if (!at(a).asked_for) ++use_.hits;
        at(a).asked_for = false;
      }
      if (!r.charged) served_[a] += r.request.prompt_tokens + 2 * r.request.response_tokens;
      r.charged = true;
      counters_.cached_tokens += present * options_.block_size;
      budget -= r.chunk;
      waiting_.erase(w);
      running_.push_back(r);
    }
    if (budget > 0 && !blocking() && moves()) prefetch(tried);
  }
  // Whose adapter `tried` is could not be admitted for want of pages or budget.
  void prefetch(int tried) {
    std::vector<int> first;
    for (Live const& w : waiting_) {
      if (static_cast<int>(first.size()) == plan_.options.prefetch) break;
      first.push_back(w.request.adapter);
    }
    for (int const a : first) {
      if (a < 0 || at(a).state != Adapter::absent) continue;
      if (!has_room(a)) return;
      while (!free_room(a)) {
        int const v = victim();
        if (v == tried || std::count(first.begin(), first.end(), v) > 0) return;
        evict(v);
      }
      load(a, -1);
    }
  }

  // ---- one step; false: nothing can run
  bool step(std::vector<Completion>& out) {
    std::int64_t budget = options_.max_num_batched_tokens;
    bool preempted = false;
    bool const apart = prompts_apart(options_);
    std::size_t const before_them = running_.size();
    if (apart) admit_waiting(budget);
    bool const alone = running_.size() > before_them;
    for (std::size_t i = 0; alone && i < before_them; ++i) running_[i].sits_out = true;
    for (std::size_t scheduled = 0; !alone && scheduled < running_.size(); ++scheduled) {
      std::size_t const i = scheduled;
      std::int64_t const n = std::min(running_[i].tokens() - running_[i].computed, budget);
      while (i < running_.size()) {
        std::int64_t const need = missing_pages(running_[i], running_[i].computed + n);
        if (need > available() && need <= available() + evictable(-1)) {
          while (need > available()) evict(victim());
        }
        if (need <= available()) break;
        preempt_last();
        preempted = true;
      }
      if (i == running_.size()) break;
      grow(running_[i], running_[i].computed + n);
      running_[i].chunk = n;
      budget -= n;
    }
    if (!preempted && !apart) admit_waiting(budget);
    if (running_.empty()) return preempted;
    if (blocking()) {
      double ready = now_;
      for (auto const& [time, a] : on_the_way_) {
        at(a).state = Adapter::there;
        ready = std::max(ready, time);
      }
      on_the_way_.clear();
      now_ = ready;
    }
    double const begin = now_;
    now_ += cost();
    steps_.emplace_back(begin, now_);
    counters_.busy += Seconds(now_ - begin);
    ++counters_.steps;
    counters_.peak_blocks = std::max(counters_.peak_blocks, total_ - available());
    most_in_batch_ = std::max(most_in_batch_, in_batch());

    std::vector<Live> before;
    before.swap(running_);
    std::vector<int> ended;
    for (Live r : before) {
      if (std::exchange(r.sits_out, false)) {
        running_.push_back(r);
        continue;
      }
      if (!r.decodes) counters_.prefill_tokens += r.chunk;
      r.computed += r.chunk;
      bool end = false;
      if (r.computed == r.tokens()) {
        r.decodes = true;
        ++r.generated;
        ++counters_.generated_tokens;
        end = r.generated == r.request.response_tokens;
      }
      if (end) {
        give_back(r);
        out.push_back({r.request.id, Seconds(now_), r.generated, false});
        ended.push_back(r.request.adapter);
      } else {
        running_.push_back(r);
      }
    }
    // In order of admission: an adapter is unused once the last of those that end with it has ended.
    for (std::size_t i = 0; i < ended.size(); ++i) {
      int const a = ended[i];
      if (--alive_[a] == 0) last_served_ = served_[a];
      if (std::count(ended.begin() + static_cast<std::ptrdiff_t>(i) + 1, ended.end(), a) == 0) left(a);
    }
    curve_.push_back({Seconds(now_), static_cast<int>(running_.size()), static_cast<int>(waiting_.size()),
                      total_ - available()});
    return true;
  }

  double cost() {
    ReferenceLoad all;
    std::map<int, ReferenceLoad> parts;
    std::vector<AdapterCounts> counts(plan_.options.variants.size());
    for (Live const& r : running_) {
      if (r.sits_out) continue;
      int const a = r.request.adapter;
      if (a >= 0 && parts.find(a) == parts.end()) {
        ++counts[variant(a)].distinct;
        use_.distinct_steps += 1;
      }
      all.add(r.computed, r.chunk, r.decodes);
      parts[a].add(r.computed, r.chunk, r.decodes);
      if (a >= 0) counts[variant(a)].tokens += static_cast<double>(r.chunk);
    }
    bool const any = parts.rbegin()->first >= 0;
    double const least = all.chunks.empty() ? 0 : least_;
    double const plain = std::max(all.price(prices_), least);
    double sum = plain;
    if (is(AdapterExecution::batched)) {
      double const host = any && !all.chunks.empty() ? adapter_host_time(plan_.kernels).value : 0;
      sum = std::max(all.price(prices_) + adapter_step_time(plan_.kernels, counts).value, least + host);
    } else if (is(AdapterExecution::split)) {
      sum = 0;
      for (auto const& [a, part] : parts) {
        double own = part.price(prices_);
        if (a >= 0)
          own += adapter_split_time(plan_.kernels, static_cast<int>(variant(a)),
                                    static_cast<double>(part.tokens))
                     .value;
        sum += std::max(own, part.chunks.empty() ? 0 : least_);
      }
    }
    use_.kernel_time += Seconds(sum - plain);
    if (is(AdapterExecution::merged) && parts.begin()->first != in_weights_) {
      double time = 0;
      if (in_weights_ >= 0) time += plan_.merge[variant(in_weights_)].value;
      in_weights_ = parts.begin()->first;
      if (in_weights_ >= 0) time += plan_.merge[variant(in_weights_)].value;
      ++use_.switches;
      use_.switch_time += Seconds(time);
      sum += time;
    }
    return sum;
  }

  // The union of all loads.
  std::vector<std::pair<double, double>> load_spans() {
    std::sort(load_times_.begin(), load_times_.end());
    std::vector<std::pair<double, double>> spans;
    for (auto const& [from, to] : load_times_) {
      if (spans.empty() || from > spans.back().second) {
        spans.emplace_back(from, to);
      } else {
        spans.back().second = std::max(spans.back().second, to);
      }
    }
    return spans;
  }

  EngineOptions options_;
  std::int64_t free_;
  std::int64_t total_;
  StepPrices prices_;
  double least_;
  AdapterPlan plan_;
  LoadTime load_time_;
  double now_ = 0;
  std::multimap<double, Request> coming_;
  std::multimap<double, int> on_the_way_;
  std::vector<Live> running_;
  std::list<Live> waiting_;
  std::list<std::pair<GroupKey, std::int64_t>> idle_;
  std::map<GroupKey, Group> groups_;
  std::vector<Adapter> adapters_;
  std::map<int, int> alive_;
  std::map<int, std::int64_t> served_;
  std::int64_t last_served_ = 0;
  int arrived_ = 0;
  int uses_ = 0;
  int in_weights_ = -1;
  int most_in_batch_ = 0;
  std::vector<std::pair<double, double>> steps_;
  std::vector<std::pair<double, double>> load_times_;
  std::vector<WantedLoad> wanted_;
  EngineCounters counters_;
  std::vector<EnginePoint> curve_;
  AdapterUse use_;
};

}  // namespace rollcast
