// The keys of a GPU, node, fabric and architecture, as they stand in a scenario or a catalog file. Each may
// name a catalog entry to start from with `base`; without it the shape-giving keys must all be there.
#pragma once

#include <string_view>

#include "models/catalog/catalog.hpp"
#include "scenarios/text/fields.hpp"

namespace rollcast {

void describe(Fields& f, Gpu& g, Catalog const& c);
void describe(Fields& f, Node& n, Catalog const& c);
void describe(Fields& f, Fabric& x, Catalog const& c);
void describe(Fields& f, Architecture& a, Catalog const& c);

// `key: name` of the catalog, or `key: {base: name, ...}`. true when v was filled from it without a problem.
bool reference(Fields& f, std::string_view key, Gpu& v, Catalog const& c, std::string_view meaning);
bool reference(Fields& f, std::string_view key, Node& v, Catalog const& c, std::string_view meaning);
bool reference(Fields& f, std::string_view key, Fabric& v, Catalog const& c, std::string_view meaning);

// An architecture by catalog name; nullptr and a problem with the nearest name when there is none.
Architecture const* named_architecture(Fields& f, std::string_view key, Value const& name, Catalog const& c);

std::string_view name_of(Interconnect v);
std::string_view name_of(FabricKind v);

}  // namespace rollcast
