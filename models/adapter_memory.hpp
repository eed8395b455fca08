// Bytes of LoRA adapters in a rollout engine, in bf16: whole, on one rank, in the slots of a fixed pool, in
// KV pages.
//
// On a rank the pair of a projection follows the projection (vLLM lora/layers): adapter_shard in
// models/sharding.hpp. Experts are whole on ep ranks, else cut as the other projections. With pp the largest
// stage counts. With data-parallel attention all but the experts is whole on every rank.
//
// Llama-3-70B, q and v as 8,192 x 8,192, rank 16: 80 x 2 x 16 x 16,384 x 2 B = 83.886 MB; 4 GB hold 47.
#pragma once

#include <cstdint>
#include <string>

#include "models/engine_memory.hpp"
#include "models/job.hpp"

namespace rollcast {

Adapter as_adapter(AdapterVariant const& v);

// Of both factors of all targets.
Bytes adapter_bytes(Architecture const& a, AdapterVariant const& v);
// On one rank, of the stage that has most.
Bytes adapter_rank_bytes(Architecture const& a, EngineOptions const& e, AdapterVariant const& v,
                         bool fully_sharded = false);
// Factors that a rank of that stage is given: what a load copies one by one.
std::int64_t adapter_factors(Architecture const& a, EngineOptions const& e, AdapterVariant const& v);

// Whether adapters come into and leave the memory of the engines: they are no part of the computation, or
// stay merged, with execution none and deployments.
bool moves_adapters(ServedAdapters const& adapters);
// Whether adapters lie in KV pages.
bool in_kv_pages(ServedAdapters const& adapters);

// What a slot is made for: max_rank (0: the largest rank) on the targets of all variants. vLLM makes slots
// for every projection that it wraps, also one that no adapter targets: there this is the least.
AdapterVariant slot_of(ServedAdapters const& adapters);

// Slots for adapters that an engine makes when it starts. They are full whether used or not.
struct AdapterSlots {
  int count = 0;
  Bytes each;    // on one rank
  Bytes wasted;  // of all: what a slot has beyond its adapter's rank and targets, in the mean over adapters

  Bytes bytes() const { return each * count; }
};

// Of a fixed pool: `slots`, as many as pool_bytes holds, or one for each adapter, at most max_num_seqs. None
// where adapters lie in KV pages, are no part of the computation, or stay merged (deployments). An engine
// that merges one adapter after another needs two unless told otherwise: the merged one's factors, to take it
// out again, and the next one's.
AdapterSlots adapter_slots(Architecture const& a, EngineOptions const& e, ServedAdapters const& adapters);

// Of a job: those of `serve`; where a trainer sends its adapter alone, rollout.adapter_slots, or as many as
// versions of it are under way (slots_for_versions).
AdapterSlots adapter_slots(Job const& job);

// Samples under way keep the version of their adapter that they began with (TRL pull request 7017):
// max_staleness + 1 of each adapter, 1 where generation and training take turns. 0: none is synced alone.
int slots_for_versions(Job const& job);

// The budget of an engine that makes these slots before it sizes its KV pages (vLLM: the model is wrapped
// before the profile run; SGLang: init_lora_manager comes before init_memory_pool). A budget that is told as
// kv_cache_bytes stays.
KvBudget without_slots(KvBudget budget, EngineOptions const& e, AdapterSlots const& slots);

// KV pages that an adapter of this variant takes in a unified pool (S-LoRA), rounded up.
std::int64_t adapter_pages(Architecture const& a, EngineOptions const& e, ServedAdapters const& adapters,
                           AdapterVariant const& v);

// Host memory of a node for the adapters that it keeps (host_adapters; 0: all), once for all of its ranks, in
// the mean over adapters. 0 where engines need none of it: execution none and deployments.
Bytes adapters_on_host(Architecture const& a, ServedAdapters const& adapters);

}  // namespace rollcast
