// What `rollcast calibrate` tells: imports and checks as text and JSON.
#pragma once

#include <string>
#include <vector>

#include "calibrate/check.hpp"
#include "calibrate/import/folder.hpp"
#include "calibrate/unused_rows.hpp"

namespace rollcast {

// Files by kind with their rows, what was skipped and why.
std::string import_summary(ImportResult const& r);

// One line a check, then the worst rows, then held-out rows that a profile holds as knots.
std::string check_text(CheckResult const& r, bool worst);

// "not used: 3 rows of gemm: there is no table of type 'fp16'", a line for each reason.
std::string unused_text(std::vector<UnusedRows> const& unused);

// Whether the check compared anything.
bool has_priced_rows(CheckResult const& r);

// {"schema": 1, "passed": ..., "checks": [{gpu, operation, dtype, version, nodes, split, range, rows, median,
// p90, bias, unpriced, worst: [{shape, variant, source, measured_seconds, price_seconds, error}]}],
// "exposed":
// [...]}. nodes is null for what is no collective, range for all tokens. Errors are fractions, 9 significant
// digits. Not passed where no row has a price.
std::string check_json(CheckResult const& r);

}  // namespace rollcast
