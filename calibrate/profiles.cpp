#include "calibrate/profiles.hpp"

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "calibrate/datasheet.hpp"
#include "calibrate/embedded_profiles.hpp"
#include "calibrate/measured_collectives.hpp"
#include "calibrate/measured_profile.hpp"
#include "models/kernels.hpp"

namespace rollcast {
namespace {

std::string measured_like(Gpu const& gpu) { return gpu.fp8.value > 0 ? "h100-sxm" : "a100-sxm-80gb"; }

}  // namespace

Profile profile_for(Gpu const& gpu) {
  auto text = embedded_profile_of(gpu.name);
  bool const derived = !text;
  if (derived) text = embedded_profile_of(measured_like(gpu));
  if (!text) return datasheet_profile(gpu);
  Parsed<Profile> measured = profile_of(*text);
  Parsed<KernelTables> tables = measured_tables_from(*text);
  if (!measured.value || !tables.value)
    throw std::logic_error("built-in profile of " + text->gpu + ": " + measured.error + tables.error);
  // A calibration of one cluster knows nothing of others: the built-in one tells those.
  std::vector<CollectiveCalibration>& collectives = tables.value->collectives;
  if (collectives.empty()) collectives.emplace_back();
  collectives.front() = completed(std::move(collectives.front()), measured_collectives());
  Profile p = derived ? datasheet_profile(gpu) : std::move(*measured.value);
  p.gpu = gpu;
  if (derived) p.engines = measured.value->engines;  // work of the host, the same on every card
  if (derived) p.name = "derived from " + text->name;
  p.kernels = std::make_shared<Kernels const>(std::move(*tables.value), gpu);
  return p;
}

}  // namespace rollcast
