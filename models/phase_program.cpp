#include "models/phase_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>
#include <string_view>
#include <utility>

#include "models/activations.hpp"
#include "models/adapter.hpp"
#include "models/ledger.hpp"
#include "models/logit_copies.hpp"
#include "models/pools.hpp"
#include "models/sharding.hpp"
#include "models/stage_layers.hpp"
#include "models/state_bytes.hpp"
#include "models/update_buffers.hpp"
#include "models/update_moment.hpp"

namespace rollcast {
namespace {

constexpr int kMostTensors = 32;  // that one formula is written as
constexpr int kWrittenRepeats = 3;

class Writer {
 public:
  explicit Writer(Role role) : role_(role) {}

  // The block, none for no bytes.
  std::optional<int> take(MemoryCategory category, std::string_view name, Bytes bytes,
                          std::int64_t stream = 0) {
    if (!(bytes.value >= 1)) return std::nullopt;
    return take_named(name_index(category, name), std::llround(bytes.value), stream);
  }
  // `count` equal blocks.
  void take(std::vector<int>& blocks, MemoryCategory category, std::string_view name, Bytes each, int count) {
    if (!(each.value >= 1)) return;
    int const index = name_index(category, name);
    std::int64_t const size = std::llround(each.value);
    for (int i = 0; i < count; ++i) blocks.push_back(take_named(index, size, 0));
  }
  void give(std::optional<int> block) {
    if (block) add({ProgramEvent::Kind::free, *block, 0, 0, 0, micro_batch_, program_.work});
  }
  void give(std::vector<int>& blocks) {
    for (auto b = blocks.rbegin(); b != blocks.rend(); ++b) give(*b);
    blocks.clear();
  }
  void make_states() {
    add({ProgramEvent::Kind::make_states, 0, 0, 0, name_index(MemoryCategory::optimizer_states, "states"),
         micro_batch_, program_.work});
  }
  void work(double amount) { program_.work += amount; }
  void begin_micro_batch(int m) { micro_batch_ = m; }
  PhaseProgram done() { return std::move(program_); }

 private:
  void add(ProgramEvent const& e) { program_.events.push_back(e); }
  int take_named(int name, std::int64_t size, std::int64_t stream) {
    int const block = program_.blocks++;
    add({ProgramEvent::Kind::allocate, block, size, stream, name, micro_batch_, program_.work});
    return block;
  }
  // There are few, and hundreds of thousands of blocks.
  int name_index(MemoryCategory category, std::string_view name) {
    auto const found = std::find_if(named_.begin(), named_.end(),
                                    [&](auto const& n) { return n.first == category && n.second == name; });
    if (found != named_.end()) return static_cast<int>(found - named_.begin());
    named_.emplace_back(category, name);
    program_.names.push_back(fmt::format("{} {}: {}", name_of(role_), name_of(category), name));
    return static_cast<int>(program_.names.size()) - 1;
  }

  Role role_;
  PhaseProgram program_;
  std::vector<std::pair<MemoryCategory, std::string>> named_;  // program_.names
  int micro_batch_ = 0;
};

// What does not change from one micro-batch to the next.
struct Part {
  Job const& job;
  ModelRole role;
  Architecture const& model;
  Stage stage;
  int index = 0;
  std::optional<Adapter> adapter;
  bool has_logits = false;
  double head_work = 0;  // of lm_head, as forward passes of a layer

  TrainerOptions const& train() const { return job.train; }
  int last_layer() const { return stage.first_layer + stage.layers - 1; }
};

Part part_of(Job const& job, ModelRole const& r, int stage) {
  Architecture const& a = architecture_of(job, r.role);
  Stage const s = pipeline_stages(a, job.train, 1)[static_cast<std::size_t>(stage)];
  Part p{job, r, a, s, stage, adapter_of(job, r), s.has_lm_head && !has_value_head(r.role)};
  double const layer = 12.0 * a.hidden * a.hidden;  // about the parameters of one
  if (p.has_logits) p.head_work = static_cast<double>(a.vocab) * a.hidden / layer;
  return p;
}

using Blocks = std::vector<int>;

void take_into(Blocks& blocks, std::optional<int> block) {
  if (block) blocks.push_back(*block);
}

// `bytes` of a layer as equal tensors of about one hidden state per token.
void take_tensors(Writer& w, Blocks& blocks, std::string_view name, Bytes bytes, Part const& p,
                  double tokens) {
  double const one = std::max(1.0, tokens * 2.0 * p.model.hidden);
  int const count = std::clamp(static_cast<int>(std::lround(bytes.value / one)), 1, kMostTensors);
  w.take(blocks, MemoryCategory::activations, name, bytes / static_cast<double>(count), count);
}

void take_buffers(Writer& w, Blocks& blocks, std::vector<UpdateBuffer> const& buffers, bool forward_only,
                  std::int64_t stream = 0) {
  for (UpdateBuffer const& b : buffers) {
    if (b.forward || !forward_only)
      take_into(blocks,
                w.take(MemoryCategory::gather_buffers, b.name, b.bytes, b.gathers_layers ? stream : 0));
  }
}

// The loss of log-probabilities and its copies of the logits, each a tensor; entropy after it. Returns what
// stays for the backward pass.
Blocks take_logits(Writer& w, Part const& p, double tokens, bool backward) {
  Blocks kept;
  if (!p.has_logits) return kept;
  LogitsKept const k = logits_kept(p.model, p.train(), p.adapter, backward);
  auto const take = [&](std::string_view name, Bytes each, int copies) {
    for (int i = 0; i < copies; ++i)
      take_into(kept, w.take(MemoryCategory::logits, name, tokens * each / copies));
  };
  take("logits", logits_bytes(k, p.train()), k.copies);
  std::size_t const own = kept.size();
  take("fp32 logits", fp32_logits_bytes(k), k.fp32_copies);
  EntropyCopies const e = entropy_copies(p.model, p.train(), p.adapter, p.role.role, backward);
  if (e.copies == 0) return kept;
  double const stay = k.fp32_copies > 0 ? e.before / fp32_logits_bytes(k) * k.fp32_copies : 0;
  Blocks gone(kept.begin() + static_cast<std::ptrdiff_t>(own + static_cast<std::size_t>(std::lround(stay))),
              kept.end());
  kept.resize(kept.size() - gone.size());
  w.give(gone);
  Blocks entropy;
  for (int i = 0; i < e.copies; ++i)
    take_into(entropy, w.take(MemoryCategory::logits, "entropy", std::min(tokens, e.rows) * e.per_token));
  w.give(entropy);
  return kept;
}

// Whether a micro-batch finds the allocator as the one before did, and leaves it so: those before it and
// those with which it is under way are of its size.
bool repeats(std::vector<double> const& tokens, std::size_t m, std::size_t flights) {
  std::size_t const before = kWrittenRepeats - 1 + flights;
  if (m < before) return false;
  std::size_t const last = std::min(tokens.size() - 1, m + flights);
  for (std::size_t other = m - before; other <= last; ++other) {
    if (std::fabs(tokens[other] - tokens[m]) > 0.5) return false;
  }
  return true;
}

// Of each layer, from one forward to the next.
using Retained = std::vector<std::optional<int>>;

void retain(Writer& w, Part const& p, Retained& retained, int layer, double tokens) {
  retained.resize(static_cast<std::size_t>(p.stage.layers));
  std::optional<int>& mine = retained[static_cast<std::size_t>(layer - p.stage.first_layer)];
  std::optional<int> const before = mine;
  mine = w.take(MemoryCategory::activations, "retained by the dispatcher",
                retained_by_dispatcher(p.model, layer, p.train(), tokens));
  w.give(before);
}

void release(Writer& w, Retained const& retained) {
  for (auto const& block : retained) w.give(block);
}

// ---- update

struct Flight {
  int micro_batch = 0;
  double tokens = 0;
  std::vector<Blocks> kept;  // of each layer
  Blocks head;
};

struct Gradients {
  bool by_autograd = false;
  bool one_at_a_time = false;
  Bytes each;
  GradientCounts counts;
  double per_layer = 0;
  Blocks there;
};

Gradients gradients_of(Part const& p) {
  TrainerOptions const& t = p.train();
  Gradients g;
  g.counts = gradient_counts(p.job, p.role, p.index);
  g.each = trained_bytes_per_parameter(adapter_types(p.adapter, t)).gradients;
  g.by_autograd = !t.offload.gradients && gradients_by_autograd(p.job);
  g.one_at_a_time = t.optimizer_in_backward;
  g.per_layer = std::max(0.0, g.counts.all - g.counts.head) / std::max(1, p.stage.layers);
  return g;
}

double forward_work(Part const& p) { return p.stage.layers; }
double backward_work(Part const& p) {
  double const of_layer = p.train().recompute == Recompute::full ? 3 : 2;
  return of_layer * p.stage.layers + 3 * p.head_work;
}

void take_gradient(Writer& w, Gradients& g, double parameters, bool first) {
  if (!g.by_autograd || g.one_at_a_time || !first) return;
  take_into(g.there, w.take(MemoryCategory::gradients, "model", parameters * g.each));
}

Flight forward(Writer& w, Part const& p, Retained& retained, int m, double tokens) {
  TrainerOptions const& t = p.train();
  w.begin_micro_batch(m);
  Flight f{m, tokens, {}, {}};
  for (int layer = p.stage.first_layer; layer <= p.last_layer(); ++layer) {
    Blocks kept;
    take_tensors(w, kept, "kept activations",
                 kept_activations(p.model, layer, t, t.recompute, p.adapter, tokens), p, tokens);
    if (t.offload.activations && layer < p.last_layer()) w.give(kept);
    f.kept.push_back(std::move(kept));
    retain(w, p, retained, layer, tokens);
    w.work(1);
  }
  return f;
}

void backward(Writer& w, Part const& p, Flight& f, Gradients& g, bool first) {
  TrainerOptions const& t = p.train();
  bool const plain = t.kind == TrainerKind::ddp;
  bool const adds = plain && (!first || !g.by_autograd);
  std::optional<int> head;  // of a step in the backward pass; a tied one waits for the embedding's
  w.begin_micro_batch(f.micro_batch);
  if (p.stage.has_lm_head) {
    take_into(f.head,
              w.take(MemoryCategory::activations, "kept activations", kept_by_head(p.model, t, f.tokens)));
    Blocks logits = take_logits(w, p, f.tokens, true);
    w.work(3 * p.head_work);
    take_gradient(w, g, g.counts.head, first);
    if (g.by_autograd && g.one_at_a_time)
      head = w.take(MemoryCategory::gradients, "model", g.counts.head * g.each);
    if (adds || (plain && t.cross_entropy == CrossEntropy::chunked))
      w.give(w.take(MemoryCategory::gradients, "weight gradient", g.counts.whole_head * size_of(t.weights)));
    w.give(logits);
    w.give(f.head);
    if (!p.model.tied_embeddings) w.give(std::exchange(head, std::nullopt));
  }
  for (int layer = p.last_layer(); layer >= p.stage.first_layer; --layer) {
    Blocks& kept = f.kept[static_cast<std::size_t>(layer - p.stage.first_layer)];
    if (kept.empty())
      take_tensors(w, kept, "kept activations",
                   kept_activations(p.model, layer, t, t.recompute, p.adapter, f.tokens), p, f.tokens);
    Blocks local;
    if (t.recompute == Recompute::full) {
      take_tensors(w, local, "recomputed layer",
                   recomputed_activations(p.model, layer, t, p.adapter, f.tokens), p, f.tokens);
      w.work(1);
    }
    take_into(local, w.take(MemoryCategory::activations, "gradients of activations",
                            activation_gradients(p.model, layer, t, f.tokens)));
    if (adds)
      w.give(w.take(MemoryCategory::gradients, "weight gradient", g.counts.matrix * size_of(t.weights)));
    if (g.by_autograd && g.one_at_a_time)
      w.give(w.take(MemoryCategory::gradients, "model", g.counts.one * g.each));
    take_gradient(w, g, g.per_layer, first);
    w.work(2);
    w.give(local);
    w.give(kept);
  }
  w.give(head);
}

void optimizer_step(Writer& w, Part const& p, std::vector<double> const& tokens, int first_micro_batch,
                    std::int64_t stream) {
  TrainerOptions const& t = p.train();
  Blocks pass;
  take_buffers(w, pass, pass_buffers(p.job, p.role, p.index), false, stream);
  Gradients g = gradients_of(p);
  if (t.optimizer_in_backward) w.make_states();  // in the first backward pass
  auto const count = static_cast<std::int64_t>(tokens.size());
  auto const flights = static_cast<std::size_t>(in_flight(p.index, t.parallel.pp, count));
  std::deque<Flight> under_way;
  Retained retained;
  std::size_t done = 0;
  auto const go_back = [&] {
    if (repeats(tokens, done, flights))
      w.work(backward_work(p));
    else
      backward(w, p, under_way.front(), g, done == 0);
    under_way.pop_front();
    ++done;
  };
  for (std::size_t m = 0; m < tokens.size(); ++m) {
    if (repeats(tokens, m, flights)) {
      w.work(forward_work(p));
      under_way.emplace_back();
    } else {
      under_way.push_back(forward(w, p, retained, first_micro_batch + static_cast<int>(m), tokens[m]));
    }
    if (under_way.size() == flights) go_back();
  }
  while (!under_way.empty()) go_back();
  release(w, retained);
  w.give(pass);
  if (!t.optimizer_in_backward) w.make_states();
  Blocks step;
  if (!t.optimizer_in_backward) take_buffers(w, step, step_buffers(p.job, p.role, p.index), false);
  w.work(0.1 * p.stage.layers);
  w.give(step);
  w.give(g.there);
}

}  // namespace

PhaseProgram forward_program(Job const& of_role, ModelRole const& r, int stage,
                             std::vector<double> const& tokens) {
  Part const p = part_of(of_role, r, stage);
  Writer w(r.role);
  auto const buffers = pass_buffers(of_role, r, stage);
  Retained retained;
  for (std::size_t m = 0; m < tokens.size(); ++m) {
    if (repeats(tokens, m, 1)) {
      w.work(forward_work(p) + p.head_work);
      continue;
    }
    w.begin_micro_batch(static_cast<int>(m));
    Blocks held;
    take_buffers(w, held, buffers, true);
    for (int layer = p.stage.first_layer; layer <= p.last_layer(); ++layer) {
      Blocks local;
      take_tensors(w, local, "forward working set",
                   forward_working_set(p.model, layer, of_role.train, tokens[m]), p, tokens[m]);
      retain(w, p, retained, layer, tokens[m]);
      w.work(1);
      w.give(local);
    }
    Blocks logits = take_logits(w, p, tokens[m], false);
    w.work(p.head_work);
    w.give(logits);
    w.give(held);
  }
  release(w, retained);
  return w.done();
}

PhaseProgram update_program(Job const& of_role, ModelRole const& r, int stage,
                            std::vector<std::vector<double>> const& tokens, std::int64_t first_stream) {
  Part const p = part_of(of_role, r, stage);
  Writer w(r.role);
  int micro_batch = 0;
  for (std::size_t step = 0; step < tokens.size(); ++step) {
    std::int64_t const stream =
        of_role.train.fresh_streams ? first_stream + static_cast<std::int64_t>(step) : 0;
    optimizer_step(w, p, tokens[step], micro_batch, stream);
    micro_batch += static_cast<int>(tokens[step].size());
  }
  return w.done();
}

PhaseProgram gather_program(Bytes gathered, int pieces) {
  Writer w(Role::actor);
  Blocks blocks;
  for (int i = 0; i < pieces; ++i) {
    take_into(blocks, w.take(MemoryCategory::gather_buffers, "gathered weights", gathered / pieces));
    w.work(1);
  }
  w.give(blocks);
  return w.done();
}

}  // namespace rollcast
