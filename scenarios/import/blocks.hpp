// The blocks of a scenario that every importer writes: model, machines, lengths, adapter.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/import/configuration.hpp"

namespace rollcast {

// The catalog's name of a model by its Hugging Face name, the last part of its path, or the name of the model
// that its own name starts with (assumed: a fine-tuned version); a folder with a config.json by that; else
// the name as it is, which needs a config.json (assumed).
std::string model_name(Configuration& c, std::string_view id);

// Sets `path` of the draft from the model that `key` names; nothing where it is absent.
void set_model(Configuration& c, std::string_view key, std::string_view path);

// The model that is trained, by the first of the keys that is given; a problem where none is.
void require_model(Configuration& c, std::vector<std::string> const& keys);

// Nodes alike, as a resource pool of the framework has them.
struct Machines {
  std::string pool;  // name of the pool in the scenario
  std::int64_t nodes = 1;
  std::int64_t gpus_per_node = 8;

  std::int64_t gpus() const { return product({nodes, gpus_per_node}); }
};

// GPUs of one node of the scenario: those of --node, or of the node that is assumed.
std::int64_t gpus_of_node(Configuration& c);

// What torchrun, accelerate or deepspeed is told: --nnodes, --num_machines, --num_nodes; GPUs of a node
// (--nproc_per_node, --num_processes over the nodes, --num_gpus, CUDA_VISIBLE_DEVICES, --gpus of the import).
// Assumed where nothing tells: one node, all its GPUs.
std::int64_t launched_nodes(Configuration& c);
std::int64_t launched_gpus(Configuration& c);

// Every role on the same GPUs.
void set_cluster(Configuration& c, Machines const& m);

// One pool each. Parts of a node that fill nodes together share them; what is left over becomes nodes of
// their own with fewer GPUs (assumed).
void set_pools(Configuration& c, std::vector<Machines> const& pools);

// train.parallel.ep, etp and train.expert_dispatch of a Megatron trainer, from its options below `prefix`
// (expert_model_parallel_size, expert_tensor_parallel_size, moe_token_dispatcher_type, moe_enable_deepep,
// moe_flex_dispatcher_backend, the last three below `transformer`); etp: where it is not given.
void set_expert_parallel(Configuration& c, std::string const& prefix, std::string const& transformer,
                         std::int64_t etp);

// 0: not known. Means are assumed where the options do not give them.
struct LengthLimits {
  std::int64_t prompt = 0;
  std::int64_t response = 0;
  std::int64_t both = 0;  // prompt and response together
};
// A model with fewer positions than the limits ask for gets as many as they ask for (assumed).
void set_lengths(Configuration& c, LengthLimits limits);

// Names of projections (q_proj, linear_qkv, all-linear) as the scenario calls them.
void set_adapter(Configuration& c, std::int64_t rank, std::vector<std::string> const& targets, bool four_bit,
                 std::string_view sync);

// Takes out of the draft what the language has no meaning for beside the rest (assumed): dynamic sampling and
// oversampling of an asynchronous run, unfinished samples where nothing is unfinished.
void drop_contradictions(Configuration& c);

// score.environment of a tool-using run, with what is not known assumed.
void set_environment(Configuration& c, std::int64_t turns, std::int64_t observation_tokens);

// What an asynchronous schedule has no use for, taken out and listed: rounds of dynamic sampling and prompts
// beyond those that are needed, where generation never ends.
void leave_out_rounds(Configuration& c);

}  // namespace rollcast
