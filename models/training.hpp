// Training and log-prob phases of one data-parallel replica: packing, stage times, the 1F1B schedule,
// gradient buckets, optimizer step. Pure functions, each part in its own header.
#pragma once

#include "models/gradient_buckets.hpp"
#include "models/packing.hpp"
#include "models/pipeline.hpp"
#include "models/stage_prices.hpp"
