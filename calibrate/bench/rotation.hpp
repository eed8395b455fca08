// How often a benchmark repeats an operation and over how many sets of buffers, so that no launch finds its
// data in the L2 cache.
#pragma once

#include "models/units.hpp"

namespace rollcast {

// Sets of buffers: between two uses of one set the others together move at least twice the L2 through it,
// 1 + ceil(2 x l2 / set), at least 2 and at most 256, and no more than fit into 80 % of the free memory. Sets
// smaller than l2 / 128 therefore stay in the cache, as they do in a model. 0: not even one fits.
int rotating_sets(Bytes set, Bytes l2, Bytes free_memory);

// Launches between two events so that they last about `target`: at least one round over the sets where a
// launch is shorter than that, and whole rounds always; at most 512, one round excepted.
int launches_per_sample(Seconds one_launch, Seconds target, int sets);

}  // namespace rollcast
