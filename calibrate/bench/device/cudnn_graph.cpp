#include "calibrate/bench/device/cudnn_graph.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "calibrate/bench/device/check.hpp"

namespace rollcast {
namespace {

constexpr std::int64_t kAlignment = 16;  // bytes, of every tensor
constexpr std::int64_t kConfigurations = 16;

std::string last_reason() {
  std::array<char, 1024> text{};
  cudnnGetLastErrorString(text.data(), text.size());
  return text.data();
}

std::vector<CudnnDescriptor> configurations(CudnnDescriptor const& graph, CudnnDescriptor const& device,
                                            cudnnBackendHeurMode_t mode) {
  CudnnDescriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set_descriptor(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristics.set_one(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
  heuristics.set_descriptor(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, device);
  heuristics.finalize();

  std::vector<CudnnDescriptor> list;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (std::int64_t i = 0; i < kConfigurations; ++i) {
    raw.push_back(list.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).get());
  }
  std::int64_t found = 0;
  ROLLCAST_CHECK(cudnnBackendGetAttribute(heuristics.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                          CUDNN_TYPE_BACKEND_DESCRIPTOR, kConfigurations, &found,
                                          raw.data()));
  list.erase(list.begin() + std::min(found, kConfigurations), list.end());
  return list;
}

}  // namespace

void check(cudnnStatus_t status, char const* call) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  std::string const reason = last_reason();
  throw std::runtime_error(std::string(call) + ": " + cudnnGetErrorString(status) +
                           (reason.empty() ? "" : ", " + reason));
}

CudnnDescriptor::CudnnDescriptor(cudnnBackendDescriptorType_t type) {
  ROLLCAST_CHECK(cudnnBackendCreateDescriptor(type, &descriptor_));
}
CudnnDescriptor::~CudnnDescriptor() {
  if (descriptor_ != nullptr) cudnnBackendDestroyDescriptor(descriptor_);
}

void CudnnDescriptor::finalize() { ROLLCAST_CHECK(cudnnBackendFinalize(descriptor_)); }

void CudnnDescriptor::set_raw(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                              std::int64_t count, void const* values) {
  ROLLCAST_CHECK(cudnnBackendSetAttribute(descriptor_, name, type, count, values));
}

CudnnDescriptor cudnn_device(int index) {
  CudnnDescriptor d(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  d.set_one(CUDNN_ATTR_DEVICEPROP_DEVICE_ID, CUDNN_TYPE_INT32, static_cast<std::int32_t>(index));
  d.finalize();
  return d;
}

CudnnDescriptor cudnn_device(std::string const& json) {
  CudnnDescriptor d(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  d.set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
        std::vector<char>(json.begin(), json.end()));
  d.finalize();
  return d;
}

CudnnDescriptor variant_pack(CudnnPlan const& plan, std::map<std::int64_t, void*> const& pointers,
                             void* workspace) {
  std::vector<std::int64_t> uids;
  std::vector<void*> data;
  for (auto const& [uid, pointer] : pointers) {
    uids.push_back(uid);
    data.push_back(pointer);
  }
  for (auto const& [uid, pointer] : plan.constants) {
    uids.push_back(uid);
    data.push_back(const_cast<void*>(pointer));  // the interface takes inputs and outputs alike
  }
  CudnnDescriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, uids);
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, data);
  pack.set_one(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
  pack.finalize();
  return pack;
}

void CudnnGraph::add(std::int64_t uid, TensorShape const& shape, cudnnDataType_t type, bool is_virtual,
                     bool by_value) {
  CudnnDescriptor d(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  d.set_one(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, uid);
  d.set_one(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type);
  d.set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, shape.dims);
  d.set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, shape.strides);
  d.set_one(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, kAlignment);
  d.set_one(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, is_virtual);
  d.set_one(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, by_value);
  d.finalize();
  if (!tensors_.emplace(uid, Tensor{shape, std::move(d)}).second) {
    throw std::logic_error("two tensors with uid " + std::to_string(uid));
  }
}

void CudnnGraph::tensor(std::int64_t uid, TensorShape const& shape, cudnnDataType_t type) {
  add(uid, shape, type, false, false);
}

std::int64_t CudnnGraph::intermediate(TensorShape const& shape, cudnnDataType_t type) {
  add(next_, shape, type, true, false);
  return next_++;
}

std::int64_t CudnnGraph::constant(float value) {
  add(next_, {{1, 1, 1, 1}, {1, 1, 1, 1}}, CUDNN_DATA_FLOAT, false, true);
  constants_.emplace_back(next_, &floats_.emplace_back(value));
  return next_++;
}

std::int64_t CudnnGraph::constant(std::int32_t value) {
  add(next_, {{1, 1, 1, 1}, {1, 1, 1, 1}}, CUDNN_DATA_INT32, false, true);
  constants_.emplace_back(next_, &integers_.emplace_back(value));
  return next_++;
}

void CudnnGraph::pointwise(Pointwise const& p) {
  CudnnDescriptor& what = parts_.emplace_back(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  what.set_one(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, p.mode);
  what.set_one(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, p.compute);
  if (p.axis >= 0) what.set_one(CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, p.axis);
  what.finalize();
  CudnnDescriptor& op = operations_.emplace_back(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  op.set_descriptor(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, what);
  op.set_descriptor(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, descriptor(p.x));
  if (p.b != 0) op.set_descriptor(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, descriptor(p.b));
  if (p.t != 0) op.set_descriptor(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, descriptor(p.t));
  op.set_descriptor(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, descriptor(p.y));
  op.finalize();
}

void CudnnGraph::matmul(Matmul const& m) {
  CudnnDescriptor& what = parts_.emplace_back(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  what.set_one(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  what.finalize();
  CudnnDescriptor& op = operations_.emplace_back(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  op.set_descriptor(CUDNN_ATTR_OPERATION_MATMUL_DESC, what);
  op.set_descriptor(CUDNN_ATTR_OPERATION_MATMUL_ADESC, descriptor(m.a));
  op.set_descriptor(CUDNN_ATTR_OPERATION_MATMUL_BDESC, descriptor(m.b));
  op.set_descriptor(CUDNN_ATTR_OPERATION_MATMUL_CDESC, descriptor(m.c));
  if (m.m_override != 0) {
    op.set_descriptor(CUDNN_ATTR_OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC, descriptor(m.m_override));
  }
  if (m.n_override != 0) {
    op.set_descriptor(CUDNN_ATTR_OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC, descriptor(m.n_override));
  }
  if (m.k_override != 0) {
    op.set_descriptor(CUDNN_ATTR_OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC, descriptor(m.k_override));
  }
  op.finalize();
}

void CudnnGraph::reduce(cudnnReduceTensorOp_t mode, std::int64_t x, std::int64_t y) {
  CudnnDescriptor& what = parts_.emplace_back(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  what.set_one(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, mode);
  what.set_one(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  what.finalize();
  CudnnDescriptor& op = operations_.emplace_back(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  op.set_descriptor(CUDNN_ATTR_OPERATION_REDUCTION_DESC, what);
  op.set_descriptor(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, descriptor(x));
  op.set_descriptor(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, descriptor(y));
  op.finalize();
}

void CudnnGraph::reshape(std::int64_t x, std::int64_t y) {
  CudnnDescriptor& op = operations_.emplace_back(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
  op.set_descriptor(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, descriptor(x));
  op.set_descriptor(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, descriptor(y));
  op.finalize();
}

void CudnnGraph::load_pages(std::int64_t container, std::int64_t page_table, std::int64_t lengths,
                            std::int64_t y) {
  CudnnDescriptor& op = operations_.emplace_back(CUDNN_BACKEND_OPERATION_PAGED_CACHE_LOAD_DESCRIPTOR);
  op.set_descriptor(CUDNN_ATTR_OPERATION_PAGED_CACHE_LOAD_CONTAINER_DESC, descriptor(container));
  op.set_descriptor(CUDNN_ATTR_OPERATION_PAGED_CACHE_LOAD_PAGE_TABLE_DESC, descriptor(page_table));
  op.set_descriptor(CUDNN_ATTR_OPERATION_PAGED_CACHE_LOAD_SEQUENCE_DESC, descriptor(lengths));
  op.set_descriptor(CUDNN_ATTR_OPERATION_PAGED_CACHE_LOAD_YDESC, descriptor(y));
  op.finalize();
}

CudnnDescriptor CudnnGraph::operation_graph() const {
  std::vector<cudnnBackendDescriptor_t> raw;
  for (CudnnDescriptor const& op : operations_) raw.push_back(op.get());
  CudnnDescriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, raw);
  graph.finalize();
  return graph;
}

std::size_t CudnnGraph::candidates(CudnnDescriptor const& device) const {
  return configurations(operation_graph(), device, CUDNN_HEUR_MODE_A).size();
}

CudnnPlan CudnnGraph::plan(CudnnDescriptor const& device) const {
  CudnnDescriptor const graph = operation_graph();
  std::string reason = "its heuristics name no kernel";
  for (cudnnBackendHeurMode_t const mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    for (CudnnDescriptor const& configuration : configurations(graph, device, mode)) {
      CudnnDescriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
      plan.set_descriptor(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
      plan.set_descriptor(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, device);
      if (cudnnBackendFinalize(plan.get()) != CUDNN_STATUS_SUCCESS) {
        reason = last_reason();
        continue;
      }
      std::int64_t workspace = 0;
      std::int64_t count = 0;
      ROLLCAST_CHECK(cudnnBackendGetAttribute(plan.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                              CUDNN_TYPE_INT64, 1, &count, &workspace));
      return {std::move(plan), workspace, constants_};
    }
  }
  throw NoPlan("cuDNN has no plan: " + reason);
}

}  // namespace rollcast
