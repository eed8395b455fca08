#include "reports/json_schema.hpp"

#include "reports/json_keys.hpp"

namespace rollcast {
namespace {

constexpr JsonKey kMemoryKeys[] = {
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
    {"kv.engines", "integer", "engines of the pool, each with as much"},
    {"kv.mean_sequence", "number", "tokens of a sequence, prompt and response, in the mean"},
    {"kv.longest_sequence", "integer", "tokens that a sequence may have"},
    {"kv.mean_sequences", "integer", "sequences of the mean length that an engine holds at a time"},
    {"kv.longest_sequences", "integer", "sequences of the longest length that it holds"},
    {"hosts[].pool", "text", "name of the pool; empty: there is one"},
    {"hosts[].capacity_bytes", "integer", "host memory of one node"},
    {"hosts[].peak_bytes", "integer", "of the pool's fullest node"},
    {"hosts[].peak_phase", "text", "the phase of that peak"},
    {"changes[].sets[]", "text",
     "with these overrides (--set) it would fit; the cheapest changes first. changes is null for a layout "
     "that fits"},
    {"changes[].headroom_bytes", "integer", "the least of a GPU with them"},
    {"changes[].gpu_hours_per_step", "number or null", "null: what they ask for is not simulated yet"}};

constexpr JsonKey kWeightsKeys[] = {
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

constexpr JsonKey kResumeKeys[] = {
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

constexpr JsonKey kValidateKeys[] = {
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

constexpr JsonKey kBlameKeys[] = {
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

}  // namespace

std::string memory_json_markdown() {
  return "\n# JSON of `rollcast memory --json`\n\nSizes are whole bytes.\n\n" + key_table(kMemoryKeys);
}

std::string weights_json_markdown() {
  return "\n# JSON of `rollcast weights --json`\n\nSizes are whole bytes, offsets elements.\n\n" +
         key_table(kWeightsKeys);
}

std::string resume_json_markdown() {
  return "\n# JSON of `rollcast weights --resume --json`\n\nSizes are whole bytes.\n\n" +
         key_table(kResumeKeys);
}

std::string validate_json_markdown() {
  return "\n# JSON of `rollcast validate --json`\n\n" + key_table(kValidateKeys);
}

std::string blame_json_markdown() {
  return "\n# JSON of `rollcast blame --json`\n\n" + key_table(kBlameKeys);
}

std::string json_schema_markdown() {
  return run_json_markdown() + memory_json_markdown() + weights_json_markdown() + resume_json_markdown() +
         validate_json_markdown() + blame_json_markdown() + compare_json_markdown() + ratio_json_markdown() +
         plan_json_markdown();
}

}  // namespace rollcast
