// Serving the requests of many tenants through low-rank adapters on one base model: the options of `serve:`.
// A tenant is an adapter.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/units.hpp"

namespace rollcast {

// One request to come. Times count from the first one on, or from the start of the trace.
struct ServeRequest {
  Seconds arrival;
  int prompt_tokens = 0;
  int response_tokens = 0;
  int adapter = -1;  // -1: the base model alone
};

// poisson: independent gaps. bursts: gamma-distributed gaps with a coefficient of variation (1: poisson).
// trace: those of a file. closed: so many users, each with its next request as soon as the last is answered.
enum class ArrivalKind { poisson, bursts, trace, closed };

struct Arrivals {
  ArrivalKind kind = ArrivalKind::poisson;
  double rate = 1;       // requests a second, mean (poisson, bursts)
  double variation = 1;  // coefficient of variation of the gaps (bursts)
  int users = 1;         // closed
  std::string file;      // trace
  double speed = 1;      // of a trace: gaps are divided by it
  std::vector<ServeRequest> trace = {};
};

// Weight of adapter i: uniform 1; zipf 1 / (i + 1)^exponent; identical: all requests go to adapter 0;
// distinct: request i goes to adapter i mod count.
enum class Popularity { uniform, zipf, identical, distinct };

// Adapters of one rank on the same projections.
struct AdapterVariant {
  int rank = 16;
  std::vector<std::string> targets;  // of q, k, v, o, gate, up, down
};

// How a step computes with adapters.
//   none         not at all: the base model answers
//   batched      one base product over all tokens, and kernels that pick each token's adapter (SGMV, BGMV)
//   split        a forward for the tokens of each adapter
//   merged       one adapter at a time, merged into the weights: another one waits for the batch to end
//   deployments  adapter i is merged into the weights of engine i, which serves nothing else
enum class AdapterExecution { none, batched, split, merged, deployments };

// fixed: slots for the largest rank, reserved at the start. unified: adapters lie in KV pages (S-LoRA).
enum class AdapterPool { fixed, unified };
// Which of the adapters that nobody uses goes: the one unused for longest; the one with the fewest requests.
enum class AdapterEviction { lru, popularity };
// blocking: a step waits for the adapters of the requests that it admits (vLLM). overlapped: a request waits
// for its adapter while the engine goes on with others (S-LoRA).
enum class AdapterLoading { blocking, overlapped };
// Where adapters are that the host does not hold.
enum class AdapterStorage { local, shared };

struct ServedAdapters {
  int count = 1;
  std::vector<AdapterVariant> variants = {{16, {"q", "v"}}};  // adapter i has variant i mod their number
  Popularity popularity = Popularity::uniform;
  double exponent = 1;  // zipf
  AdapterExecution execution = AdapterExecution::batched;
  bool padded_ranks = true;    // kernels run every adapter at max_rank; else each at its own
  int max_rank = 0;            // of slots and padded kernels; 0: the largest of the variants
  bool fully_sharded = false;  // tensor parallelism cuts both factors; else the one beside the cut side
  AdapterPool pool = AdapterPool::fixed;
  int slots = 0;     // fixed; 0: one for each adapter, at most max_num_seqs
  Bytes pool_bytes;  // fixed: as many slots as this holds on a rank; 0: `slots`
  AdapterEviction eviction = AdapterEviction::lru;
  AdapterLoading loading = AdapterLoading::blocking;
  int prefetch = 0;       // overlapped: of so many waiting requests the adapters are loaded ahead
  int host_adapters = 0;  // that the host memory of a node holds; 0: all
  AdapterStorage storage = AdapterStorage::local;
  int batch_limit = 0;  // distinct adapters in a batch; 0: the slots, or none with a unified pool
};

// first_come: in order of arrival; who cannot join the batch is passed over. grouped: first those whose
// adapter the batch has, then those whose adapter is in GPU memory. fair: first the tenant that was served
// least (models/adapter_queue.hpp).
enum class ServeOrder { first_come, grouped, fair };

// What an answer must keep; 0: not asked.
struct ServiceObjective {
  Seconds ttft;     // arrival to first token
  Seconds tpot;     // mean time of a token after the first
  Seconds latency;  // arrival to last token
};

struct ServeOptions {
  int requests = 1000;  // of a trace: at most; 0: all of it
  Arrivals arrivals;
  ServedAdapters adapters;
  ServeOrder order = ServeOrder::first_come;
  Seconds patience;  // nobody passes who has waited longer; 0: no such bound
  ServiceObjective objective;
};

// Variant of adapter i.
inline AdapterVariant const& variant_of(ServedAdapters const& a, int adapter) {
  return a.variants[static_cast<std::size_t>(adapter) % a.variants.size()];
}

std::string_view name_of(ArrivalKind v);
std::string_view name_of(Popularity v);
std::string_view name_of(AdapterExecution v);
std::string_view name_of(AdapterPool v);
std::string_view name_of(AdapterEviction v);
std::string_view name_of(AdapterLoading v);
std::string_view name_of(AdapterStorage v);
std::string_view name_of(ServeOrder v);

}  // namespace rollcast
