// Random layouts on small models: what the map moves is what cutting the whole weights the engine's way
// gives.
#include <gtest/gtest.h>

#include <random>

#include "models/stage_layers.hpp"
#include "models/sync_traffic.hpp"
#include "tests/models/reshard_reference.hpp"

namespace rollcast {
namespace {

using test::Matrix;
using test::Memory;
using test::Weights;

class Dice {
 public:
  explicit Dice(unsigned seed) : random_(seed) {}
  template <class T>
  T of(std::vector<T> const& values) {
    return values[static_cast<std::size_t>(random_() % values.size())];
  }
  bool coin() { return random_() % 2 == 0; }

 private:
  std::mt19937 random_;
};

Architecture small_model(Dice& dice) {
  Architecture a;
  a.name = "small";
  a.layers = dice.of<int>({2, 3, 4});
  a.hidden = dice.of<int>({12, 20});
  a.kv_heads = dice.of<int>({1, 2, 4, 8});
  a.heads = 8;
  a.head_dim = dice.of<int>({2, 3});
  a.intermediate = 24;
  a.vocab = dice.of<int>({70, 130, 257});
  a.tied_embeddings = dice.coin();
  a.qkv_bias = dice.coin();
  a.qk_norm = dice.coin();
  a.gated_attention = dice.coin();
  a.mlp_bias = dice.coin();
  a.gated_mlp = dice.coin();
  if (dice.coin()) {
    a.gated_mlp = true;
    a.moe = Moe{.experts = dice.of<int>({8, 16}),
                .experts_per_token = 2,
                .expert_intermediate = 8,
                .shared_experts = 1,
                .shared_intermediate = 16,
                .first_dense_layers = dice.of<int>({0, 1})};
  }
  int const attention = dice.of<int>({0, 0, 1, 2});
  if (attention == 1) a.mla = Mla{dice.of<int>({0, 6}), 5, 4, 2, 3};
  if (attention == 2) a.linear_attention = LinearAttention{2, 8, 16, 2, 3, 4};
  return a;
}

TrainLayout random_trainer(Dice& dice, Architecture const& a) {
  TrainLayout l;
  l.sharding = dice.of<Sharding>({Sharding::whole, Sharding::rows, Sharding::flat, Sharding::flat_layer});
  l.fused = l.sharding == Sharding::whole && dice.coin();
  bool const flat_layer = l.sharding == Sharding::flat_layer;
  l.parallel.tp = flat_layer ? 1 : dice.of<int>({1, 2, 4, 8});
  l.parallel.pp = l.sharding == Sharding::whole ? dice.of<int>({1, 2}) : 1;
  int const dp = dice.of<int>({1, 2, 3, 4});
  l.ranks = l.parallel.tp * l.parallel.pp * dp;
  if (a.moe && !flat_layer) {
    l.parallel.etp = dice.of<int>({1, l.parallel.tp});
    for (int const ep : {8, 4, 2}) {
      if (dice.coin() && l.ranks / l.parallel.pp % (ep * l.parallel.etp) == 0) {
        l.parallel.ep = ep;
        break;
      }
    }
  }
  if (l.sharding != Sharding::whole && dice.coin() && dp % 2 == 0 && l.parallel.ep == 1 &&
      l.parallel.expert_tp() == l.parallel.tp)
    l.shard_ranks = 2;
  int const chunks = l.parallel.pp == 2 && a.layers == 4 && dice.coin() ? 2 : 1;
  l.stages = pipeline_stages(a, *stage_layers(a.layers, {l.parallel.pp, chunks, {}, {}}));
  return l;
}

RolloutLayout random_engines(Dice& dice, Architecture const& a) {
  RolloutLayout l;
  l.parallel.tp = dice.of<int>({1, 2, 4, 8});
  l.parallel.pp = dice.of<int>({1, 2});
  l.ranks = l.parallel.tp * l.parallel.pp * dice.of<int>({1, 2, 3});
  l.data_parallel_attention = dice.coin() && dice.coin();
  if (a.moe && dice.coin()) {
    // Also more ranks than experts divide into, and more than one engine has.
    for (int const ep : {3, 8, 4, 2}) {
      if (dice.coin() && l.ranks / l.parallel.pp % ep == 0) {
        l.parallel.ep = ep;
        break;
      }
    }
  }
  l.stages = pipeline_stages(a, l.parallel.pp);
  return l;
}

std::vector<RankPlace> places(int ranks, int per_node, int first_gpu) {
  std::vector<RankPlace> out;
  for (int r = 0; r < ranks; ++r) out.push_back({first_gpu + r, (first_gpu + r) / per_node});
  return out;
}

Memory train_memory(Weights const& w, TrainLayout const& l, int rank) {
  int const stage_ranks = l.ranks / l.parallel.pp;
  int const x = rank % stage_ranks;
  if (l.fused) return test::megatron_memory(w, l.parallel, x);
  if (l.sharding == Sharding::flat_layer) return test::flat_memory(w, l, x);
  return test::sharded_memory(w, l, x);
}

// Rank memory with -1 where nothing was written; a second write fails the test.
class Engine {
 public:
  explicit Engine(Memory const& wanted) : wanted_(wanted) {
    for (auto const& [name, values] : wanted) memory_[name].assign(values.size(), -1);
  }

  void write(std::string const& name, std::int64_t at, std::int64_t value) {
    ASSERT_TRUE(memory_.contains(name)) << name;
    std::vector<std::int64_t>& values = memory_[name];
    ASSERT_LT(static_cast<std::size_t>(at), values.size()) << name;
    ASSERT_EQ(values[static_cast<std::size_t>(at)], -1) << name << " is written twice at " << at;
    values[static_cast<std::size_t>(at)] = value;
  }
  void compare() const {
    for (auto const& [name, values] : wanted_) ASSERT_EQ(memory_.at(name), values) << name;
  }

 private:
  Memory const& wanted_;
  Memory memory_;
};

void apply(Reshard const& r, SyncTensor const& t, std::map<int, Memory> const& sources,
           std::map<int, Engine>& engines) {
  TensorMap const m = map_tensor(r, t);
  for (RankCopy const& c : copies_of(m, t)) {
    ASSERT_TRUE(sources.contains(c.source_rank)) << full_name(t);
    Memory const& from = sources.at(c.source_rank);
    ASSERT_TRUE(from.contains(m.source.stored)) << m.source.stored;
    ASSERT_TRUE(engines.contains(c.destination_rank)) << full_name(t);
    for (std::int64_t row = 0; row < c.what.rows.count; ++row) {
      for (std::int64_t column = 0; column < c.what.columns.count; ++column) {
        auto const at = static_cast<std::size_t>(c.what.source_offset + row * c.what.source_stride + column);
        ASSERT_LT(at, from.at(m.source.stored).size()) << full_name(t);
        engines.at(c.destination_rank)
            .write(m.destination.stored, c.what.destination_offset + row * c.what.destination_stride + column,
                   from.at(m.source.stored)[at]);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

std::vector<int> holders(std::vector<Stage> const& stages, int pp, int layer) {
  std::vector<int> out;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    Stage const& s = stages[i];
    bool const ends = s.has_embedding || s.has_lm_head;
    if (layer < 0 ? ends : layer >= s.first_layer && layer < s.first_layer + s.layers)
      out.push_back(static_cast<int>(i) % pp);
  }
  return out;
}

// What a stage at the ends holds of the tensors outside the layers.
void keep_outer(Memory& memory, Architecture const& a, bool first, bool last) {
  std::erase_if(memory, [&](auto const& entry) {
    bool const input = entry.first.starts_with("embed_tokens");
    if (input) return !first && !(last && a.tied_embeddings);
    return entry.first != "flat_param" && !last;
  });
}

void check_layer(Reshard const& r, int layer) {
  Weights const w(r.model, layer);
  std::map<int, Memory> sources, wanted;
  TrainLayout const& t = r.train;
  RolloutLayout const& e = r.rollout;
  for (int const stage : holders(t.stages, t.parallel.pp, layer)) {
    int const stage_ranks = t.ranks / t.parallel.pp;
    for (int x = 0; x < stage_ranks; ++x) {
      Memory memory = train_memory(w, t, stage * stage_ranks + x);
      if (layer < 0) keep_outer(memory, r.model, stage == 0, stage + 1 == t.parallel.pp);
      sources[stage * stage_ranks + x] = std::move(memory);
    }
  }
  for (int const stage : holders(e.stages, e.parallel.pp, layer)) {
    for (int position = 0; position < e.ranks / e.parallel.pp; ++position) {
      int const tp = e.parallel.tp;
      int const rank = position / tp * tp * e.parallel.pp + stage * tp + position % tp;
      Memory memory = test::engine_memory(w, e, position % tp, position);
      if (layer < 0) keep_outer(memory, r.model, stage == 0, stage + 1 == e.parallel.pp);
      wanted[rank] = std::move(memory);
    }
  }
  std::map<int, Engine> engines;
  for (auto const& [rank, memory] : wanted) engines.emplace(rank, Engine(memory));
  for (SyncTensor s : sync_tensors(r)) {
    if (s.layer != layer) continue;
    int const experts = s.experts;
    s.experts = 1;
    for (int i = 0; i < experts; ++i, ++s.first_expert) {
      apply(r, s, sources, engines);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
  for (auto const& [rank, engine] : engines) {
    engine.compare();
    if (testing::Test::HasFatalFailure()) {
      ADD_FAILURE() << "rollout rank " << rank << " layer " << layer;
      return;
    }
  }
}

Reshard random_reshard(unsigned seed) {
  Dice dice(seed);
  Reshard r;
  r.model = small_model(dice);
  r.train = random_trainer(dice, r.model);
  r.rollout = random_engines(dice, r.model);
  r.train_places = places(r.train.ranks, 4, 0);
  r.rollout_places = places(r.rollout.ranks, 4, dice.coin() ? 0 : r.train.ranks);
  return r;
}

std::string told(Reshard const& r) {
  Parallel const& t = r.train.parallel;
  Parallel const& e = r.rollout.parallel;
  return fmt::format(
      "heads {}/{} moe {} mla {} linear {}; trainer {} ranks tp {} pp {} ep {} etp {} sharding {} by {} "
      "fused "
      "{}; engines {} ranks tp {} pp {} ep {} dpa {}",
      r.model.heads, r.model.kv_heads, r.model.moe.has_value(), r.model.mla.has_value(),
      r.model.linear_attention.has_value(), r.train.ranks, t.tp, t.pp, t.ep, t.expert_tp(),
      static_cast<int>(r.train.sharding), r.train.shard_ranks, r.train.fused, r.rollout.ranks, e.tp, e.pp,
      e.ep, r.rollout.data_parallel_attention);
}

TEST(ReshardRandom, EveryEngineHoldsWhatCuttingTheWholeWeightsGives) {
  for (unsigned seed = 0; seed < 150; ++seed) {
    Reshard const r = random_reshard(seed);
    ASSERT_EQ(fault(r.model), "");
    SCOPED_TRACE(fmt::format("seed {}: {}", seed, told(r)));
    for (int layer = -1; layer < r.model.layers; ++layer) {
      check_layer(r, layer);
      if (HasFailure()) return;
    }
  }
}

// The totals of all layers at once agree with the sum over every expert and layer alone.
TEST(ReshardRandom, TrafficIsTheSumOfTheCopies) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    Reshard const r = random_reshard(seed);
    SCOPED_TRACE(fmt::format("seed {}: {}", seed, told(r)));
    std::vector<std::int64_t> sent(r.train_places.size()), received(r.rollout_places.size());
    std::int64_t copies = 0;
    for (SyncTensor const& t : sync_tensors(r)) {
      for (RankCopy const& c : copies_of(map_tensor(r, t), t)) {
        sent[static_cast<std::size_t>(c.source_rank)] += c.bytes * t.experts;
        received[static_cast<std::size_t>(c.destination_rank)] += c.bytes * t.experts;
        copies += t.experts;
      }
    }
    SyncTraffic const traffic = sync_traffic(r);
    std::int64_t all_sent = 0, all_received = 0, between_nodes = 0;
    for (std::size_t i = 0; i < sent.size(); ++i) {
      EXPECT_EQ(traffic.sent[i].total(), sent[i]);
      all_sent += sent[i];
    }
    for (std::size_t i = 0; i < received.size(); ++i) {
      EXPECT_EQ(traffic.received[i].total(), received[i]);
      all_received += received[i];
    }
    for (auto const& [nodes, bytes] : traffic.node_pairs) between_nodes += bytes;
    EXPECT_EQ(all_sent, all_received);
    EXPECT_EQ(traffic.total.total(), all_sent);
    EXPECT_EQ(traffic.total.at(SyncLink::network), between_nodes);
    EXPECT_EQ(traffic.copies, copies);
    EXPECT_EQ(traffic.whole_bytes, 2 * count_parameters(r.model).total);
    if (HasFailure()) return;
  }
}

// A rank that holds a part of a block has its scale, and gets it once: counted block by block.
TEST(ReshardRandom, EveryRankGetsTheScalesOfItsBlocksOnce) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    Reshard r = random_reshard(seed);
    r.model.hidden = 300;
    r.model.head_dim = 40;
    r.model.intermediate = 600;
    r.payload.weights = DType::fp8;
    if (seed % 4 == 0) r.payload.scaling = Fp8Scaling::tensor;
    SCOPED_TRACE(fmt::format("seed {}: {}", seed, told(r)));
    for (SyncTensor const& t : sync_tensors(r)) {
      if (t.layer > 1) continue;
      TensorMap const m = map_tensor(r, t);
      std::map<int, std::int64_t> got, wanted;
      for (PartPair const& p : m.pairs) {
        for (PartPair::Flow const& f : p.flows) got[f.destination_rank] += p.scales;
      }
      std::int64_t const block = r.payload.scaling == Fp8Scaling::tensor ? 1 << 30 : 128;
      for (Shard const& s : m.destination.parts) {
        std::int64_t blocks = 0;
        for (ShardRect const& d : s.rects) {
          for (std::int64_t i = d.rows.first / block; i * block < d.rows.end(); ++i) {
            for (std::int64_t j = d.columns.first / block; j * block < d.columns.end(); ++j) ++blocks;
          }
        }
        for (int const rank : s.ranks) wanted[rank] += t.quantized ? blocks : 0;
      }
      ASSERT_EQ(got, wanted) << full_name(t);
    }
  }
}

}  // namespace
}  // namespace rollcast
