// What a GPU and its software stack achieve: measured kernels, and for what was not measured the numbers that
// turn FLOPs and bytes into time, a share of the data-sheet peak per kind of operation, each with its source.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/engine_overhead.hpp"
#include "models/hardware.hpp"

namespace rollcast {

// A number of the profile and where it comes from.
struct Cited {
  double value = 0;
  std::string source;
};

class Kernels;

// What prices stand on, for every report of them.
enum class PriceBasis {
  data_sheet,  // shares of the data sheet's peaks
  measured,    // tables of this very card
  derived,     // tables of another card, carried over by the ratio of the rooflines
};
std::string_view name_of(PriceBasis b);
inline constexpr PriceBasis kLastPriceBasis = PriceBasis::derived;

// What a profile that the user gave is used for.
struct OwnPrices {
  std::string profile;  // its name; "": none was given
  std::string from;     // the card that was measured
  std::string stack;
  std::string date;
  std::vector<std::string> operations;  // tables and numbers of it that prices use
};

struct PriceNote {
  std::string gpu;  // "": nothing is known of the prices
  // Of what `own` does not list.
  PriceBasis basis = PriceBasis::data_sheet;
  std::string from;   // the card that was measured; "" of data sheets
  std::string stack;  // its software
  std::string date;   // "": not told
  // Of |price / measured - 1| over kernels; 0: not known.
  double median = 0;
  double p90 = 0;
  std::string band;  // what the two were taken from
  OwnPrices own;
};

// "Prices: h200-sxm, derived from h100-sxm by the ratio of rooflines (vllm 0.24.0); error of a kernel 15 %
// median, 40 % at p90 (...)."; "" where nothing is known. With a profile of the user's: "Prices: h200-sxm,
// collectives measured by own profile 'mine' (nccl 2.29.2); the rest derived from ...".
std::string sentence(PriceNote const& n);

struct Profile {
  std::string name;
  Gpu gpu;
  PriceNote note;
  // Shares of the data-sheet peak, 0 < value <= 1.
  Cited gemm_bf16;          // large matrix products, of Gpu::bf16
  Cited gemm_fp8;           // of Gpu::fp8
  Cited gemm_memory;        // skinny products (decode), of Gpu::memory_bandwidth
  Cited attention_forward;  // causal flash attention, of Gpu::bf16
  Cited attention_backward;
  Cited decode_attention;  // paged KV read, of Gpu::memory_bandwidth
  Cited memory_pass;       // norms, activations, optimizer, log-softmax, of Gpu::memory_bandwidth
  Cited sustained_clock;   // of burst speed, in training phases
  Cited nvlink;            // bus bandwidth of a large collective, of Gpu::nvlink
  Cited network;           // of the NIC line rate
  Cited pcie;              // pinned host copies, of Gpu::pcie
  // Seconds.
  Cited kernel_launch;  // of one kernel, outside CUDA graphs
  // Host time of one operation of a trainer in eager mode (Python, autograd, dispatcher) over kernel_launch.
  Cited eager_launches;
  // Bandwidth at which a 4-bit base is made the trainer's type again, a share of Gpu::memory_bandwidth.
  Cited dequantization;
  // Rollout engine: scheduler, sampling and output work of one step that the GPU waits for, and the same per
  // sequence in the batch.
  Cited engine_step;
  Cited engine_per_sequence;              // scheduling overlapped with the GPU
  Cited engine_per_sequence_synchronous;  // scheduling between the steps, instead of the one above
  Cited engine_logprobs_step;             // in addition, when log-probabilities are returned
  Cited engine_logprobs_per_sequence;
  Cited engine_text_per_sequence;  // in addition, when text is made in the engine's own process
  Cited engine_all_reduce_alpha;   // latency of a small tensor-parallel all-reduce inside the engine's graph
  Cited collective_alpha_node;     // latency of a small all-reduce of 8 GPUs of one node
  Cited collective_alpha_network;  // additional latency of a small all-reduce per doubling of nodes
  Cited fabric_latency;            // Fabric::latency of the network on which that was measured
  Cited attention_backward_over_forward;  // time; a profile fitted to measured rows has it, else no source
  // Measured tables bound to `gpu` (models/kernels.hpp); null: none. Where they have a price it goes before
  // the shares above.
  std::shared_ptr<Kernels const> kernels;
  // By engine, where known.
  std::vector<EngineOverhead> engines;
};

// Every number of the profile by name, for listings and for the test that demands a source of each.
std::vector<std::pair<std::string, Cited>> cited_numbers(Profile const& p);

}  // namespace rollcast
