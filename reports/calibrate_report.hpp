// What `rollcast calibrate` tells: imports and checks as text and JSON.
#pragma once

#include <string>

#include "calibrate/check.hpp"
#include "calibrate/import/folder.hpp"

namespace rollcast {

// Files by kind with their rows, what was skipped and why.
std::string import_summary(ImportResult const& r);

// One line a check, then the worst rows, then held-out rows that a profile holds as knots.
std::string check_text(CheckResult const& r, bool worst);

// {"schema": 1, "passed": ..., "checks": [{gpu, operation, dtype, version, nodes, split, range, rows, median,
// p90, bias, unpriced, worst: [{shape, variant, source, measured_seconds, price_seconds, error}]}],
// "exposed":
// [...]}. nodes is null for what is no collective, range for all tokens. Errors are fractions, 9 significant
// digits.
std::string check_json(CheckResult const& r);

}  // namespace rollcast
