// Dispatch and combine of expert parallelism, as DeepEP does them: two numbers per mode, direction and reach.
//
// t tokens of each rank, top-k, n ranks on N nodes, experts drawn evenly; a dispatched token is hidden fp8
// bytes and one fp32 scale per 128 of them (in training hidden bf16 numbers), a combined one hidden bf16
// numbers.
//   low latency: one copy per expert, k x bytes; of them (n-1)/n leave the GPU on one node, (N-1)/N the node
//   normal:      one copy per GPU reached, (n-1)(1 - (1 - 1/n)^k); between nodes one per node reached,
//                (N-1)(1 - (1 - 1/N)^k)
// time = alpha + bytes / (share x link): NVLink of the GPU on one node, its NIC on several (the NVLink part
// runs beside it and is smaller).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/collective_curve.hpp"

namespace rollcast {

enum class ExchangeMode { normal, low_latency };
enum class ExchangeDirection { dispatch, combine };
std::string_view name_of(ExchangeMode m);
std::string_view name_of(ExchangeDirection d);

struct ExpertExchange {
  ExchangeMode mode = ExchangeMode::normal;
  ExchangeDirection direction = ExchangeDirection::dispatch;
  Group group;
  double tokens = 0;  // of each rank
  double hidden = 0;
  double top_k = 1;
  bool fp8 = true;  // what is dispatched
};

// Bytes of one GPU over NVLink on one node, over its NIC on several.
Bytes exchanged_bytes(ExpertExchange const& e);

struct ExchangeFit {
  std::string gpu;
  ExchangeMode mode = ExchangeMode::normal;
  ExchangeDirection direction = ExchangeDirection::dispatch;
  bool several_nodes = false;
  Seconds alpha;
  double share = 1;  // of Gpu::nvlink, or of the NIC's line rate
  std::string source;
};

struct ExchangeCalibration {
  std::vector<ExchangeFit> fits;
};

// The link whose share a fit is of. A node without NIC is a std::logic_error for a group on several nodes.
BytesPerSecond exchange_link(ClusterSpec const& c, Group g);

// The fit of the same GPU, else the first of that mode, direction and reach; nullptr without one.
ExchangeFit const* exchange_fit(ExchangeCalibration const& calibration, Gpu const& gpu,
                                ExpertExchange const& e);

// measured: the fit's GPU, eight of them on each of one or two nodes with their usual fabric. unmeasured:
// more than two nodes (DeepEP's own figures for up to 32 nodes of H800 lie within 20 %), PCIe, TCP between
// nodes.
Evidence exchange_evidence(ExchangeFit const& fit, ClusterSpec const& c, Group g);

// By exchange_fit; nullopt without one. A group of one: zero.
std::optional<CollectivePrice> exchange_price(ExchangeCalibration const& calibration, ClusterSpec const& c,
                                              ExpertExchange const& e);

// exchange GPU MODE DIRECTION node|network ALPHA_US SHARE # SOURCE
std::string to_text(ExchangeCalibration const& calibration);
struct ExchangeCalibrationText {
  std::optional<ExchangeCalibration> value;
  std::string error;
};
// Lines that do not start with "exchange" are left to other readers.
ExchangeCalibrationText exchange_calibration_from_text(std::string_view text);

}  // namespace rollcast
