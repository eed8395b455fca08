#include "models/rank_memory.hpp"

#include <gtest/gtest.h>

#include "tests/models/ledger_jobs.hpp"

namespace rollcast {
namespace {

LedgerLine line(Role role, MemoryCategory category, std::string name, Bytes amount,
                std::vector<Phase> phases) {
  LedgerLine l;
  l.role = role;
  l.category = category;
  l.name = std::move(name);
  l.bytes = amount;
  l.phases = std::move(phases);
  return l;
}

// Weights that stay, states of the first update, an engine that wakes for the rollout.
RankLedger ledger() {
  RankLedger l;
  l.capacity = GiB(10);
  l.lines = {
      line(Role::process, MemoryCategory::cuda_context, "trainer context", MiB(512), {}),
      line(Role::actor, MemoryCategory::weights, "model", GiB(2), {}),
      line(Role::actor, MemoryCategory::optimizer_states, "model", GiB(2), {}),
      line(Role::rollout, MemoryCategory::weights, "engine weights", GiB(1), {Phase::wake, Phase::generate}),
      line(Role::rollout, MemoryCategory::kv_pages, "KV pages", GiB(3), {Phase::wake, Phase::generate})};
  l.lines[2].from_first_update = true;
  return l;
}

// What an update of one micro-batch does: `large`, freed, then the states.
PhaseProgram update(Bytes large) {
  PhaseProgram p;
  p.names = {"actor logits: fp32 logits", "actor optimizer_states: states"};
  p.blocks = 1;
  p.work = 2;
  auto const bytes = static_cast<std::int64_t>(large.value);
  p.events = {{ProgramEvent::Kind::allocate, 0, bytes, 0, 0, 0, 0.5},
              {ProgramEvent::Kind::free, 0, 0, 0, 0, 0, 1},
              {ProgramEvent::Kind::make_states, 0, 0, 0, 1, 0, 1.5}};
  return p;
}

struct Walk {
  explicit Walk(RankLedger l, int pieces = 1) : ledger(std::move(l)), memory(ledger.capacity, {}, pieces) {}

  std::optional<MemoryFailure> enter(Phase phase, bool empty_cache = true) {
    memory.leave(ledger, phase, false);
    if (auto f = memory.let_others(ledger, phase, false, empty_cache)) return f;
    return memory.hold(ledger, phase, updated, false);
  }
  std::optional<MemoryFailure> train(Bytes large) {
    if (auto f = enter(Phase::update_actor)) return f;
    auto f = memory.run(update(large), ledger, Phase::update_actor, Role::actor);
    if (!f) updated.insert(Role::actor);
    return f;
  }

  RankLedger ledger;
  RankMemory memory;
  std::set<Role> updated;
};

// 0.5 context + 2 weights + 4 logits in the update, then states of 2 in the cache that the logits left.
TEST(RankMemory, StatesAreMadeInTheFirstUpdateFromTheCache) {
  Walk w(ledger());
  EXPECT_FALSE(w.enter(Phase::generate));
  EXPECT_EQ(w.memory.stats().allocated, static_cast<std::int64_t>(GiB(2).value));
  EXPECT_FALSE(w.train(GiB(4)));
  EXPECT_EQ(w.memory.stats().allocated, static_cast<std::int64_t>(GiB(4).value));
  EXPECT_EQ(w.memory.stats().reserved, static_cast<std::int64_t>(GiB(6).value));
}

// The states lie in the segment of the logits, so that emptying the cache does not give it back: 0.5 + 6
// reserved + 4 of the engine are more than 10. In one piece less than the logits' segment the ledger, 0.5 + 2
// + 2 + 4 = 8.5, says that it fits.
TEST(RankMemory, WhatTheCacheHoldsIsInTheWayOfTheWake) {
  Walk w(ledger());
  EXPECT_FALSE(w.train(GiB(4)));
  auto const f = w.enter(Phase::wake);
  ASSERT_TRUE(f);
  EXPECT_EQ(f->kind, OomKind::driver);
  EXPECT_EQ(f->allocation, "rollout kv_pages: KV pages");
  EXPECT_DOUBLE_EQ(f->requested.value, GiB(3).value);
  EXPECT_DOUBLE_EQ(f->free.value, GiB(2.5).value);
  EXPECT_TRUE(identities_hold(f->figures));
}

// With logits as large as the states nothing is left over.
TEST(RankMemory, AnEmptiedCacheLeavesRoomForTheWake) {
  Walk w(ledger());
  EXPECT_FALSE(w.train(GiB(2)));
  EXPECT_FALSE(w.enter(Phase::wake));
}

// 0.5 + 2 + 8 > 10: the update fails at its first allocation, a quarter of its work done.
TEST(RankMemory, AnAllocationThatFailsIsToldWithPyTorchsFigures) {
  Walk w(ledger());
  auto const f = w.train(GiB(8));
  ASSERT_TRUE(f);
  EXPECT_EQ(f->kind, OomKind::torch);
  EXPECT_EQ(f->allocation, "actor logits: fp32 logits");
  EXPECT_DOUBLE_EQ(f->requested.value, GiB(8).value);
  EXPECT_EQ(f->micro_batch, 0);
  EXPECT_DOUBLE_EQ(f->done, 0.25);
  EXPECT_DOUBLE_EQ(f->free.value, GiB(7.5).value);
  EXPECT_EQ(f->figures.non_torch, static_cast<std::int64_t>(MiB(512).value));
  EXPECT_TRUE(identities_hold(f->figures));
}

// Two streams a step, made anew: every step reserves its blocks once more.
TEST(RankMemory, BlocksOfOldStreamsStayReserved) {
  Walk w(ledger());
  EXPECT_FALSE(w.enter(Phase::update_actor));
  PhaseProgram p;
  p.names = {"actor gather_buffers: gathered layers"};
  p.blocks = 1;
  p.work = 1;
  for (int step = 1; step <= 3; ++step) {
    p.events = {{ProgramEvent::Kind::allocate, 0, static_cast<std::int64_t>(GiB(1).value), step, 0, 0, 0},
                {ProgramEvent::Kind::free, 0, 0, 0, 0, 0, 1}};
    EXPECT_FALSE(w.memory.run(p, w.ledger, Phase::update_actor, Role::actor));
    EXPECT_EQ(w.memory.stats().reserved, static_cast<std::int64_t>(GiB(2.0 + step).value));
  }
}

}  // namespace
}  // namespace rollcast
