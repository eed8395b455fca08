// Measured collectives of the shared tables as samples, for tests. Empty where the folder is missing.
#pragma once

#include <string>
#include <vector>

#include "calibrate/fit_expert_exchange.hpp"
#include "calibrate/sample.hpp"

namespace rollcast {

std::string shared_data();  // ROLLCAST_SOURCE_DIR/../shared/data

// aiconfigurator nccl_perf.csv of A100 and H100 (one node).
std::vector<Sample> nccl_perf_samples();
// nccl_tests/tables.csv without T03 and T04 (misconfigured by the poster's account).
std::vector<Sample> nccl_tests_samples();
// vidur send_recv.csv: two GPUs of one node; H100: also of two nodes, fabric not stated, one NIC each.
std::vector<Sample> send_recv_samples();
// simai nic_ratio.csv: share of 8 x 200 Gb/s as bus bandwidth of all-gather and reduce-scatter, 2 nodes.
std::vector<Sample> nic_ratio_samples();

std::vector<Sample> all_collective_samples();

// aiconfigurator custom_allreduce_perf.csv: vLLM on A100 and H100, SGLang on A100.
std::vector<Sample> custom_all_reduce_samples();
// aiconfigurator wideep_deepep_*: H100, 8 ranks per node, one and two nodes; normal with 20 SMs (DeepEP's
// default), notify and transmit together.
std::vector<ExchangeSample> exchange_samples();

// Rows of a CSV file by column name.
using CsvRow = std::vector<std::pair<std::string, std::string>>;
std::vector<CsvRow> read_csv(std::string const& path);
std::string field(CsvRow const& row, std::string const& name);

}  // namespace rollcast
