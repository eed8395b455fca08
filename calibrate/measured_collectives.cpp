#include "calibrate/measured_collectives.hpp"

#include <stdexcept>

namespace rollcast {
namespace {

// clang-format off
constexpr char const* kText = R"calibration(nccl a100-sxm-40gb roce-200g all_reduce 16 2 200 3:0.370 13:0.619 18:0.337 21:0.366 23:0.297 25:0.194 27:0.164 29:0.261 31:-0.066 33:-0.140 # nccl_tests/tables.csv T17; nccl
nccl a100-sxm-80gb node all_reduce 2 1 240 9:0.246 11:0.245 13:0.329 15:0.447 17:0.370 19:0.341 21:0.687 23:0.552 25:0.369 27:0.263 29:0.211 # aiconfigurator/a100_sxm/comm/nccl/2.27.3/nccl_perf.csv; nccl 2.27.3
nccl a100-sxm-80gb node all_reduce 4 1 240 9:0.328 11:0.325 13:0.350 15:0.479 17:0.358 19:0.179 21:0.153 23:0.312 25:0.189 27:0.142 29:0.094 # aiconfigurator/a100_sxm/comm/nccl/2.27.3/nccl_perf.csv; nccl 2.27.3
nccl a100-sxm-80gb node all_reduce 8 1 240 9:0.361 11:0.359 13:0.351 15:0.506 17:0.442 19:0.167 21:-0.041 23:0.178 25:0.199 27:0.122 29:0.062 # aiconfigurator/a100_sxm/comm/nccl/2.27.3/nccl_perf.csv; nccl 2.27.3
nccl a100-sxm-80gb node all_gather 2 1 240 9:0.221 11:0.228 13:0.368 15:0.483 17:0.442 19:0.427 21:0.857 23:0.713 25:0.632 27:0.533 29:0.460 # aiconfigurator/a100_sxm/comm/nccl/2.27.3/nccl_perf.csv; nccl 2.27.3
nccl a100-sxm-80gb node all_gather 4 1 240 9:0.247 11:0.270 13:0.335 15:0.552 17:0.489 19:0.368 21:0.744 23:0.491 25:0.357 27:0.278 29:0.214 # aiconfigurator/a100_sxm/comm/nccl/2.27.3/nccl_perf.csv; nccl 2.27.3
nccl a100-sxm-80gb node all_gather 8 1 240 9:0.315 11:0.313 13:0.308 15:0.562 17:0.546 19:0.313 21:0.053 23:0.194 25:0.342 27:0.236 29:0.140 # aiconfigurator/a100_sxm/comm/nccl/2.27.3/nccl_perf.csv; nccl 2.27.3
nccl a100-sxm-80gb node reduce_scatter 2 1 240 9:0.212 11:0.225 13:0.310 15:0.446 17:0.410 19:0.402 21:0.769 23:0.595 25:0.500 27:0.398 29:0.355 # aiconfigurator/a100_sxm/comm/nccl/2.27.3/nccl_perf.csv; nccl 2.27.3
nccl a100-sxm-80gb node reduce_scatter 4 1 240 9:0.243 11:0.242 13:0.306 15:0.456 17:0.424 19:0.271 21:0.660 23:0.400 25:0.295 27:0.207 29:0.156 # aiconfigurator/a100_sxm/comm/nccl/2.27.3/nccl_perf.csv; nccl 2.27.3
nccl a100-sxm-80gb node reduce_scatter 8 1 240 9:0.329 11:0.328 13:0.322 15:0.414 17:0.405 19:0.174 21:0.075 23:0.272 25:0.307 27:0.179 29:0.104 # aiconfigurator/a100_sxm/comm/nccl/2.27.3/nccl_perf.csv; nccl 2.27.3
nccl a100-sxm-80gb node all_to_all 2 1 240 9:0.379 11:0.408 13:0.475 15:0.646 17:0.659 19:0.732 21:0.906 23:0.820 25:0.571 27:0.441 29:0.373 # aiconfigurator/a100_sxm/comm/nccl/2.27.3/nccl_perf.csv; nccl 2.27.3
nccl a100-sxm-80gb node all_to_all 4 1 240 9:0.546 11:0.546 13:0.559 15:0.659 17:0.676 19:0.744 21:0.966 23:0.599 25:0.434 27:0.296 29:0.204 # aiconfigurator/a100_sxm/comm/nccl/2.27.3/nccl_perf.csv; nccl 2.27.3
nccl a100-sxm-80gb node all_to_all 8 1 240 9:0.574 11:0.574 13:0.607 15:0.595 17:0.769 19:0.734 21:0.955 23:0.585 25:0.390 27:0.255 29:0.164 # aiconfigurator/a100_sxm/comm/nccl/2.27.3/nccl_perf.csv; nccl 2.27.3
nccl a100-sxm-80gb node send_recv 2 1 240 11:0.104 14.1699:0.580 15.0875:0.645 15.6439:0.705 16.0444:0.760 16.3576:0.747 17.0224:0.785 17.4757:0.755 18.0112:0.717 18.4676:0.665 19.0056:0.594 19.4959:0.500 19.9099:0.433 20.5236:0.395 21:0.268 21.5236:0.152 22.0224:0.045 22.5236:-0.046 23.0224:-0.095 23.5236:-0.112 23.9189:-0.136 24.5236:-0.150 25.0224:-0.054 25.5236:0.038 25.8826:0.029 # vidur/network/a100_dgx/send_recv.csv; vidur
nccl a100-sxm-80gb ib-200g all_gather 16 2 200 24:0.636 26:0.492 28:0.108 30:0.070 32:0.048 34:0.040 # simai/ratio/nic_ratio.csv, shares of an assumed 8 x 200 Gb/s
nccl a100-sxm-80gb ib-200g reduce_scatter 16 2 200 24:0.636 26:0.492 28:0.108 30:0.070 32:0.048 34:0.040 # simai/ratio/nic_ratio.csv, shares of an assumed 8 x 200 Gb/s
nccl h100-sxm node all_reduce 2 1 360 9:-0.238 11:-0.238 13:-0.171 15:-0.092 17:-0.131 19:-0.084 21:0.271 23:0.187 25:0.272 27:0.182 29:0.105 # aiconfigurator/h100_sxm/comm/nccl/2.27.3/nccl_perf.csv; nccl 2.29.2
nccl h100-sxm node all_reduce 4 1 360 9:-0.077 11:-0.042 13:-0.021 15:0.047 17:-0.006 19:-0.077 21:-0.117 23:0.282 25:0.427 27:0.492 29:0.478 # aiconfigurator/h100_sxm/comm/nccl/2.27.3/nccl_perf.csv; nccl 2.29.2
nccl h100-sxm node all_reduce 8 1 360 9:0.030 11:0.047 13:0.079 15:0.179 17:0.134 19:-0.097 21:0.205 23:0.447 25:0.438 27:0.286 29:0.239 # aiconfigurator/h100_sxm/comm/nccl/2.27.3/nccl_perf.csv; nccl 2.29.2
nccl h100-sxm node all_gather 2 1 360 9:-0.318 11:-0.319 13:-0.154 15:-0.150 17:-0.185 19:-0.083 21:0.114 23:0.434 25:0.465 27:0.388 29:0.315 # aiconfigurator/h100_sxm/comm/nccl/2.27.3/nccl_perf.csv; nccl 2.29.2
nccl h100-sxm node all_gather 4 1 360 9:-0.163 11:-0.127 13:-0.100 15:0.004 17:-0.009 19:-0.040 21:-0.029 23:0.227 25:0.207 27:0.165 29:0.109 # aiconfigurator/h100_sxm/comm/nccl/2.27.3/nccl_perf.csv; nccl 2.29.2
nccl h100-sxm node all_gather 8 1 360 9:-0.043 11:-0.023 13:-0.003 15:0.166 17:0.136 19:-0.030 21:-0.080 23:-0.120 25:0.072 27:0.081 29:0.045 # aiconfigurator/h100_sxm/comm/nccl/2.27.3/nccl_perf.csv; nccl 2.29.2
nccl h100-sxm node reduce_scatter 2 1 360 9:-0.331 11:-0.304 13:-0.193 15:-0.185 17:-0.191 19:-0.083 21:0.062 23:0.313 25:0.494 27:0.453 29:0.350 # aiconfigurator/h100_sxm/comm/nccl/2.27.3/nccl_perf.csv; nccl 2.29.2
nccl h100-sxm node reduce_scatter 4 1 360 9:-0.149 11:-0.135 13:-0.113 15:-0.069 17:-0.082 19:-0.127 21:-0.135 23:0.062 25:0.168 27:0.175 29:0.133 # aiconfigurator/h100_sxm/comm/nccl/2.27.3/nccl_perf.csv; nccl 2.29.2
nccl h100-sxm node reduce_scatter 8 1 360 9:-0.055 11:-0.032 13:-0.010 15:0.047 17:0.029 19:-0.125 21:-0.284 23:-0.124 25:-0.018 27:0.062 29:0.045 # aiconfigurator/h100_sxm/comm/nccl/2.27.3/nccl_perf.csv; nccl 2.29.2
nccl h100-sxm node all_to_all 2 1 360 9:-0.158 11:-0.104 13:-0.003 15:0.219 17:0.619 19:0.603 21:0.449 23:0.543 25:0.410 27:0.327 29:0.247 # aiconfigurator/h100_sxm/comm/nccl/2.27.3/nccl_perf.csv; nccl 2.29.2
nccl h100-sxm node all_to_all 4 1 360 9:-0.071 11:-0.062 13:-0.023 15:0.125 17:0.516 19:0.566 21:0.387 23:0.405 25:0.345 27:0.151 29:0.074 # aiconfigurator/h100_sxm/comm/nccl/2.27.3/nccl_perf.csv; nccl 2.29.2
nccl h100-sxm node all_to_all 8 1 360 9:-0.009 11:-0.009 13:-0.001 15:0.083 17:0.265 19:0.568 21:0.424 23:0.403 25:0.340 27:0.192 29:0.121 # aiconfigurator/h100_sxm/comm/nccl/2.27.3/nccl_perf.csv; nccl 2.29.2
nccl h100-sxm node send_recv 2 1 360 11:-0.365 14.1699:-0.035 15.0875:0.092 15.6439:0.086 16.0444:0.080 16.3576:0.070 17.0224:0.055 17.4757:0.034 18.0112:0.032 18.4676:0.090 19.0056:0.038 19.4959:-0.023 19.9099:0.019 20.5236:0.051 21:0.052 21.5236:0.082 22.0224:0.073 22.5236:0.056 23.0224:0.039 23.5236:0.007 23.9189:-0.005 24.5236:-0.009 25.0224:-0.002 25.5236:0.005 25.8826:0.001 # vidur/network/h100_dgx/send_recv.csv; vidur
nccl h100-sxm ib-400g all_reduce 16 2 400 3:-0.010 13:0.228 17:0.223 19:0.452 21:0.207 23:0.342 25:0.418 27:0.392 29:0.258 31:0.209 33:0.200 # nccl_tests/tables.csv T06b; nccl 2.26.2
nccl h100-sxm ib-400g send_recv 2 2 50 11:0.497 14.1699:0.523 15.0875:0.547 15.6439:0.518 16.0444:0.540 16.3576:0.548 17.0224:0.585 17.4757:0.658 18.0112:0.586 18.4676:0.497 19.0056:0.408 19.4959:0.489 19.9099:0.544 20.5236:0.585 21:0.412 21.5236:0.316 22.0224:0.317 22.5236:0.323 23.0224:0.321 23.5236:0.322 23.9189:0.325 24.5236:0.330 25.0224:0.331 25.5236:0.340 25.8826:0.379 # vidur/network/h100_dgx/send_recv.csv, fabric not stated, taken as 8 x 400 Gb/s; vidur
nccl h100-sxm tcpxo all_reduce 16 2 200 3:1.653 13:1.639 18:1.512 21:1.410 23:1.719 25:1.554 27:0.865 29:0.390 31:0.222 33:0.164 # nccl_tests/tables.csv T01; nccl
nccl h100-sxm tcpxo all_gather 16 2 200 23:0.646 25:0.276 27:0.145 29:0.112 31:0.069 33:0.057 # nccl_tests/tables.csv T21; nccl
exchange h100-sxm normal dispatch node 35.1 0.649 # aiconfigurator/h100_sxm/comm/sglang/0.5.6.post2/wideep_deepep_normal_perf.csv
exchange h100-sxm normal dispatch network 60.6 0.727 # aiconfigurator/h100_sxm/comm/sglang/0.5.6.post2/wideep_deepep_normal_perf.csv
exchange h100-sxm normal combine node 51.8 0.662 # aiconfigurator/h100_sxm/comm/sglang/0.5.6.post2/wideep_deepep_normal_perf.csv
exchange h100-sxm normal combine network 92.2 0.575 # aiconfigurator/h100_sxm/comm/sglang/0.5.6.post2/wideep_deepep_normal_perf.csv
exchange h100-sxm low_latency dispatch node 14.7 0.551 # aiconfigurator/h100_sxm/comm/sglang/0.5.6.post2/wideep_deepep_ll_perf.csv
exchange h100-sxm low_latency dispatch network 19.9 0.957 # aiconfigurator/h100_sxm/comm/sglang/0.5.6.post2/wideep_deepep_ll_perf.csv
exchange h100-sxm low_latency combine node 11.3 0.462 # aiconfigurator/h100_sxm/comm/sglang/0.5.6.post2/wideep_deepep_ll_perf.csv
exchange h100-sxm low_latency combine network 24.1 0.955 # aiconfigurator/h100_sxm/comm/sglang/0.5.6.post2/wideep_deepep_ll_perf.csv
custom a100-sxm-80gb sglang_eager 2 300 8:41.05 10:41.05 12:41.30 14:41.34 16:41.70 18:41.70 20:41.70 22:41.70 24:144.61 26:462.56 28:1732.69 30:6632.74 # aiconfigurator/a100_sxm/comm/sglang/0.5.10/custom_allreduce_perf.csv; sglang 0.5.10
custom a100-sxm-80gb sglang_eager 4 300 8:40.77 10:40.77 12:40.95 14:40.96 16:40.96 18:41.34 20:41.36 22:53.08 24:201.81 26:634.25 28:2242.11 30:8538.23 # aiconfigurator/a100_sxm/comm/sglang/0.5.10/custom_allreduce_perf.csv; sglang 0.5.10
custom a100-sxm-80gb sglang_eager 8 300 8:41.22 10:41.22 12:41.85 14:41.85 16:41.85 18:41.85 20:41.85 22:57.57 24:234.18 26:666.98 28:2514.75 30:9505.85 # aiconfigurator/a100_sxm/comm/sglang/0.5.10/custom_allreduce_perf.csv; sglang 0.5.10
custom a100-sxm-80gb sglang_graph 2 300 8:4.99 10:4.99 12:5.12 14:5.37 16:5.76 18:6.63 20:11.11 22:25.73 24:126.95 26:390.00 28:1429.98 30:5408.99 # aiconfigurator/a100_sxm/comm/sglang/0.5.10/custom_allreduce_perf.csv; sglang 0.5.10
custom a100-sxm-80gb sglang_graph 4 300 8:5.13 10:5.13 12:5.24 14:6.01 16:6.62 18:9.94 20:18.41 22:41.79 24:183.61 26:541.59 28:1925.75 30:7317.67 # aiconfigurator/a100_sxm/comm/sglang/0.5.10/custom_allreduce_perf.csv; sglang 0.5.10
custom a100-sxm-80gb sglang_graph 8 300 8:5.68 10:5.68 12:5.86 14:6.71 16:8.45 18:17.24 20:21.50 22:44.76 24:215.66 26:595.35 28:2166.84 30:8261.38 # aiconfigurator/a100_sxm/comm/sglang/0.5.10/custom_allreduce_perf.csv; sglang 0.5.10
custom a100-sxm-80gb vllm_eager 2 300 8:43.79 10:43.79 12:43.79 14:43.79 16:43.96 18:44.01 20:44.01 22:44.36 24:148.93 26:463.96 28:1729.12 30:6553.95 # aiconfigurator/a100_sxm/comm/vllm/0.14.0/custom_allreduce_perf.csv; vllm 0.14.0
custom a100-sxm-80gb vllm_eager 4 300 8:45.96 10:45.96 12:45.96 14:45.96 16:45.96 18:45.96 20:45.96 22:53.67 24:202.92 26:638.65 28:2236.88 30:8485.45 # aiconfigurator/a100_sxm/comm/vllm/0.14.0/custom_allreduce_perf.csv; vllm 0.14.0
custom a100-sxm-80gb vllm_eager 8 300 8:44.40 10:44.40 12:44.65 14:44.65 16:44.65 18:44.65 20:44.65 22:58.24 24:238.90 26:687.24 28:2512.78 30:9481.50 # aiconfigurator/a100_sxm/comm/vllm/0.14.0/custom_allreduce_perf.csv; vllm 0.14.0
custom a100-sxm-80gb vllm_graph 2 300 8:4.87 10:4.89 12:5.02 14:5.34 16:5.50 18:6.57 20:10.70 22:25.24 24:126.28 26:388.47 28:1427.57 30:5394.32 # aiconfigurator/a100_sxm/comm/vllm/0.14.0/custom_allreduce_perf.csv; vllm 0.14.0
custom a100-sxm-80gb vllm_graph 4 300 8:5.15 10:5.22 12:5.33 14:6.00 16:6.57 18:9.91 20:18.34 22:41.48 24:182.50 26:540.03 28:1920.71 30:7295.39 # aiconfigurator/a100_sxm/comm/vllm/0.14.0/custom_allreduce_perf.csv; vllm 0.14.0
custom a100-sxm-80gb vllm_graph 8 300 8:5.66 10:5.78 12:6.54 14:6.54 16:8.43 18:17.13 20:21.71 22:45.37 24:214.19 26:594.19 28:2170.24 30:8250.86 # aiconfigurator/a100_sxm/comm/vllm/0.14.0/custom_allreduce_perf.csv; vllm 0.14.0
custom h100-sxm vllm_eager 2 450 8:20.58 10:20.58 12:20.58 14:20.58 16:20.58 18:20.58 20:20.58 22:27.46 24:96.67 26:359.84 28:1062.18 30:3956.85 # aiconfigurator/h100_sxm/comm/vllm/0.24.0/custom_allreduce_perf.csv; vllm 0.24.0
custom h100-sxm vllm_eager 4 450 8:22.07 10:22.07 12:22.07 14:22.07 16:22.07 18:22.07 20:22.07 22:38.01 24:113.47 26:375.90 28:1362.26 30:5244.60 # aiconfigurator/h100_sxm/comm/vllm/0.24.0/custom_allreduce_perf.csv; vllm 0.24.0
custom h100-sxm vllm_eager 8 450 8:22.32 10:22.32 12:22.99 14:22.99 16:22.99 18:40.48 20:40.48 22:40.48 24:107.29 26:397.49 28:1272.07 30:4718.95 # aiconfigurator/h100_sxm/comm/vllm/0.24.0/custom_allreduce_perf.csv; vllm 0.24.0
custom h100-sxm vllm_graph 2 450 8:4.18 10:4.18 12:4.30 14:4.49 16:4.52 18:5.18 20:8.34 22:20.24 24:81.42 26:306.72 28:885.42 30:3219.22 # aiconfigurator/h100_sxm/comm/vllm/0.24.0/custom_allreduce_perf.csv; vllm 0.24.0
custom h100-sxm vllm_graph 4 450 8:4.55 10:4.55 12:4.70 14:4.83 16:5.23 18:7.18 20:12.76 22:30.25 24:98.77 26:329.94 28:1180.38 30:4535.01 # aiconfigurator/h100_sxm/comm/vllm/0.24.0/custom_allreduce_perf.csv; vllm 0.24.0
custom h100-sxm vllm_graph 8 450 8:4.61 10:4.61 12:5.31 14:5.31 16:6.41 18:10.79 20:14.97 22:30.81 24:92.38 26:343.96 28:1091.02 30:4009.24 # aiconfigurator/h100_sxm/comm/vllm/0.24.0/custom_allreduce_perf.csv; vllm 0.24.0
)calibration";
// clang-format on

}  // namespace

std::string_view measured_collectives_text() { return kText; }

CollectiveCalibration const& measured_collectives() {
  static CollectiveCalibration const calibration = [] {
    auto read = collective_calibration_from_text(kText);
    if (!read.value) throw std::logic_error("the built-in collectives: " + read.error);
    return std::move(*read.value);
  }();
  return calibration;
}

}  // namespace rollcast
