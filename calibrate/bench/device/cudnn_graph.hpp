// A cuDNN operation graph through the backend API: tensors, operations, and the plan that executes them.
// Every failure is a std::runtime_error with cuDNN's own reason.
#pragma once

#include <cudnn.h>

#include <cstdint>
#include <deque>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace rollcast {

void check(cudnnStatus_t status, char const* call);

// cuDNN has no kernel for a graph on a GPU.
struct NoPlan : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Owns a backend descriptor.
class CudnnDescriptor {
 public:
  explicit CudnnDescriptor(cudnnBackendDescriptorType_t type);
  ~CudnnDescriptor();
  CudnnDescriptor(CudnnDescriptor&& o) noexcept : descriptor_(std::exchange(o.descriptor_, nullptr)) {}
  CudnnDescriptor& operator=(CudnnDescriptor&& o) noexcept {
    std::swap(descriptor_, o.descriptor_);
    return *this;
  }

  cudnnBackendDescriptor_t get() const { return descriptor_; }
  void finalize();

  template <class T>
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::vector<T> const& values) {
    set_raw(name, type, static_cast<std::int64_t>(values.size()), values.data());
  }
  template <class T>
  void set_one(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, T const& value) {
    set_raw(name, type, 1, &value);
  }
  void set_descriptor(cudnnBackendAttributeName_t name, CudnnDescriptor const& value) {
    cudnnBackendDescriptor_t const raw = value.get();
    set_raw(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw);
  }

 private:
  void set_raw(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
               void const* values);

  cudnnBackendDescriptor_t descriptor_ = nullptr;
};

// What cuDNN must know of a GPU to choose and compile kernels: read from the device, or from cuDNN's own JSON
// form, which needs no GPU.
CudnnDescriptor cudnn_device(int index);
CudnnDescriptor cudnn_device(std::string const& json);

// Dimensions and strides, in elements, of up to four dimensions.
struct TensorShape {
  std::vector<std::int64_t> dims;
  std::vector<std::int64_t> strides;
};

// Plan of a graph for one GPU.
struct CudnnPlan {
  CudnnDescriptor plan;
  std::int64_t workspace = 0;                                   // bytes
  std::vector<std::pair<std::int64_t, void const*>> constants;  // uid, host pointer; owned by the graph
};

// Pointers of one execution of a plan: device pointers by uid.
CudnnDescriptor variant_pack(CudnnPlan const& plan, std::map<std::int64_t, void*> const& pointers,
                             void* workspace);

// Tensors are named by uid. Those of the caller keep the caller's uid; the graph numbers its own from 1000.
class CudnnGraph {
 public:
  void tensor(std::int64_t uid, TensorShape const& shape, cudnnDataType_t type);
  std::int64_t intermediate(TensorShape const& shape, cudnnDataType_t type);  // never in memory
  std::int64_t constant(float value);
  std::int64_t constant(std::int32_t value);

  // y = mode(x, b) or, for a selection, t ? x : b. b and t: 0 for none. axis: of an index; -1 for none.
  struct Pointwise {
    cudnnPointwiseMode_t mode;
    std::int64_t x = 0;
    std::int64_t b = 0;
    std::int64_t t = 0;
    std::int64_t y = 0;
    cudnnDataType_t compute = CUDNN_DATA_FLOAT;
    std::int64_t axis = -1;
  };
  void pointwise(Pointwise const& p);
  // Rows, columns and depth may be shorter than the tensor, per batch entry: uids of [batch, 1, 1, 1]; 0: no.
  struct Matmul {
    std::int64_t a = 0;
    std::int64_t b = 0;
    std::int64_t c = 0;
    std::int64_t m_override = 0;
    std::int64_t n_override = 0;
    std::int64_t k_override = 0;
  };
  void matmul(Matmul const& m);
  void reduce(cudnnReduceTensorOp_t mode, std::int64_t x, std::int64_t y);
  void reshape(std::int64_t x, std::int64_t y);
  void load_pages(std::int64_t container, std::int64_t page_table, std::int64_t lengths, std::int64_t y);

  bool has(std::int64_t uid) const { return tensors_.contains(uid); }
  TensorShape const& shape(std::int64_t uid) const { return tensors_.at(uid).shape; }

  // Configurations that cuDNN's heuristics name for the GPU and that its engines accept; builds none.
  std::size_t candidates(CudnnDescriptor const& device) const;

  // The first configuration of cuDNN's heuristics that builds (it is compiled here); NoPlan when none does.
  // The plan refers to constants of the graph, which must outlive it.
  CudnnPlan plan(CudnnDescriptor const& device) const;

 private:
  CudnnDescriptor operation_graph() const;

  struct Tensor {
    TensorShape shape;
    CudnnDescriptor descriptor;
  };
  void add(std::int64_t uid, TensorShape const& shape, cudnnDataType_t type, bool is_virtual, bool by_value);
  CudnnDescriptor const& descriptor(std::int64_t uid) const { return tensors_.at(uid).descriptor; }

  std::map<std::int64_t, Tensor> tensors_;
  std::vector<CudnnDescriptor> operations_;
  std::vector<CudnnDescriptor> parts_;  // what operations refer to
  std::deque<float> floats_;
  std::deque<std::int32_t> integers_;
  std::vector<std::pair<std::int64_t, void const*>> constants_;
  std::int64_t next_ = 1000;
};

}  // namespace rollcast
