// The built-in calibration of collectives: A100 and H100 on one node, two nodes on 8 x 400 Gb/s InfiniBand,
// 8 x 200 Gb/s RoCE and GPUDirect-TCPXO, DeepEP's exchange on H100, vLLM's and SGLang's custom all-reduce.
//
// Fitted on every other message size of the published tables that each line names (NVIDIA aiconfigurator,
// Apache-2.0; nccl-tests tables posted in public; vidur, MIT; SimAI, Apache-2.0), never on a second cluster's
// table of the same kind; no row of an end-to-end run is in it. The text is what the fits of calibrate/ give
// for an import of those tables; a test compares it. Integer rows are not in it. Two series rest on an
// assumed fabric, and say so: SimAI's shares of the line rate, and vidur's sends between H100 nodes.
#pragma once

#include <string_view>

#include "models/collective_calibration.hpp"

namespace rollcast {

std::string_view measured_collectives_text();
CollectiveCalibration const& measured_collectives();

}  // namespace rollcast
