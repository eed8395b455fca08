// Measured collectives of the shared tables as samples, for tests. Empty where the folder is missing.
#pragma once

#include <string>
#include <vector>

#include "calibrate/fit_expert_exchange.hpp"
#include "calibrate/sample.hpp"

namespace rollcast {

std::string shared_data();  // ROLLCAST_SOURCE_DIR/../shared/data

// What an import of the whole folder gives of collectives and expert exchanges, engines' own all-reduces
// included.
std::vector<Sample> const& imported_collectives();

// The imported samples whose source starts so: "aiconfigurator/".
std::vector<Sample> imported_below(std::string const& source);

// simai nic_ratio.csv: share of 8 x 200 Gb/s as bus bandwidth of all-gather and reduce-scatter, 2 nodes.
std::vector<Sample> nic_ratio_samples();

// The built-in calibration's samples: imported_collectives, nic_ratio_samples, and vidur's sends between two
// H100 nodes with the fabric that their source leaves open taken as 8 x 400 Gb/s (36 GB/s of one NIC are
// more than 200 Gb/s carry).
std::vector<Sample> built_in_samples();

// Rows of a CSV file by column name.
using CsvRow = std::vector<std::pair<std::string, std::string>>;
std::vector<CsvRow> read_csv(std::string const& path);
std::string field(CsvRow const& row, std::string const& name);

}  // namespace rollcast
