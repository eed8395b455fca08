#include "reports/json_schema.hpp"

#include <fmt/format.h>

#include <span>
#include <string_view>

namespace rollcast {
namespace {

struct Key {
  std::string_view path;  // "[]" for the items of a list, "<pool>" and the like for a key that varies
  std::string_view type;
  std::string_view meaning;
};

constexpr Key kRunKeys[] = {
    {"schema", "integer", "1: the version of these shapes"},
    {"scenario", "text", "name of the scenario: its file name without folder and extension"},
    {"seed", "integer", "seed of the random lengths"},
    {"outcome", "text", "completed, oom, stalled, deadlock, refused, failed or infeasible"},
    {"step_seconds.mean", "number or null", "mean time of a completed step; null if no step was completed"},
    {"step_seconds.p10", "number or null", "10th percentile, linear between order statistics"},
    {"step_seconds.p50", "number or null", "median"},
    {"step_seconds.p90", "number or null", "90th percentile"},
    {"phases[].name", "text", "phase, in order of first start"},
    {"phases[].pool", "text", "the pool that it runs on"},
    {"phases[].mean_seconds", "number", "time in the phase's windows per completed step"},
    {"phases[].exposed_seconds", "number", "the part that no phase of another pool overlaps"},
    {"weight_sync.seconds", "number",
     "the phase, per completed step; weight_sync is null where there is none"},
    {"weight_sync.wire_seconds", "number or null", "sending alone; null: nothing is sent"},
    {"weight_sync.over_wire", "number or null", "seconds / wire_seconds"},
    {"weight_sync.causes[].name", "text", "label of its spans, in order of first start"},
    {"weight_sync.causes[].seconds", "number",
     "per completed step, on the rank class that has most to do; parts may run side by side"},
    {"tokens_per_second_per_gpu", "number or null", "(prompt + response tokens) / (step time x all GPUs)"},
    {"samples_per_second", "number or null", "samples / step time"},
    {"gpu_hours_per_step", "number or null", "all GPUs x mean step time, in hours"},
    {"staleness.mean", "number or null",
     "weight updates between the first token of a trained sample and its training, mean over the samples of "
     "all completed steps; null: nothing is generated, or the log does not tell"},
    {"staleness.samples[]", "list of integers", "samples that are 0, 1, 2, ... weight updates old"},
    {"samples.generated", "integer",
     "started in the completed steps, also those that are thrown away; 0: nothing is generated"},
    {"samples.trained", "integer", "trained on in the completed steps"},
    {"samples.with_signal", "integer or null",
     "trained samples in groups whose rewards differ; null without algorithm.equal_reward_groups"},
    {"padding_waste", "number or null", "share of the tokens of the actor's update that are padding"},
    {"utilization.<pool>.busy_fraction", "number",
     "share of GPU time in which a rank computes, communicates, copies or does fixed work"},
    {"utilization.<pool>.idle_by_cause.<cause>", "number",
     "share of GPU time spent waiting: pipeline_bubble, rollout_tail, collective_wait, phase_wait, driver, "
     "unaccounted; adds to 1 with busy_fraction"},
    {"utilization.<pool>.mfu", "number", "model FLOPs / (bf16 peak x time x GPUs of the pool)"},
    {"utilization.<pool>.mbu", "number",
     "HBM bytes of generation / (memory bandwidth x time in generate x GPUs of the pool)"},
    {"memory.<pool>.peak_bytes", "integer or null",
     "largest GPU memory of one rank, of the rank class with the highest peak; null without a ledger"},
    {"memory.<pool>.peak_phase", "text or null", "the phase of that peak"},
    {"memory.<pool>.capacity_bytes", "integer", "memory of one GPU as a process sees it"},
    {"memory.<pool>.torch_allocated_bytes", "integer or null",
     "the most that PyTorch's allocator had in use on it; null: it was not followed, since the ledger's peak "
     "is far "
     "below the card"},
    {"memory.<pool>.torch_reserved_bytes", "integer or null", "the most that it held of the driver"},
    {"memory.<pool>.host_peak_bytes", "integer or null", "largest host memory of one rank"},
    {"memory.<pool>.ledger.<role.category>", "integer",
     "bytes at the peak, largest first: actor.weights, rollout.kv_pages, ..."},
    {"prices.<pool>.gpu", "text",
     "the card that was priced; prices.<pool> is null where the log does not tell"},
    {"prices.<pool>.basis", "text",
     "measured: tables of this card; derived: of another one, carried over; data_sheet: shares of its peaks"},
    {"prices.<pool>.from", "text or null", "the card that was measured"},
    {"prices.<pool>.stack", "text", "its software"},
    {"prices.<pool>.date", "text", "when; empty: not told"},
    {"prices.<pool>.error_median", "number or null",
     "relative error of the price of a kernel; null: not known"},
    {"prices.<pool>.error_p90", "number or null", "not exceeded by 90 % of them"},
    {"prices.<pool>.error_of", "text", "what the two were taken from"},
    {"prices.<pool>.own.profile", "text",
     "name of the profile that was given; without one there is no own, with one basis, from, stack and date "
     "are "
     "of what its operations do not list"},
    {"prices.<pool>.own.from", "text", "the card that it was measured on"},
    {"prices.<pool>.own.stack", "text", "its software"},
    {"prices.<pool>.own.date", "text", "when; empty: not told"},
    {"prices.<pool>.own.operations[]", "list of texts", "tables and numbers of it that prices use"},
    {"oom[].kind", "text", "torch, driver or host"},
    {"oom[].time", "number", "seconds since the start of the run"},
    {"oom[].rank", "integer", "global rank"},
    {"oom[].pool", "text", "its pool"},
    {"oom[].step", "integer", "0-based; negative: of the warm-up"},
    {"oom[].phase", "text", "the phase it happened in"},
    {"oom[].allocation", "text", "what was allocated"},
    {"oom[].requested_bytes", "integer", "size of that allocation"},
    {"oom[].free_bytes", "integer", "what was free"},
    {"oom[].allocated_bytes", "integer", "what was allocated before"},
    {"oom[].micro_batch", "integer or null", "of the phase, 0-based; null: no micro-batch was under way"},
    {"oom[].total_bytes", "integer or null", "GPU: free + process + other processes; null: of the host"},
    {"oom[].process_bytes", "integer or null",
     "this process: allocated + reserved but unallocated + outside PyTorch"},
    {"oom[].other_processes_bytes", "integer or null", "an engine on the same GPU"},
    {"oom[].reserved_unallocated_bytes", "integer or null", "held by the caching allocator but unused"},
    {"oom[].non_torch_bytes", "integer or null", "this process's outside PyTorch: context, communicators"},
    {"oom[].message", "text or null", "what PyTorch would print; null: it prints nothing of it"},
    {"oom[].numa", "integer or null",
     "NUMA node of a host out-of-memory; null: of a GPU, or not bound to one"},
    {"stalls[].time", "number", "of the first cause, seconds since the start of the run"},
    {"stalls[].kind", "text", "watchdog, hang, rpc_timeout or deadlock: who or what found it"},
    {"stalls[].pool", "text", "of the ranks that wait"},
    {"stalls[].cause", "text", "the first cause, as a sentence"},
    {"stalls[].group", "text", "communicator with the first timer; null: nobody waits in a collective"},
    {"stalls[].op", "text", "its collective, as PyTorch's OpType"},
    {"stalls[].seq", "integer", "its number in the group, from 1; null: not counted"},
    {"stalls[].waiting_ranks[]", "integer", "of the pool, in that group"},
    {"stalls[].missing_ranks[]", "integer", "for whom they wait; none: the network does not carry it"},
    {"stalls[].enqueued", "number", "when the first of them began to wait"},
    {"stalls[].detected", "number", "first timer, or the launcher; null: nobody notices"},
    {"stalls[].killed", "number", "when nobody waits any more; null: never"},
    {"stalls[].gpu_seconds_lost", "number", "all GPUs of the job from the cause to the end; null: no end"},
    {"failures[].time", "number", "seconds since the start of the run"},
    {"failures[].kind", "text", "refit_buffer: a tensor is larger than half of NeMo-RL's refit buffer"},
    {"failures[].rank", "integer", "global rank"},
    {"failures[].pool", "text", "its pool"},
    {"failures[].step", "integer", "0-based; negative: of the warm-up"},
    {"failures[].what", "text", "what failed: the tensor"},
    {"failures[].bytes", "integer", "what it asked for"},
    {"failures[].limit", "integer", "what there was"},
    {"incident.timeline[].time", "number",
     "seconds since the start of the run; incident is null without one"},
    {"incident.timeline[].until", "number", "last time that the same happens to one of the ranks"},
    {"incident.timeline[].kind", "text",
     "cause, waits, notices, detects, dumps, monitor, aborts, dies or ends"},
    {"incident.timeline[].pool", "text", "of the ranks"},
    {"incident.timeline[].ranks[]", "integer", "of the pool; none: the launcher or the driver"},
    {"incident.timeline[].what", "text", "as a sentence"},
    {"incident.ended", "number", "when the job is over; null: never"},
    {"incident.gpu_seconds_lost", "number", "of all GPUs from the cause to the end; null: no end"},
    {"incident.sooner[].what", "text", "what would have ended it sooner"},
    {"incident.sooner[].ended", "number", "when it would have ended"},
    {"incident.sooner[].saved_seconds", "number", "of every GPU; 0 where it does not end without"},
    {"critical_path[].phase", "text", "phase, or between_phases"},
    {"critical_path[].cause", "text",
     "what the rank class that worked last in that phase did: an activity, or unaccounted"},
    {"critical_path[].seconds", "number", "per completed step; the sum is step_seconds.mean"},
    {"long_run.days", "number",
     "of the forecast with failures; long_run is there for a completed run with `reliability`. Means and "
     "percentiles are over 200 runs"},
    {"long_run.step_seconds", "number", "mean step without checkpoints"},
    {"long_run.seconds_between_failures", "number", "mean, of the whole cluster"},
    {"long_run.failures.mean", "number", "in the days"},
    {"long_run.failures.p10", "number", "10th percentile"},
    {"long_run.failures.p90", "number", "90th percentile"},
    {"long_run.checkpoint_every", "integer or null",
     "steps, of the scenario; null: it writes none, and the figures are of best.simulated_every"},
    {"long_run.goodput.mean", "number", "share of the time that went into steps that count"},
    {"long_run.goodput.p10", "number", "10th percentile"},
    {"long_run.goodput.p90", "number", "90th percentile"},
    {"long_run.lost_seconds", "number", "mean, in steps that a failure undid"},
    {"long_run.checkpoint_seconds", "number", "mean, in which training waited for checkpoints"},
    {"long_run.recovery_seconds", "number", "mean, from failures until training goes on"},
    {"long_run.waiting_seconds", "number", "of it for nodes in place of failed ones"},
    {"long_run.gpu_hours_lost", "number", "(1 - goodput) x days x GPUs"},
    {"long_run.of_a_checkpoint.blocking_seconds", "number", "training waits for it"},
    {"long_run.of_a_checkpoint.write_seconds", "number", "it counts so much later (asynchronous)"},
    {"long_run.of_a_restart.detection_seconds", "number", "until the last process has ended"},
    {"long_run.of_a_restart.relaunch_seconds", "number", "until the checkpoint is loaded"},
    {"long_run.of_a_restart.load_seconds", "number", "the checkpoint"},
    {"long_run.best.daly_every", "integer", "steps from one checkpoint to the next by Daly's formula"},
    {"long_run.best.simulated_every", "integer", "by simulation, the best of thirteen around that"},
    {"long_run.best.goodput", "number", "mean, with best.simulated_every"},
    {"uncertainty.draws", "integer",
     "simulations with drawn prices and other lengths; without `--draws` there is no uncertainty"},
    {"uncertainty.completed", "integer", "draws that completed a step: the bands are over these"},
    {"uncertainty.figures[].name", "text",
     "step_seconds, tokens_per_second_per_gpu, samples_per_second, gpu_hours_per_step, dollars_per_step "
     "(where "
     "every GPU has a price), weight_sync_seconds; mean_seconds of a phase; busy_fraction and peak_bytes of "
     "a "
     "pool"},
    {"uncertainty.figures[].pool", "text or null", "null: of the run"},
    {"uncertainty.figures[].phase", "text or null", "null: not of a phase"},
    {"uncertainty.figures[].forecast", "number", "without any error of prices"},
    {"uncertainty.figures[].draws.p10", "number",
     "a further draw lies below it with chance 0.1 (order statistics at places q (n + 1))"},
    {"uncertainty.figures[].draws.p50", "number", "median"},
    {"uncertainty.figures[].draws.p90", "number", "with chance 0.9"},
    {"uncertainty.figures[].with_model.p10", "number",
     "with what forecasts of measured runs were wrong by besides; with_model is null where none was "
     "measured"},
    {"uncertainty.figures[].with_model.p50", "number", "that of the draws"},
    {"uncertainty.figures[].with_model.p90", "number", "the same above"},
    {"uncertainty.model_error", "text", "where that error is from"},
    {"uncertainty.price_effects[].kind", "text",
     "kind of price that moves the step, largest effect first: products, decode attention, ..."},
    {"uncertainty.price_effects[].sigma", "number",
     "of the logarithm of a factor on all its times (of pools with several cards the largest)"},
    {"uncertainty.price_effects[].step_change", "number", "step / step - 1 when it is one sigma dearer"}};

constexpr Key kMemoryKeys[] = {
    {"schema", "integer", "1: the version of these shapes"},
    {"scenario", "text", "name of the scenario"},
    {"fits", "true or false", "whether every GPU, host and engine has room"},
    {"verdict", "text", "the same as a sentence, with the first thing that does not fit"},
    {"classes[].name", "text", "rank class: stage 0, stages 1-3, rank"},
    {"classes[].pool", "text", "name of the pool; empty: there is one"},
    {"classes[].pipeline_stage", "integer", "the first stage of the class"},
    {"classes[].ranks", "integer", "how many ranks of the cluster"},
    {"classes[].capacity_bytes", "integer", "memory of one GPU as a process sees it"},
    {"classes[].peak_bytes", "integer", "largest total over the phases"},
    {"classes[].peak_phase", "text", "the phase of that peak"},
    {"classes[].headroom_bytes", "integer", "capacity less peak; negative: does not fit"},
    {"classes[].host_peak_bytes", "integer", "largest host memory of one rank"},
    {"classes[].phases[].name", "text", "phase of the step, in order"},
    {"classes[].phases[].bytes", "integer", "GPU memory in that phase"},
    {"classes[].phases[].host_bytes", "integer", "host memory of one rank in that phase"},
    {"classes[].phases[].categories.<category>", "integer", "GPU memory of one category"},
    {"classes[].lines[].name", "text", "what the line is"},
    {"classes[].lines[].role", "text", "actor, critic, reference, reward, rollout or process"},
    {"classes[].lines[].category", "text", "weights, gradients, ..., kv_pages, cuda_context, ..."},
    {"classes[].lines[].bytes", "integer", "size on one rank"},
    {"classes[].lines[].host", "true or false", "host rather than GPU memory"},
    {"classes[].lines[].phases[]", "text", "when it is there; an empty list: always"},
    {"classes[].lines[].formula", "text", "how the number comes about"},
    {"longest_fitting_sequence", "integer", "tokens of prompt and response; 0: none fits"},
    {"kv.blocks", "integer", "pages of one rollout engine; kv is null without one"},
    {"kv.block_tokens", "integer", "tokens of a page"},
    {"kv.tokens", "integer", "tokens that fit"},
    {"kv.bytes_per_token", "integer", "on one rank"},
    {"hosts[].pool", "text", "name of the pool; empty: there is one"},
    {"hosts[].capacity_bytes", "integer", "host memory of one node"},
    {"hosts[].peak_bytes", "integer", "of the pool's fullest node"},
    {"hosts[].peak_phase", "text", "the phase of that peak"},
    {"changes[].sets[]", "text",
     "with these overrides (--set) it would fit; the cheapest changes first. changes is null for a layout "
     "that fits"},
    {"changes[].headroom_bytes", "integer", "the least of a GPU with them"},
    {"changes[].gpu_hours_per_step", "number or null", "null: what they ask for is not simulated yet"}};

constexpr Key kWeightsKeys[] = {
    {"schema", "integer", "1: the version of these shapes"},
    {"scenario", "text", "name of the scenario"},
    {"payload", "text", "weights, or adapter: its factors alone"},
    {"colocated", "true or false", "whether the engines share the trainer's GPUs"},
    {"train_ranks", "integer", "ranks of the trainer's pool"},
    {"rollout_ranks", "integer", "ranks of the engines' pool, numbered on their own"},
    {"engines", "integer", "rollout engines"},
    {"tensors", "integer", "of the checkpoint"},
    {"tensor_bytes", "integer", "of them in the engine's type, with scales, each once"},
    {"copies", "integer", "strided copies between pairs of ranks"},
    {"bytes.same_gpu", "integer", "sent on the same GPU"},
    {"bytes.node", "integer", "sent to another GPU of the node"},
    {"bytes.network", "integer", "sent to another node"},
    {"bytes.total", "integer", "sent in all"},
    {"largest_sender.rank", "integer", "of the trainer's ranks, to other GPUs"},
    {"largest_sender.bytes", "integer", "that it sends"},
    {"largest_receiver.rank", "integer", "of the engines' ranks, from other GPUs"},
    {"largest_receiver.bytes", "integer", "that it receives"},
    {"sent[].ranks[]", "list of integers", "ranks of the trainer that send the same"},
    {"sent[].bytes.same_gpu", "integer", "each sends on the same GPU"},
    {"sent[].bytes.node", "integer", "each sends to another GPU of the node"},
    {"sent[].bytes.network", "integer", "each sends to another node"},
    {"sent[].bytes.total", "integer", "each sends in all"},
    {"received[].ranks[]", "list of integers", "ranks of the engines that receive the same"},
    {"received[].bytes.same_gpu", "integer", "each receives on the same GPU"},
    {"received[].bytes.node", "integer", "each receives to another GPU of the node"},
    {"received[].bytes.network", "integer", "each receives to another node"},
    {"received[].bytes.total", "integer", "each receives in all"},
    {"node_pairs[].from", "integer", "node, counted over all pools; pairs with bytes alone"},
    {"node_pairs[].to", "integer", "node"},
    {"node_pairs[].bytes", "integer", "between the two, in this direction"},
    {"fp8.scaling", "text", "block: a scale per 128 x 128 elements; tensor. fp8 is null for other types"},
    {"fp8.scale_bytes", "integer", "of scales among the bytes sent"},
    {"fp8.blocks", "integer", "of all quantized tensors"},
    {"fp8.cut_by_trainer", "integer", "of which several ranks of the trainer hold a part"},
    {"fp8.cut_by_engines", "integer", "of which an engine's rank holds a part and not all"},
    {"detail_engine", "integer", "the engine whose copies are told"},
    {"detail[].tensor", "text", "name in the checkpoint"},
    {"detail[].rows", "integer", "of the tensor"},
    {"detail[].columns", "integer", "of the tensor"},
    {"detail[].element_bytes", "integer", "on the wire"},
    {"detail[].source", "text", "parameter of the trainer that its offsets are in"},
    {"detail[].destination", "text", "parameter of the engine that its offsets are in"},
    {"detail[].copies[].source_rank", "integer", "rank of the trainer"},
    {"detail[].copies[].destination_rank", "integer", "rank of the engines"},
    {"detail[].copies[].link", "text", "same_gpu, node or network"},
    {"detail[].copies[].what", "text", "the same for people"},
    {"detail[].copies[].first_row", "integer", "of the tensor"},
    {"detail[].copies[].rows", "integer", "how many"},
    {"detail[].copies[].first_column", "integer", "of the tensor"},
    {"detail[].copies[].columns", "integer", "how many"},
    {"detail[].copies[].source_offset", "integer",
     "elements before the first in the source parameter's shard"},
    {"detail[].copies[].source_stride", "integer", "elements from row to row there"},
    {"detail[].copies[].destination_offset", "integer", "the same of the engine's"},
    {"detail[].copies[].destination_stride", "integer", "elements from row to row there"},
    {"detail[].copies[].bytes", "integer", "without scales"},
    {"wire[].link", "text", "same_gpu, node or network; those that carry bytes"},
    {"wire[].seconds", "number", "that its busiest end needs at the profile's bandwidth"},
    {"wire[].busiest", "text", "that end"},
    {"wire[].bytes", "integer", "its bytes"}};

constexpr Key kResumeKeys[] = {
    {"schema", "integer", "1: the version of these shapes"},
    {"writer", "text", "name of the scenario whose trainer wrote the checkpoint"},
    {"reader", "text", "name of the scenario whose trainer goes on from it"},
    {"written_by_ranks", "integer", "ranks of the writer's trainer"},
    {"read_by_ranks", "integer", "ranks of the reader's trainer"},
    {"gathered", "true or false", "whether it is one file, which rank 0 reads alone"},
    {"saved.weights", "integer", "of all shards, each element once"},
    {"saved.optimizer", "integer", "master weights and states; 0: not saved"},
    {"saved.total", "integer", "the sum"},
    {"read.weights", "integer", "by all ranks"},
    {"read.optimizer", "integer", "by all ranks"},
    {"read.total", "integer", "the sum"},
    {"other_node_bytes", "integer", "read of what the ranks of a node with another number saved"},
    {"largest_reader.rank", "integer", "the first of those that read most"},
    {"largest_reader.bytes", "integer", "that it reads"},
    {"readers[].ranks[]", "list of integers", "ranks that read the same, from as many shards"},
    {"readers[].bytes.weights", "integer", "each reads"},
    {"readers[].bytes.optimizer", "integer", "each reads"},
    {"readers[].bytes.total", "integer", "the sum"},
    {"readers[].shards", "integer", "saved ranks that each reads of"},
    {"seconds", "number", "from storage and to the GPUs"}};

constexpr Key kValidateKeys[] = {
    {"schema", "integer", "1: the version of these shapes"},
    {"expected[].case", "text", "name of a scenario with an `expected` block"},
    {"expected[].source", "text", "who reported it; may be empty"},
    {"expected[].expected", "text", "what it expects, in short"},
    {"expected[].holds", "true or false", "whether the run came to that"},
    {"expected[].unmet[]", "text", "what came otherwise"},
    {"cases[].case", "text", "name of the scenario; one item per measured quantity, by name of the file"},
    {"cases[].source", "text or null",
     "where the measured value comes from; null: the file could not be read"},
    {"cases[].grade", "text or null", "A, A-, B, ...; empty: not told"},
    {"cases[].quantity", "text or null",
     "step_seconds, phase.<name>, tokens_per_second_per_gpu or another key of `measured`; null: the file "
     "could "
     "not be read"},
    {"cases[].predicted", "number or null", "the forecast; null: there is none, see reason"},
    {"cases[].measured", "number or null", "what the source reports"},
    {"cases[].error", "number or null", "predicted / measured - 1"},
    {"cases[].fitted", "true or false", "whether a number of the forecast was fitted on this case"},
    {"cases[].left_out_error", "number or null",
     "error with the case taken out of that fit; null where nothing was fitted on it"},
    {"cases[].reason", "text or null", "why there is no forecast"},
    {"cases[].draws.p10", "number",
     "of draws of prices and lengths; no draws without `--draws` or a forecast"},
    {"cases[].draws.p50", "number", "median"},
    {"cases[].draws.p90", "number", "a further draw lies below it with chance 0.9"},
    {"pairs[].a", "text",
     "two cases of one source, with the same model, algorithm, samples a step and lengths, whose measured "
     "steps differ by more than 10 %"},
    {"pairs[].b", "text", "the other one"},
    {"pairs[].measured_ratio", "number", "step of a / step of b"},
    {"pairs[].predicted_ratio", "number or null", "the same of the forecasts"},
    {"pairs[].agrees", "true or false, or null", "whether the forecast names the faster one"},
    {"summaries[].grades", "text", "A, A- or other: whose cases"},
    {"summaries[].kind", "text", "step, phases, throughput, memory or other"},
    {"summaries[].forecasts", "integer", "quantities with an error"},
    {"summaries[].missing", "integer", "quantities without one"},
    {"summaries[].median", "number or null", "of the size of error"},
    {"summaries[].sources", "integer", "sources that these come from"},
    {"summaries[].median_by_source", "number or null",
     "the median over the sources of the median of each: a source with many cases counts like one with few"},
    {"summaries[].median_left_out", "number or null",
     "the median in which a case that a number was fitted on counts with its error when left out"},
    {"summaries[].worst", "number or null", "the largest"},
    {"summaries[].worst_case", "text or null", "the case that has it"},
    {"not_measured[]", "text", "scenarios without measured values"},
    {"coverage[].grades", "text", "A, A- or other: whose cases; without `--draws` there is no coverage"},
    {"coverage[].kind", "text", "step, phases, throughput or memory"},
    {"coverage[].values", "integer", "measured values with draws"},
    {"coverage[].sources", "integer", "sources that these come from"},
    {"coverage[].width", "number", "median of the half width of p10 to p90, of the logarithm"},
    {"coverage[].draws.share", "number", "of the measured values that lie within p10 to p90 of the draws"},
    {"coverage[].draws.share_by_source", "number", "mean over the sources of the share of each"},
    {"coverage[].model_term", "number",
     "the error besides prices and lengths, added in squares to the half width, that brings 80 % inside"},
    {"coverage[].with_model.share", "number", "inside then, each source by the term of the others"},
    {"coverage[].with_model.share_by_source", "number", "mean over the sources of the share of each"}};

constexpr Key kBlameKeys[] = {
    {"schema", "integer", "1: the version of these shapes"},
    {"kind", "text",
     "first_failure, missing_rank, no_dump, mismatch, not_started, order_cycle, all_waiting, nothing_stuck "
     "or "
     "no_collective"},
    {"verdict", "text", "the answer in one or two sentences"},
    {"culprits[]", "integer", "global ranks; empty: none is named"},
    {"group", "text or null", "process group; null: no collective is concerned, or not told"},
    {"group_description", "text or null", "what its maker calls it"},
    {"op", "text or null", "the collective, as the recorder or the watchdog names it"},
    {"seq", "integer or null", "its number in the group; null also for a send or receive"},
    {"waiting[]", "integer", "ranks that have enqueued it and wait"},
    {"chain[]", "text", "which collective needs which ranks, and where they are held"},
    {"ranks[].rank", "integer", "global rank"},
    {"ranks[].part", "text", "fine, waits, missing, differs, not_started, no_dump or failed"},
    {"ranks[].where", "text", "where it is held, or what it failed of; may be empty"},
    {"ranks[].last_enqueued", "integer or null", "in the group above; -1: nothing; null: not known"},
    {"ranks[].last_completed", "integer or null", "likewise"},
    {"timeline[].kind", "text",
     "watchdog_timeout, watchdog_status, dump_signal, heartbeat_stuck, out_of_memory, exception, "
     "nccl_warning, "
     "nccl_error, process_abort, process_exit, launcher_stop or request_timeout; a line of a log each, by "
     "time"},
    {"timeline[].seconds", "number or null", "since the start of a year of 366 days, clock of the log"},
    {"timeline[].clock", "text or null", "the same as month-day hh:mm:ss.mmm"},
    {"timeline[].rank", "integer or null", "rank that the line names"},
    {"timeline[].rank_counted_in", "text or null", "run, group or node"},
    {"timeline[].process", "text or null", "pid and address that the launcher prints"},
    {"timeline[].group", "text or null", "process group"},
    {"timeline[].op", "text or null", "the collective"},
    {"timeline[].seq", "integer or null", "its number"},
    {"timeline[].numel_in", "integer or null", "elements of its input"},
    {"timeline[].timeout_ms", "integer or null", "its time limit"},
    {"timeline[].ran_ms", "integer or null", "how long it had run"},
    {"timeline[].last_enqueued", "integer or null", "last enqueued work of the group"},
    {"timeline[].last_completed", "integer or null", "last completed work of the group"},
    {"timeline[].exit_code", "integer or null", "of a process; negative: the signal"},
    {"timeline[].text", "text", "the line, at most 300 bytes"},
    {"timeline[].file", "text", "its file"},
    {"timeline[].line", "integer", "its line, 1-based"},
    {"evidence[].file", "text", "what the verdict stands on: a log, or a rank's dump"},
    {"evidence[].line", "integer or null", "null: of a dump"},
    {"evidence[].text", "text", "the line, or what the dump says"},
    {"certain[]", "text", "what the files say"},
    {"inferred[]", "text", "what is concluded from them"},
    {"missing[]", "text", "what would make the answer surer"}};

std::string table(std::span<Key const> keys) {
  std::string out = "| key | type | meaning |\n|---|---|---|\n";
  for (Key const& k : keys) out += fmt::format("| `{}` | {} | {} |\n", k.path, k.type, k.meaning);
  return out;
}

}  // namespace

std::string run_json_markdown() {
  return "\n# JSON of `rollcast run --json` and `rollcast report --json`\n\n"
         "Keys come in this order. Numbers carry 9 significant digits; times are seconds, sizes bytes. Equal "
         "input gives\n"
         "equal bytes. New keys may be added; a change of meaning raises `schema`.\n\n" +
         table(kRunKeys);
}

std::string memory_json_markdown() {
  return "\n# JSON of `rollcast memory --json`\n\nSizes are whole bytes.\n\n" + table(kMemoryKeys);
}

std::string weights_json_markdown() {
  return "\n# JSON of `rollcast weights --json`\n\nSizes are whole bytes, offsets elements.\n\n" +
         table(kWeightsKeys);
}

std::string resume_json_markdown() {
  return "\n# JSON of `rollcast weights --resume --json`\n\nSizes are whole bytes.\n\n" + table(kResumeKeys);
}

std::string validate_json_markdown() {
  return "\n# JSON of `rollcast validate --json`\n\n" + table(kValidateKeys);
}

std::string blame_json_markdown() { return "\n# JSON of `rollcast blame --json`\n\n" + table(kBlameKeys); }

std::string json_schema_markdown() {
  return run_json_markdown() + memory_json_markdown() + weights_json_markdown() + resume_json_markdown() +
         validate_json_markdown() + blame_json_markdown();
}

}  // namespace rollcast
