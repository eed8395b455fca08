// The inside of RolloutEngine: one event of continuous batching.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "models/rollout_engine.hpp"

namespace rollcast {
namespace {

// What a waiting or prefilling sequence must have in KV before it yields its next token.
std::int64_t tokens_to_prefill(Sequence const& s) { return std::int64_t{s.prompt} + s.generated; }

}  // namespace

void RolloutEngine::start_event(std::vector<Completion>& out) {
  bool preempted = schedule();
  // Adapters on their way can leave a sequence too few pages even when it is alone.
  if (adapters_ && preempted && running_.size() == 0) preempted = schedule();
  if (adapters_) alarm_ = adapters_->out_of_patience(now_);
  if (adapters_ && running_.size() == 0 && adapters_->any_loading()) {
    blocked_ = true;
  } else if (chunks_.empty()) {
    open_stretch(preempted);
  } else if (adapters_ && adapters_->step_waits()) {
    holds_step_ = true;
  } else {
    run_chunks(out);
  }
}

void RolloutEngine::start_held_step(std::vector<Completion>& out) {
  holds_step_ = false;
  now_ = max(now_, adapters_->all_there_at());
  run_chunks(out);
}

// Decides the next step, as far as it is not plain decoding: takes the pages of its decoding sequences, fills
// chunks_; true if it made room that the next boundary may give to somebody. The order in which single
// sequences ask for their page does not matter: each that fails preempts the last of all, so what stays is
// the longest leading part of the running list whose needs are met.
bool RolloutEngine::schedule() {
  bool preempted = false;
  bool evicted = false;
  auto const preempt_last = [&] {
    return_to_waiting(running_.tail());
    ++counters_.preemptions;
    preempted = true;
  };
  chunks_.clear();
  if (prompts_apart_) {
    admit_waiting(budget_);
    if (!chunks_.empty()) return false;
  }
  int const& needed = page_needs_[static_cast<std::size_t>(phase_)];
  std::int64_t taken = 0;
  while (needed - taken > pages_.available()) {
    taken += pages_.available();
    pages_.take(pages_.available());  // the last cached page goes before an adapter or a sequence does
    bool const found = adapters_ && adapters_->evict_one(pages_);
    evicted = evicted || found;
    if (!found) preempt_last();
  }
  pages_.take(needed - taken);

  std::int64_t budget = budget_ - decoding_;
  if (int const last = running_.tail(); last >= 0 && at(last).place == Sequence::Place::prefill) {
    Sequence const& s = at(last);
    std::int64_t const n = std::min(tokens_to_prefill(s) - s.computed, budget);
    if (adapters_) adapters_->evict_for(pages_.pages(s.computed + n) - pages_.pages(s.computed), pages_);
    if (pages_.extend(s.group, s.computed, s.computed + n)) {
      chunks_.push_back({last, n});
      budget -= n;
    } else {
      preempt_last();
    }
  }
  if (preempted) {
    mark();
  } else if (!prompts_apart_) {
    admit_waiting(budget);
  }
  // Where admission comes first, an adapter that has made room since may let somebody in at the next
  // boundary.
  return preempted || (prompts_apart_ && evicted);
}

void RolloutEngine::admit_waiting(std::int64_t budget) {
  if (adapters_) adapters_->begin_admission();
  while (admit_next(budget)) {
  }
  if (adapters_ && budget > 0) adapters_->prefetch(sequences_, waiting_.head(), now_, pages_);
}

bool RolloutEngine::admit_next(std::int64_t& budget) {
  if (budget <= 0 || running_.size() >= max_running_) return false;
  int const i = adapters_ ? adapters_->next(now_, max_running_ - running_.size(), pages_) : waiting_.head();
  if (i < 0) return false;
  Sequence& s = at(i);
  std::int64_t const cached = pages_.cached_tokens(s.group);
  std::int64_t const missing = tokens_to_prefill(s) - cached;
  if (!chunked_ && missing > budget) return false;
  std::int64_t const n = std::min(missing, budget);
  if (adapters_ && !adapters_->make_room(i, pages_.pages_to_admit(s.group, cached + n), pages_)) return false;
  if (!pages_.admit(s.group, cached + n)) return false;
  if (adapters_) adapters_->admit(i, now_, pages_);
  waiting_.remove(sequences_, i);
  running_.push_back(sequences_, i);
  s.place = Sequence::Place::prefill;
  s.admission = ++admissions_;
  s.computed = cached;
  counters_.cached_tokens += cached;
  chunks_.push_back({i, n});
  budget -= n;
  return true;
}

void RolloutEngine::run_chunks(std::vector<Completion>& out) {
  std::int64_t tokens = 0;
  double prefill = 0.0;
  for (Chunk const& c : chunks_) {
    tokens += c.tokens;
    double const attention = prices_.prefill(at(c.sequence).computed, c.tokens);
    prefill += attention;
    if (adapters_) adapters_->add_chunk(c.sequence, c.tokens, attention);
  }
  std::int64_t const beside = prompts_apart_ ? 0 : decoding_;
  double const decode = prompts_apart_ ? 0 : prices_.attention(decoding_, context_, 1);
  Seconds const work(prices_.base(beside + static_cast<std::int64_t>(chunks_.size()), beside + tokens) +
                     decode + prefill);
  Seconds cost = max(work, least_prefill_step_);
  if (adapters_) {
    adapters_->begin_steps(now_);
    cost = adapters_->chunk_step(prices_, work, least_prefill_step_, step_, prompts_apart_);
  }
  now_ += cost;
  counters_.busy += cost;
  counters_.prefill_tokens += tokens;
  if (prompts_apart_) {
    ++counters_.steps;
    counters_.peak_blocks = std::max(counters_.peak_blocks, pages_.used());
  } else {
    pass_steps(1);
  }
  if (adapters_) adapters_->end_steps(now_);
  for (Chunk const& c : chunks_) {
    Sequence& s = at(c.sequence);
    s.computed += c.tokens;
    if (s.computed == tokens_to_prefill(s)) start_decoding(c.sequence);
  }
  ++counters_.events;
  finish_due(out);
  mark();
}

// How long the running set stays as it is: until one finishes or no page is left. What waits stays out so
// long, since pages only get fewer; but after a step that preempted the first waiting one may fit at once.
void RolloutEngine::open_stretch(bool preempted) {
  FinishQueue::Entry const* const next = finishing_.next();
  if (next == nullptr) throw std::logic_error("rollout engine: nothing can run");
  std::int64_t length = next->step - step_;
  if (preempted && adapters_) {
    length = 1;
  } else if (preempted) {
    Sequence const& s = at(waiting_.head());
    std::int64_t const cached = pages_.cached_tokens(s.group);
    if (pages_.fits(s.group, cached + std::min(tokens_to_prefill(s) - cached, budget_ - decoding_)))
      length = 1;
  }
  std::int64_t const more = steps_with_pages(phase_ + 1, pages_.available(), length - 1);
  double const plain = prices_.base(decoding_, decoding_);
  double const base = adapters_ ? adapters_->decode_step(prices_, plain) : plain;
  stretch_ = {true, now_, counters_.busy, {}, base, plain, step_, context_, 0, 1 + more};
  if (adapters_) adapters_->begin_steps(now_);
  stretch_.cost = stretch_cost(stretch_.length);
}

void RolloutEngine::run_stretch(Seconds limit, std::vector<Completion>& out) {
  std::int64_t steps = stretch_.length;
  Seconds cost = stretch_.cost;
  if (limit < stretch_.start + cost) {
    steps = first_step_at(limit);
    cost = stretch_cost(steps);
  }
  // schedule() has taken the pages of the first step.
  std::int64_t const unpaid = stretch_.done == 0 ? 1 : 0;
  std::int64_t const n = steps - stretch_.done;
  pages_.take(pages_of_steps(phase_ + unpaid, n - unpaid));
  pass_steps(n);
  now_ = stretch_.start + cost;
  counters_.busy = stretch_.busy_at_start + cost;
  stretch_.done = steps;
  if (adapters_) {
    double extra = static_cast<double>(steps) * (stretch_.base - stretch_.plain);
    if (adapters_->is_split())
      extra += attention_cost(steps) - prices_.attention(decoding_, stretch_.context, steps);
    adapters_->decoding_took(extra);
    adapters_->end_steps(now_);
  }
  if (steps < stretch_.length) return;
  stretch_.open = false;
  ++counters_.events;
  finish_due(out);
  mark();
}

Seconds RolloutEngine::stretch_cost(std::int64_t steps) {
  return Seconds(static_cast<double>(steps) * stretch_.base + attention_cost(steps));
}

double RolloutEngine::attention_cost(std::int64_t steps) {
  return adapters_ && adapters_->is_split() ? adapters_->attention(prices_, stretch_.first_step, steps)
                                            : prices_.attention(decoding_, stretch_.context, steps);
}

// The fewest steps that reach limit, where the whole stretch passes it: a bracketed search that aims by
// interpolation (a stretch's time is nearly linear in its steps) and halves when that gains too little.
std::int64_t RolloutEngine::first_step_at(Seconds limit) {
  std::int64_t low = stretch_.done;
  std::int64_t high = stretch_.length;
  Seconds low_time = now_;
  Seconds high_time = stretch_.start + stretch_.cost;
  for (int i = 0; high - low > 1; ++i) {
    double const part = i % 3 == 2 ? 0.5 : (limit - low_time) / (high_time - low_time);
    auto const aim = low + static_cast<std::int64_t>(std::ceil(part * static_cast<double>(high - low)));
    std::int64_t const middle = std::clamp(aim, low + 1, high - 1);
    Seconds const time = stretch_.start + stretch_cost(middle);
    if (time < limit) {
      low = middle;
      low_time = time;
    } else {
      high = middle;
      high_time = time;
    }
  }
  return high;
}

void RolloutEngine::finish_due(std::vector<Completion>& out) {
  due_.clear();
  for (auto const* e = finishing_.next(); e != nullptr && e->step <= step_; e = finishing_.next()) {
    due_.push_back(e->sequence);
    finishing_.remove(e->sequence);
  }
  std::sort(due_.begin(), due_.end(), [&](int a, int b) { return at(a).admission < at(b).admission; });
  for (int const i : due_) end(i, false, out);
}

// n steps in which every decoding sequence gets one token; their pages are taken.
void RolloutEngine::pass_steps(std::int64_t n) {
  double const steps = static_cast<double>(n);
  double const batch = static_cast<double>(decoding_);
  counters_.decode_context_sum +=
      steps * static_cast<double>(context_) + batch * (0.5 * steps * (steps - 1.0));
  counters_.steps += n;
  counters_.generated_tokens += n * decoding_;
  counters_.peak_blocks = std::max(counters_.peak_blocks, pages_.used());
  context_ += n * decoding_;
  step_ += n;
  phase_ = (phase_ + n) % block_size_;
  if (adapters_) adapters_->pass_steps(n);
}

// ---- sequences in and out of decoding

void RolloutEngine::start_decoding(int i) {
  Sequence& s = at(i);
  if (s.generated == 0) s.first_token = now_;
  ++s.generated;
  ++counters_.generated_tokens;
  ++counters_.prefills;
  s.place = Sequence::Place::decode;
  s.finish_step = step_ + (s.response - s.generated);
  ++decoding_;
  context_ += s.computed + 1;
  if (adapters_) adapters_->start_decoding(i, s.computed + 1, step_);
  add_page_need(s.computed, 1);
  finishing_.push(s.finish_step, i);
}

void RolloutEngine::stop_running(int i) {
  Sequence& s = at(i);
  if (s.place == Sequence::Place::decode) {
    s.generated = static_cast<int>(s.response - (s.finish_step - step_));
    s.computed = tokens_to_prefill(s) - 1;
    --decoding_;
    context_ -= s.computed + 1;
    if (adapters_) adapters_->stop_decoding(i, s.computed + 1, step_);
    add_page_need(s.computed, -1);
    finishing_.remove(i);
  }
  pages_.release(s.group, s.computed);
  running_.remove(sequences_, i);
  if (adapters_) adapters_->stop_running(i);
}

void RolloutEngine::return_to_waiting(int i) {
  stop_running(i);
  at(i).place = Sequence::Place::waiting;
  waiting_.push_front(sequences_, i);
  if (adapters_) adapters_->return_to_front(i);
}

// A sequence with `computed` tokens in KV needs a page in the steps at which computed is a multiple of the
// block size: now, if it is one, and then every block_size steps.
void RolloutEngine::add_page_need(std::int64_t computed, int change) {
  std::int64_t residue = phase_ - computed % block_size_;
  if (residue < 0) residue += block_size_;
  page_needs_[static_cast<std::size_t>(residue)] += change;
  page_needs_[static_cast<std::size_t>(residue + block_size_)] += change;
}

// Pages that decoding takes in `steps` steps from the one of phase `from` on.
std::int64_t RolloutEngine::pages_of_steps(std::int64_t from, std::int64_t steps) const {
  auto const* const first = page_needs_.data() + (from < block_size_ ? from : from - block_size_);
  std::int64_t pages = steps / block_size_ * decoding_;
  for (std::int64_t i = 0; i < steps % block_size_; ++i) pages += first[i];
  return pages;
}

// The most steps, up to `enough`, that `pages` pages last from the step of phase `from` on.
std::int64_t RolloutEngine::steps_with_pages(std::int64_t from, std::int64_t pages,
                                             std::int64_t enough) const {
  auto const* need = page_needs_.data() + (from < block_size_ ? from : from - block_size_);
  std::int64_t steps = pages / decoding_ * block_size_;
  for (std::int64_t left = pages % decoding_; steps < enough && left >= *need; ++steps) left -= *need++;
  return std::min(steps, enough);
}

}  // namespace rollcast
