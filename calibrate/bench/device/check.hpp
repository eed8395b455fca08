// Every call into CUDA is checked: a failure is an exception that names the call and the reason.
#pragma once

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

namespace rollcast {

// No CUDA device, or none that the driver can use: the programs leave with exit code 2.
struct NoDevice : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void check(cudaError_t status, char const* call) {
  if (status == cudaSuccess) return;
  throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(status));
}

}  // namespace rollcast

#define ROLLCAST_CHECK(call) ::rollcast::check((call), #call)
