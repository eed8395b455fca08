#include "scenarios/text/serve_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "models/lengths.hpp"
#include "scenarios/text/length_fields.hpp"
#include "scenarios/text/trace_file.hpp"

namespace rollcast {
namespace {

constexpr Range kRate{0, 1e6, true};
constexpr Range kTime{0, 1e8, false};  // three years
constexpr Range kRequests{1, 1e7, false};
constexpr Range kAdapters{1, 1e6, false};
constexpr Range kAdaptersOrNone{0, 1e6, false};
constexpr Range kRank{1, 65536, false};
constexpr Range kExponent{0, 100, false};
constexpr Range kVariation{0, 100, false};
constexpr std::size_t kMostVariants = 64;

std::vector<std::string_view> targets() { return {"q", "k", "v", "o", "gate", "up", "down"}; }

void clear_default(Fields& f) {
  if (f.listing()) f.rows().back().fallback.clear();
}

// ---- arrivals

void describe_trace(Fields& f, Arrivals& a) {
  f.text("file", a.file,
         "comma-separated, with a header: arrival,prompt,output,adapter (empty: the base model; without the "
         "column: drawn), or "
         "arrived_at,num_prefill_tokens,num_decode_tokens");
  f.require("file", "write for example file: requests.csv");
  f.number("speed", a.speed, kRate, "recorded times are divided by it");
}

// The name of a file, or a map.
void read_trace(Fields& f, Arrivals& a) {
  f.custom("trace", "file, or a map", "", "recorded requests with their lengths", [&](Value const& v) {
    if (v.kind == ValueKind::scalar) {
      a.file = v.text;
      f.origin("trace", a.file);
    } else {
      Fields inner(f.reading(), &v, f.path_of("trace"), v.mark, "default");
      if (v.kind == ValueKind::map)
        describe_trace(inner, a);
      else
        f.problem(v.mark, "trace", "not a file", "write for example trace: requests.csv");
      inner.finish();
    }
  });
  if (!f.listing()) return;
  Fields inner(f.rows(), f.path_of("trace"));
  describe_trace(inner, a);
}

void describe(Fields& f, Arrivals& a) {
  auto const read = [&](ArrivalKind k, auto const& take) {
    f.allow(name_of(k));
    if (!f.listing() && !f.has(name_of(k))) return;
    a.kind = k;
    take(name_of(k));
  };
  read(ArrivalKind::poisson, [&](std::string_view key) {
    f.number(key, a.rate, kRate, "requests a second in the mean, independent of each other");
    clear_default(f);
  });
  read(ArrivalKind::bursts, [&](std::string_view key) {
    f.optional_group(key, "requests in bursts", [&](Fields& g) {
      g.number("rate", a.rate, kRate, "requests a second in the mean");
      clear_default(g);
      g.require("rate", "write for example rate: 12");
      g.number("variation", a.variation, kVariation,
               "coefficient of variation of the gaps, which are gamma-distributed; 1: as poisson, 0: equal "
               "gaps");
    });
  });
  read(ArrivalKind::trace, [&](std::string_view) { read_trace(f, a); });
  read(ArrivalKind::closed, [&](std::string_view key) {
    f.integer(key, a.users, kCount, "users, each with its next request as soon as the last is answered");
    clear_default(f);
  });
}

int given_kinds(Fields const& f) {
  int n = 0;
  for (ArrivalKind k : {ArrivalKind::poisson, ArrivalKind::bursts, ArrivalKind::trace, ArrivalKind::closed})
    n += f.has(name_of(k)) ? 1 : 0;
  return n;
}

// What the file says of its adapters.
TraceFile load_trace(Fields& f, Arrivals& a, std::string const& folder) {
  if (a.kind != ArrivalKind::trace) return {};
  TraceFile file = read_trace_file(a.file, folder);
  if (!file.error.empty()) f.problem(f.mark_of("arrivals"), "arrivals.trace", file.error, file.remedy);
  a.trace = std::move(file.rows);
  return file;
}

TraceFile read_arrivals(Fields& f, Arrivals& a, std::string const& folder) {
  std::size_t const before = f.listing() ? 0 : f.reading().problems.size();
  bool good = false;
  bool const map = f.optional_group("arrivals", "when requests come", [&](Fields& g) {
    describe(g, a);
    good = given_kinds(g) == 1;
  });
  f.require("arrivals", "write for example arrivals: {poisson: 12}");
  if (map && !good)
    f.problem(f.mark_of("arrivals"), "arrivals", "not one kind of arrivals",
              "write one of poisson, bursts, trace and closed");
  if (!map || f.reading().problems.size() != before) return {};
  return load_trace(f, a, folder);
}

// ---- adapters

void describe(Fields& f, AdapterVariant& v) {
  f.integer("rank", v.rank, kRank, "of the two factors");
  f.names("targets", v.targets, targets(), "projections that have an adapter");
}

void read_variants(Fields& f, std::vector<AdapterVariant>& variants) {
  if (f.listing() || !f.has("variants")) describe(f, variants.front());
  f.custom("variants", "list of maps", "",
           "several kinds of adapters, in place of rank and targets; adapter i is of kind i mod their number",
           [&](Value const& v) {
             if (v.kind != ValueKind::list || v.items.empty() || v.items.size() > kMostVariants)
               return f.problem(v.mark, "variants", fmt::format("not a list of 1 to {} maps", kMostVariants),
                                "write [{rank: 8, targets: [q, v]}, ...]");
             variants.clear();
             for (std::size_t i = 0; i < v.items.size(); ++i) {
               Value const& item = v.items[i];
               Fields inner(f.reading(), &item, f.path_of(fmt::format("variants[{}]", i)), item.mark,
                            "default");
               variants.push_back(ServedAdapters{}.variants.front());
               if (item.kind != ValueKind::map)
                 inner.problem_here(item.mark, "not a map", "write {rank: 8, targets: [q, v]}");
               describe(inner, variants.back());
               inner.finish();
             }
           });
  if (f.listing()) {
    Fields inner(f.rows(), f.path_of("variants[]"));
    describe(inner, variants.front());
  } else if (f.has("variants")) {
    for (std::string_view key : {"rank", "targets"}) f.forbid(key, "variants say it already");
  }
}

void describe_zipf(Fields& f, double& exponent) {
  f.number("zipf", exponent, kExponent, "adapter i, from 1, is asked for with a weight of 1 / i^zipf");
}

void read_popularity(Fields& f, ServedAdapters& a) {
  std::vector<Popularity> const all = {Popularity::uniform, Popularity::zipf, Popularity::identical,
                                       Popularity::distinct};
  std::vector<std::string_view> names;
  for (Popularity p : all) names.push_back(name_of(p));
  f.custom("popularity", one_of(names) + ", or {zipf: 1}", "uniform",
           "which adapter a request asks for; identical: always the first, distinct: the next one each time",
           [&](Value const& v) {
             if (v.kind == ValueKind::map) {
               Fields inner(f.reading(), &v, f.path_of("popularity"), v.mark, "default");
               inner.require("zipf", "write for example {zipf: 1}");
               describe_zipf(inner, a.exponent);
               inner.finish();
               a.popularity = Popularity::zipf;
               return;
             }
             auto const named = std::find(names.begin(), names.end(), v.text);
             if (v.kind == ValueKind::scalar && named != names.end()) {
               a.popularity = all[static_cast<std::size_t>(named - names.begin())];
               f.origin("popularity", v.text);
             } else {
               std::string_view const near = nearest(v.text, names);
               f.problem(v.mark, "popularity", fmt::format("there is no popularity '{}'", shown(v.text)),
                         near.empty() ? "write " + one_of(names) : fmt::format("did you mean {}?", near));
             }
           });
  if (f.listing()) {
    Fields inner(f.rows(), f.path_of("popularity"));
    return describe_zipf(inner, a.exponent);
  }
  if (!f.has("popularity")) f.origin("popularity", std::string(name_of(a.popularity)));
}

// How many there are, and who asks for which.
void read_tenants(Fields& f, ServedAdapters& a, TraceFile const& trace) {
  a.count = std::max(a.count, trace.adapters);
  f.integer("count", a.count, kAdapters,
            "adapters, each of a tenant; default of a trace: as many as it names");
  if (trace.adapters > 0) f.derived("count");
  if (a.count < trace.adapters)
    f.problem(f.mark_of("count"), "count", fmt::format("the trace asks for {} adapters", trace.adapters),
              fmt::format("write {} or more", trace.adapters));
  if (trace.adapters > 0)
    f.forbid("popularity", "the trace names the adapters of its requests");
  else
    read_popularity(f, a);
}

void describe_pool(Fields& f, ServedAdapters& a) {
  f.choice("pool", a.pool, {AdapterPool::fixed, AdapterPool::unified},
           "where adapters lie in GPU memory: in slots for the largest rank, reserved at the start, with "
           "kernels beside "
           "every projection that vLLM wraps; in KV pages, with kernels beside the targets alone (S-LoRA)");
  f.integer("slots", a.slots, kAdaptersOrNone,
            "fixed: adapters that fit, each with room for what the variants target (vLLM: at least that); 0: "
            "one for each "
            "adapter, at most max_num_seqs; merged: two");
  f.quantity("pool_bytes", a.pool_bytes, kNotNegative,
             "fixed: of a rank, in place of slots: as many as it holds; 0: slots");
  f.choice("eviction", a.eviction, {AdapterEviction::lru, AdapterEviction::popularity},
           "which adapter that nobody uses makes room: the one unused for longest, the one with the fewest "
           "requests");
  f.choice("loading", a.loading, {AdapterLoading::blocking, AdapterLoading::overlapped},
           "a step waits for the adapters of the requests that it admits (vLLM); or the requests wait, while "
           "the engine goes on with others (S-LoRA)");
  f.integer("prefetch", a.prefetch, kAdaptersOrNone,
            "overlapped: of so many waiting requests the adapters are loaded ahead");
  f.integer("host_adapters", a.host_adapters, kAdaptersOrNone,
            "adapters that the host memory of a node holds, the others come from storage; 0: all");
  f.choice("storage", a.storage, {AdapterStorage::local, AdapterStorage::shared},
           "of adapters that the host does not hold: drives of the node, the shared file system");
  f.integer("batch_limit", a.batch_limit, kAdaptersOrNone,
            "different adapters in a batch at most (vLLM's max_loras); 0: the slots, or any with a unified "
            "pool; merged: one, whatever stands here");
}

void describe(Fields& f, ServedAdapters& a, TraceFile const& trace) {
  read_tenants(f, a, trace);
  read_variants(f, a.variants);
  using enum AdapterExecution;
  f.choice(
      "execution", a.execution, {none, batched, split, merged, deployments},
      "none: the base model alone; batched: one base product for all and kernels that pick each token's "
      "adapter; split: a forward for each adapter; merged: into the weights, one at a time; deployments: "
      "adapter i merged in engine i. With none and deployments no adapter moves, and the keys of the pool, "
      "order and patience count for nothing");
  if (f.listing()) f.rows().back().fallback = "batched; none without the block";
  f.flag("padded_ranks", a.padded_ranks,
         "batched: kernels compute every adapter at max_rank; else each at its own");
  f.integer("max_rank", a.max_rank, {0, 65536, false},
            "that slots and padded kernels are made for (vLLM's max_lora_rank); 0: the largest there is");
  f.flag("fully_sharded", a.fully_sharded,
         "tensor parallelism cuts both factors; else the one beside the side that the projection is cut on");
  describe_pool(f, a);
}

// ---- the rest

void describe(Fields& f, ServiceObjective& o) {
  f.quantity("ttft", o.ttft, kTime, "arrival to first token; 0: not asked");
  f.quantity("tpot", o.tpot, kTime, "mean time of a token after the first; 0: not asked");
  f.quantity("latency", o.latency, kTime, "arrival to last token; 0: not asked");
}

void describe_objective(Fields& f, ServiceObjective& o) {
  f.group("objective", "what an answer must keep to count as goodput", [&](Fields& g) { describe(g, o); });
}

void read_requests(Fields& f, ServeOptions& s) {
  bool const trace = s.arrivals.kind == ArrivalKind::trace && !f.listing();
  if (trace) s.requests = 0;
  f.integer("requests", s.requests, {trace ? 0.0 : 1.0, kRequests.high, false},
            "that come in all; of a trace: at most, 0: all of it");
  if (f.listing()) f.rows().back().fallback = "1000; of a trace 0";
  if (trace && s.requests > 0 && s.arrivals.trace.size() > static_cast<std::size_t>(s.requests))
    s.arrivals.trace.resize(static_cast<std::size_t>(s.requests));
}

void describe(Fields& f, ServeOptions& s, std::string const& folder) {
  TraceFile const trace = read_arrivals(f, s.arrivals, folder);
  read_requests(f, s);
  if (!f.listing() && !f.has("adapters")) s.adapters.execution = AdapterExecution::none;
  f.group("adapters", "the adapters on the base model; without the block it answers alone",
          [&](Fields& g) { describe(g, s.adapters, trace); });
  if (!f.listing() && !f.has("adapters")) {
    for (std::string_view key : {"order", "patience"})
      f.forbid(key, "without adapters there is one tenant, whose requests are served in order of arrival");
    return describe_objective(f, s.objective);
  }
  f.choice(
      "order", s.order, {ServeOrder::first_come, ServeOrder::grouped, ServeOrder::fair},
      "who is next: by arrival, but who cannot join the batch is passed over (vLLM), so that a merged "
      "adapter goes on "
      "while it has requests; first those whose adapter the batch has, then those whose adapter is in GPU "
      "memory; the tenant that was served least");
  f.quantity("patience", s.patience, kTime, "nobody passes who has waited longer; 0: no such bound");
  describe_objective(f, s.objective);
}

void take_lengths(Fields& f, Job& job) {
  EmpiricalLength prompts, responses;
  prompts.in_order = responses.in_order = true;
  for (ServeRequest const& r : job.serve->arrivals.trace) {
    prompts.tokens.push_back(r.prompt_tokens);
    responses.tokens.push_back(r.response_tokens);
  }
  job.workload.prompt_tokens = {std::move(prompts)};
  job.workload.response_tokens = {std::move(responses)};
  std::string const from = "trace " + job.serve->arrivals.file;
  f.reading().origins.push_back({"workload.prompt_tokens", words_of(job.workload.prompt_tokens), from});
  f.reading().origins.push_back({"workload.response_tokens", words_of(job.workload.response_tokens), from});
}

}  // namespace

bool serves(Fields const& f) { return !f.listing() && f.has("serve"); }

void forbid_training(Fields& f) {
  f.forbid("algorithm", "a file that serves trains nothing");
  for (std::string_view key : {"train", "score", "schedule", "weight_sync", "validation", "checkpoint",
                               "reliability", "placement", "faults", "framework"})
    f.forbid(key, "serving has no such part: nothing is trained");
  f.forbid("pools", "all GPUs of the cluster serve");
}

void read_serve(Fields& f, Job& job, std::string const& folder) {
  ServeOptions read;
  if (!f.optional_group("serve", "requests are served, and nothing is trained; in place of algorithm",
                        [&](Fields& g) { describe(g, read, folder); }))
    return;
  job.serve = std::move(read);
  job.algorithm.kind = AlgorithmKind::serve;
  if (job.serve->arrivals.kind != ArrivalKind::trace) return;
  f.forbid("workload", "the trace holds the lengths");
  if (!job.serve->arrivals.trace.empty()) take_lengths(f, job);
}

void prepare_serving_engine(Fields& rollout, Job& job) {
  for (std::string_view key : {"pool", "feed", "oversampling", "partial_rollout", "sleep_level", "residue"})
    rollout.forbid(key, "engines that serve take no turns with a trainer");
  rollout.forbid("adapter_slots", "serve.adapters.slots says it");
  if (job.serve->adapters.execution == AdapterExecution::deployments)
    rollout.forbid("balance", "each adapter has an engine of its own");
  job.rollout.balance = EngineBalance::least_load;
}

}  // namespace rollcast
