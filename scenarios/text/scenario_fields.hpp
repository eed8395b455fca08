// The keys of a scenario file.
#pragma once

#include <string>

#include "models/catalog/catalog.hpp"
#include "scenarios/scenario.hpp"
#include "scenarios/text/fields.hpp"

namespace rollcast {

struct ScenarioPlace {
  Catalog const& catalog;
  std::string folder;  // of the scenario file: relative paths start there
};

// true when model and cluster are known, so that checks across fields make sense.
bool read_scenario_fields(Fields& f, Scenario& s, ScenarioPlace const& place);

// Every key of the language, in order.
std::vector<SchemaRow> const& scenario_keys();

}  // namespace rollcast
