// rollcast_bench_gemm: y[m,n] = x[m,k] W[n,k]^T through cuBLASLt, one row per shape and dtype.
//
// cuBLASLt counts columns first: a row-major matrix is its transpose there, so that D^T[n,m] = W[n,k]
// x[m,k]^T is computed with M = n, N = m, K = k. In memory, as a trainer has them:
//   forward  W[n,k] and x[m,k] row-major                               TN
//   dgrad    dx[t,i] = dy[t,o] W[o,i]: m = t, n = i, k = o               NN
//   wgrad    dW[o,i] = dy[t,o]^T x[t,i]: m = o, n = i, k = t             NT
// fp8 (e4m3, scale 1, bf16 out) exists as TN only: trainers transpose the operands beforehand. The forward
// accumulates fast, the gradients exactly, as Transformer Engine does. The algorithm is the first that
// cuBLASLt's heuristic names, as PyTorch takes it, with 32 MiB of workspace.
#include <cublasLt.h>

#include <memory>
#include <string>

#include "calibrate/bench/device/arena.hpp"
#include "calibrate/bench/device/device.hpp"
#include "calibrate/bench/device/kernels.hpp"
#include "calibrate/bench/device/program.hpp"
#include "calibrate/bench/device/timer.hpp"

namespace rollcast {

inline void check(cublasStatus_t status, char const* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw std::runtime_error(std::string(call) + ": " + cublasLtGetStatusString(status));
}

namespace {

constexpr std::size_t kWorkspace = std::size_t{32} << 20;
constexpr std::int64_t kBf16 = 2;          // bytes
constexpr std::int64_t kFp8Multiple = 16;  // of n and k: rows of fp8 are aligned to 16 bytes

// A cuBLASLt object and the function that destroys it.
template <class T, cublasStatus_t (*Destroy)(T)>
class Owned {
 public:
  explicit Owned(T object) : object_(object) {}
  ~Owned() { Destroy(object_); }
  Owned(Owned const&) = delete;
  Owned& operator=(Owned const&) = delete;
  T get() const { return object_; }

 private:
  T object_;
};
using Handle = Owned<cublasLtHandle_t, cublasLtDestroy>;
using Operation = Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using Layout = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using Preference = Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

cublasLtHandle_t new_handle() {
  cublasLtHandle_t handle = nullptr;
  ROLLCAST_CHECK(cublasLtCreate(&handle));
  return handle;
}

cublasLtMatmulDesc_t new_operation() {
  cublasLtMatmulDesc_t operation = nullptr;
  ROLLCAST_CHECK(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  return operation;
}

cublasLtMatrixLayout_t new_layout(cudaDataType_t type, std::int64_t rows, std::int64_t columns) {
  cublasLtMatrixLayout_t layout = nullptr;
  ROLLCAST_CHECK(cublasLtMatrixLayoutCreate(&layout, type, static_cast<std::uint64_t>(rows),
                                            static_cast<std::uint64_t>(columns), rows));
  return layout;
}

cublasLtMatmulPreference_t new_preference() {
  cublasLtMatmulPreference_t preference = nullptr;
  ROLLCAST_CHECK(cublasLtMatmulPreferenceCreate(&preference));
  return preference;
}

template <class T>
void set(Operation const& operation, cublasLtMatmulDescAttributes_t what, T const& value) {
  ROLLCAST_CHECK(cublasLtMatmulDescSetAttribute(operation.get(), what, &value, sizeof value));
}

// A product, ready to be enqueued on any buffers that are aligned to 256 bytes.
class Product {
 public:
  Product(Handle const& handle, GemmShape const& s, bool fp8, float const* one)
      : handle_(handle),
        operation_(new_operation()),
        a_(new_layout(type(fp8), transposed_a(s, fp8) ? s.k : s.n, transposed_a(s, fp8) ? s.n : s.k)),
        b_(new_layout(type(fp8), transposed_b(s, fp8) ? s.m : s.k, transposed_b(s, fp8) ? s.k : s.m)),
        d_(new_layout(CUDA_R_16BF, s.n, s.m)) {
    set(operation_, CUBLASLT_MATMUL_DESC_TRANSA, transposed_a(s, fp8) ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(operation_, CUBLASLT_MATMUL_DESC_TRANSB, transposed_b(s, fp8) ? CUBLAS_OP_T : CUBLAS_OP_N);
    if (fp8) {
      set(operation_, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, one);
      set(operation_, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, one);
      std::int8_t const fast = s.pass == GemmPass::forward ? 1 : 0;
      set(operation_, CUBLASLT_MATMUL_DESC_FAST_ACCUM, fast);
    }
    Preference const preference(new_preference());
    ROLLCAST_CHECK(cublasLtMatmulPreferenceSetAttribute(
        preference.get(), CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kWorkspace, sizeof kWorkspace));
    cublasLtMatmulHeuristicResult_t result{};
    int found = 0;
    cublasStatus_t const status =
        cublasLtMatmulAlgoGetHeuristic(handle.get(), operation_.get(), a_.get(), b_.get(), d_.get(), d_.get(),
                                       preference.get(), 1, &result, &found);
    if (status != CUBLAS_STATUS_NOT_SUPPORTED) check(status, "cublasLtMatmulAlgoGetHeuristic");
    supported_ = status == CUBLAS_STATUS_SUCCESS && found > 0 && result.state == CUBLAS_STATUS_SUCCESS;
    algorithm_ = result.algo;
  }

  bool supported() const { return supported_; }

  void enqueue(void const* w, void const* x, void* y, void* workspace, cudaStream_t stream) const {
    float const alpha = 1;
    float const beta = 0;
    ROLLCAST_CHECK(cublasLtMatmul(handle_.get(), operation_.get(), &alpha, w, a_.get(), x, b_.get(), &beta, y,
                                  d_.get(), y, d_.get(), &algorithm_, workspace, kWorkspace, stream));
  }

 private:
  static cudaDataType_t type(bool fp8) { return fp8 ? CUDA_R_8F_E4M3 : CUDA_R_16BF; }
  static bool transposed_a(GemmShape const& s, bool fp8) { return fp8 || s.pass == GemmPass::forward; }
  static bool transposed_b(GemmShape const& s, bool fp8) { return !fp8 && s.pass == GemmPass::wgrad; }

  Handle const& handle_;
  Operation operation_;
  Layout a_;
  Layout b_;
  Layout d_;
  cublasLtMatmulAlgo_t algorithm_{};
  bool supported_ = false;
};

std::string text_of(GemmShape const& s, std::string const& dtype) {
  return dtype + " " + std::to_string(s.m) + "x" + std::to_string(s.n) + "x" + std::to_string(s.k) + " " +
         std::string(name_of(s.pass));
}

// Why the card or the format cannot do it; empty when nothing speaks against it.
std::string obstacle(GemmShape const& s, bool fp8, Device const& d) {
  if (!fp8) return "";
  if (d.major * 10 + d.minor < 89) return "the card has no fp8 units";
  if (s.n % kFp8Multiple + s.k % kFp8Multiple != 0) return "fp8 needs n and k that are multiples of 16";
  return "";
}

void fill(void* data, std::int64_t elements, bool fp8, std::uint64_t seed, cudaStream_t stream) {
  auto const count = static_cast<std::size_t>(elements);
  if (fp8) {
    fill_fp8(static_cast<std::uint8_t*>(data), count, seed, stream);
  } else {
    fill_bf16(static_cast<std::uint16_t*>(data), count, seed, stream);
  }
}

class Bench {
 public:
  explicit Bench(GemmOptions const& o)
      : device_(open_device(o.run.device)),
        writer_(o.run.output, header_of(device_, "rollcast_bench_gemm", o.run.gpu,
                                        "cublasLt " + std::to_string(cublasLtGetVersion()))),
        timer_(device_, o.run, writer_),
        handle_(new_handle()),
        workspace_(kWorkspace),
        one_(sizeof(float)) {
    float const one = 1;
    ROLLCAST_CHECK(cudaMemcpy(one_.data(), &one, sizeof one, cudaMemcpyHostToDevice));
  }

  // Writes a row, or a remark that says why there is none.
  void run(GemmShape const& s, std::string const& dtype) {
    bool const fp8 = dtype == "fp8";
    std::string const why = obstacle(s, fp8, device_);
    if (!why.empty()) return leave_out(why, s, dtype);
    Product const product(handle_, s, fp8, one_.floats());
    if (!product.supported()) return leave_out("cuBLASLt has no kernel", s, dtype);
    std::int64_t const element = fp8 ? 1 : kBf16;
    auto const bytes_of = [](std::int64_t n) { return static_cast<std::size_t>(n); };
    Arena const arena(
        {bytes_of(s.n * s.k * element), bytes_of(s.m * s.k * element), bytes_of(s.m * s.n * kBf16)}, device_);
    if (arena.sets() == 0) return leave_out("does not fit into memory", s, dtype);
    for (int i = 0; i < arena.sets(); ++i) {
      auto const seed = 2 * static_cast<std::uint64_t>(i);
      fill(arena.at(i, 0), s.n * s.k, fp8, seed, timer_.stream());
      fill(arena.at(i, 1), s.m * s.k, fp8, seed + 1, timer_.stream());
    }
    timer_.synchronize();
    std::string const variant = s.pass == GemmPass::forward ? "" : std::string(name_of(s.pass));
    timer_.measure({"gemm", variant, dtype, {double(s.m), double(s.n), double(s.k)}, {}}, arena.sets(),
                   Enqueue::graph, [&](cudaStream_t stream, int i) {
                     product.enqueue(arena.at(i, 0), arena.at(i, 1), arena.at(i, 2), workspace_.data(),
                                     stream);
                   });
  }

 private:
  void leave_out(std::string const& why, GemmShape const& s, std::string const& dtype) {
    writer_.remark("left out, " + why + ": " + text_of(s, dtype));
  }

  Device device_;
  SampleWriter writer_;
  Timer timer_;
  Handle handle_;
  DeviceBuffer workspace_;
  DeviceBuffer one_;
};

void bench(GemmOptions const& o) {
  Bench b(o);
  for (std::string const& dtype : o.dtypes) {
    for (GemmShape const& s : o.shapes) b.run(s, dtype);
  }
}

}  // namespace
}  // namespace rollcast

int main(int argc, char** argv) {
  return rollcast::run_program(argc, argv, rollcast::gemm_options, rollcast::bench);
}
