// A profile from data sheets alone: published peaks times cited efficiencies.
#pragma once

#include "models/profile.hpp"

namespace rollcast {

Profile datasheet_profile(Gpu const& gpu);

}  // namespace rollcast
