// Output of nvbandwidth: for each test "Running <test>." and a matrix of GB/s.
//
// Copy-engine tests of one direction become copy samples, one a test, of the median of the matrix:
// host_to_device_memcpy_ce (h2d), device_to_host_memcpy_ce (d2h), device_to_device_memcpy_read_ce and
// _write_ce (peer). Other tests are skipped. The buffer is nvbandwidth's own default of 512 MiB: its output
// does not say which one was used. The GPU is that of the "Device 0:" line, else the hint or the path.
#pragma once

#include "calibrate/import/imported.hpp"

namespace rollcast {

bool is_nvbandwidth_log(SourceText const& source);
void read_nvbandwidth_log(SourceText const& source, Imported& out);

}  // namespace rollcast
