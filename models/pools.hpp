// Which GPUs a role runs on, and the job as one pool or one role sees it.
#pragma once

#include "models/roles.hpp"

namespace rollcast {

// The pools of the job; without `pools` one, of the whole cluster, by the name "all".
std::vector<Pool> pools_of(Job const& job);
int pool_of(Job const& job, Role role);  // process: the actor's
// Whether the role runs on the GPUs that this job or view of a job describes. Of serving only the engines
// do.
bool runs_here(Job const& job, Role role);
// Whether a model of the trainer (actor, critic, reference, reward) does.
bool holds_models(Job const& job);
// Whether the engines share their GPUs with the actor, so that they take turns. Serving has no actor.
bool colocated(Job const& job);
std::int64_t total_gpus(Job const& job);
// Whether ranks of this view reach others over NICs.
bool has_network(Job const& job);
// Whether two pools are parts of one node.
bool same_node(Job const& job, int a, int b);

// The job as one pool sees it: cluster is the pool's. Functions that take a job then answer for that pool.
Job on_pool(Job const& job, int pool);
// The trainer as a role uses it: critic and reward model may have a ZeRO stage of their own.
TrainerOptions trainer_of(Job const& job, Role role);
// The same for the pool of a role, whose model takes the place of the actor's (critic, reward).
Job for_role(Job const& job, Role role);

// critic and reward: their own, where the job names one; else the actor's.
Architecture const& architecture_of(Job const& job, Role role);

}  // namespace rollcast
