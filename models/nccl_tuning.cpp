#include "models/nccl_tuning.hpp"

#include <algorithm>
#include <cctype>
#include <stdexcept>
#include <string>

namespace rollcast {
namespace {

using Row = std::array<double, 3>;  // LL, LL128, Simple

constexpr NcclLimits kVolta{{39.0, 39.0, 20.4}, {20, 20, 20}, {20, 20, 20}, {26.5, 18.5, 10.0}, {0, 0, 0}, 0};
constexpr NcclLimits kAmpere{{87.7, 22.5, 19.0}, {20, 20, 20}, {20, 20, 20},
                             {24.0, 23.6, 17.8}, {0, 0, 0},    0};
constexpr NcclLimits kHopper{{141.0, 45.0, 35.0}, {36.7, 36.7, 36.7}, {36.7, 36.7, 29.0},
                             {38.7, 41.4, 36.0},  {0, 57.7, 45.5},    0.85};
constexpr NcclLimits kBlackwell{{282.0, 90.0, 70.0}, {40, 40, 40}, {55.6, 31.67, 20.0},
                                {70.0, 42.8, 24.0},  {0, 96, 80},  0.74};

Row base_row(NcclAlgorithm a) {
  switch (a) {
    case NcclAlgorithm::ring:
      return {6.6, 14.0, 8.4};
    case NcclAlgorithm::tree:
      return {6.8, 14.0, 8.4};
    case NcclAlgorithm::nvls:
    case NcclAlgorithm::nvls_tree:
      return {0, 0, 0};
    case NcclAlgorithm::pat:
      return {8, 8, 8};
  }
  throw std::logic_error("no such NcclAlgorithm");
}

// NVLS, NVLSTree and PAT run the Simple protocol only.
Row link_row(NcclLink link, NcclAlgorithm a) {
  bool const nvlink = link == NcclLink::nvlink, network = link == NcclLink::network;
  switch (a) {
    case NcclAlgorithm::ring:
      return nvlink ? Row{0.6, 1.9, 3.4} : network ? Row{2.7, 4.0, 14.0} : Row{1.0, 2.5, 5.7};
    case NcclAlgorithm::tree:
      return nvlink ? Row{0.6, 1.25, 4.0} : network ? Row{5.0, 8.5, 14.0} : Row{1.0, 1.9, 4.0};
    case NcclAlgorithm::nvls:
      return network ? Row{0, 0, 18} : Row{0, 0, 25};
    case NcclAlgorithm::nvls_tree:
      return network ? Row{0, 0, 20.9} : Row{0, 0, 25};
    case NcclAlgorithm::pat:
      return network ? Row{0, 0, 14} : Row{0, 0, 4};
  }
  throw std::logic_error("no such NcclAlgorithm");
}

}  // namespace

NcclGeneration nccl_generation(std::string_view gpu) {
  std::string name;
  for (char const c : gpu) name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  auto const has = [&](std::string_view part) { return name.find(part) != std::string::npos; };
  if (has("b200") || has("b300")) return NcclGeneration::blackwell;
  if (has("h100") || has("h200") || has("h800") || has("h20")) return NcclGeneration::hopper;
  if (has("v100")) return NcclGeneration::volta;
  return NcclGeneration::ampere;
}

NcclLimits const& nccl_limits(NcclGeneration g) {
  switch (g) {
    case NcclGeneration::volta:
      return kVolta;
    case NcclGeneration::ampere:
      return kAmpere;
    case NcclGeneration::hopper:
      return kHopper;
    case NcclGeneration::blackwell:
      return kBlackwell;
  }
  throw std::logic_error("no such NcclGeneration");
}

double nccl_base_latency(NcclAlgorithm a, NcclProtocol p) { return base_row(a)[static_cast<std::size_t>(p)]; }

double nccl_link_latency(NcclLink link, NcclAlgorithm a, NcclProtocol p) {
  return link_row(link, a)[static_cast<std::size_t>(p)];
}

double nccl_channel_speed(NcclGeneration g) {
  switch (g) {
    case NcclGeneration::volta:
    case NcclGeneration::ampere:
      return 10;
    case NcclGeneration::hopper:
      return 22.5;
    case NcclGeneration::blackwell:
      return 45;
  }
  throw std::logic_error("no such NcclGeneration");
}

std::string_view name_of(NcclAlgorithm a) {
  constexpr std::array<std::string_view, 5> names = {"ring", "tree", "NVLS", "NVLSTree", "PAT"};
  return names.at(static_cast<std::size_t>(a));
}

std::string_view name_of(NcclProtocol p) {
  constexpr std::array<std::string_view, 3> names = {"LL", "LL128", "Simple"};
  return names.at(static_cast<std::size_t>(p));
}

}  // namespace rollcast
