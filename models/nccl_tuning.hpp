// The constants with which NCCL chooses algorithm and protocol, by GPU generation.
//
// Figures from NVIDIA/nccl, src/graph/tuning.cc (2.27), Copyright NVIDIA CORPORATION, Apache License 2.0.
// Latencies in microseconds; bandwidths in GB/s (1e9), by number of nodes: one, two, more.
#pragma once

#include <array>
#include <string_view>

namespace rollcast {

enum class NcclGeneration { volta, ampere, hopper, blackwell };
enum class NcclAlgorithm { ring, tree, nvls, nvls_tree, pat };
enum class NcclProtocol { ll, ll128, simple };
enum class NcclLink { nvlink, pci, network };

inline constexpr std::array kNcclProtocols = {NcclProtocol::ll, NcclProtocol::ll128, NcclProtocol::simple};

// By the card's name: H100, H200, H800, H20, GH200 Hopper; B200, B300, GB200, GB300 Blackwell; V100 Volta;
// any other the row NCCL uses for compute capability 8.x (Ampere, Ada), also for a card that is not NVIDIA's.
NcclGeneration nccl_generation(std::string_view gpu);

struct NcclLimits {
  std::array<double, 3> ll;                  // LL, all channels
  std::array<double, 3> ring_ll128_channel;  // per channel, from here on
  std::array<double, 3> tree_ll128_channel;
  std::array<double, 3> tree_channel;
  std::array<double, 3> nvls_tree_channel;  // 0: no NVLS
  double nvls_efficiency;                   // 0: no NVLS
};
NcclLimits const& nccl_limits(NcclGeneration g);

double nccl_base_latency(NcclAlgorithm a, NcclProtocol p);
double nccl_link_latency(NcclLink link, NcclAlgorithm a, NcclProtocol p);

// Factors of the model (tuning.cc).
inline constexpr double kNcclRingLl = 0.5;
inline constexpr double kNcclRingLl128 = 0.92;
inline constexpr double kNcclTreeSimple = 0.92;
inline constexpr double kNcclTreeLl = 1 / 3.8;
inline constexpr double kNcclTreeLl128OneNode = 7.0 / 9.0;
inline constexpr double kNcclTreeLl128 = 120.0 / 128.0;
inline constexpr double kNcclBareTree = 0.85;  // one rank per node: no chain inside the nodes
inline constexpr double kNcclPat = 0.75;
inline constexpr double kNcclPatStep = 2.8;     // us per rank
inline constexpr double kNcclPatNetwork = 3.5;  // divides the network latency

// us: a ring over several nodes spends at least so much on every step, Simple three times (Intel hosts; AMD
// 2).
inline constexpr double kNcclNetworkStep = 1;

// Speed of one channel of an NVLink ring, GB/s; channels = ring speed over it. From public NCCL logs: 24
// channels on A100 (240 GB/s), 16 on H100 (360 GB/s); Volta and Blackwell by analogy, unchecked.
double nccl_channel_speed(NcclGeneration g);

std::string_view name_of(NcclAlgorithm a);
std::string_view name_of(NcclProtocol p);

}  // namespace rollcast
