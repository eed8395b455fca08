#include "calibrate/measured_collectives.hpp"

#include <stdexcept>

namespace rollcast {
namespace {

// clang-format off
constexpr char const* kText = R"calibration(nccl a100-sxm-80gb node all_reduce 2 1 240 9.00:0.246 11.00:0.245 13.00:0.329 15.00:0.447 17.00:0.370 19.00:0.341 21.00:0.687 23.00:0.552 25.00:0.369 27.00:0.263 29.00:0.211 # aiconfigurator/a100_sxm/comm/nccl/2.27.3/nccl_perf.csv; NCCL 2.27.3
nccl a100-sxm-80gb node all_reduce 4 1 240 9.00:0.328 11.00:0.325 13.00:0.350 15.00:0.479 17.00:0.358 19.00:0.179 21.00:0.153 23.00:0.312 25.00:0.189 27.00:0.142 29.00:0.094 # aiconfigurator/a100_sxm/comm/nccl/2.27.3/nccl_perf.csv; NCCL 2.27.3
nccl a100-sxm-80gb node all_reduce 8 1 240 9.00:0.361 11.00:0.359 13.00:0.351 15.00:0.506 17.00:0.442 19.00:0.167 21.00:-0.041 23.00:0.178 25.00:0.199 27.00:0.122 29.00:0.062 # aiconfigurator/a100_sxm/comm/nccl/2.27.3/nccl_perf.csv; NCCL 2.27.3
nccl a100-sxm-80gb node all_gather 2 1 240 9.00:0.221 11.00:0.228 13.00:0.368 15.00:0.483 17.00:0.442 19.00:0.427 21.00:0.857 23.00:0.713 25.00:0.632 27.00:0.533 29.00:0.460 # aiconfigurator/a100_sxm/comm/nccl/2.27.3/nccl_perf.csv; NCCL 2.27.3
nccl a100-sxm-80gb node all_gather 4 1 240 9.00:0.247 11.00:0.270 13.00:0.335 15.00:0.552 17.00:0.489 19.00:0.368 21.00:0.744 23.00:0.491 25.00:0.357 27.00:0.278 29.00:0.214 # aiconfigurator/a100_sxm/comm/nccl/2.27.3/nccl_perf.csv; NCCL 2.27.3
nccl a100-sxm-80gb node all_gather 8 1 240 9.00:0.315 11.00:0.313 13.00:0.308 15.00:0.562 17.00:0.546 19.00:0.313 21.00:0.053 23.00:0.194 25.00:0.342 27.00:0.236 29.00:0.140 # aiconfigurator/a100_sxm/comm/nccl/2.27.3/nccl_perf.csv; NCCL 2.27.3
nccl a100-sxm-80gb node reduce_scatter 2 1 240 9.00:0.212 11.00:0.225 13.00:0.310 15.00:0.446 17.00:0.410 19.00:0.402 21.00:0.769 23.00:0.595 25.00:0.500 27.00:0.398 29.00:0.355 # aiconfigurator/a100_sxm/comm/nccl/2.27.3/nccl_perf.csv; NCCL 2.27.3
nccl a100-sxm-80gb node reduce_scatter 4 1 240 9.00:0.243 11.00:0.242 13.00:0.306 15.00:0.456 17.00:0.424 19.00:0.271 21.00:0.660 23.00:0.400 25.00:0.295 27.00:0.207 29.00:0.156 # aiconfigurator/a100_sxm/comm/nccl/2.27.3/nccl_perf.csv; NCCL 2.27.3
nccl a100-sxm-80gb node reduce_scatter 8 1 240 9.00:0.329 11.00:0.328 13.00:0.322 15.00:0.414 17.00:0.405 19.00:0.174 21.00:0.075 23.00:0.272 25.00:0.307 27.00:0.179 29.00:0.104 # aiconfigurator/a100_sxm/comm/nccl/2.27.3/nccl_perf.csv; NCCL 2.27.3
nccl a100-sxm-80gb node all_to_all 2 1 240 9.00:0.379 11.00:0.408 13.00:0.475 15.00:0.646 17.00:0.659 19.00:0.732 21.00:0.906 23.00:0.820 25.00:0.571 27.00:0.441 29.00:0.373 # aiconfigurator/a100_sxm/comm/nccl/2.27.3/nccl_perf.csv; NCCL 2.27.3
nccl a100-sxm-80gb node all_to_all 4 1 240 9.00:0.546 11.00:0.546 13.00:0.559 15.00:0.659 17.00:0.676 19.00:0.744 21.00:0.966 23.00:0.599 25.00:0.434 27.00:0.296 29.00:0.204 # aiconfigurator/a100_sxm/comm/nccl/2.27.3/nccl_perf.csv; NCCL 2.27.3
nccl a100-sxm-80gb node all_to_all 8 1 240 9.00:0.574 11.00:0.574 13.00:0.607 15.00:0.595 17.00:0.769 19.00:0.734 21.00:0.955 23.00:0.585 25.00:0.390 27.00:0.255 29.00:0.164 # aiconfigurator/a100_sxm/comm/nccl/2.27.3/nccl_perf.csv; NCCL 2.27.3
nccl a100-sxm-80gb node send_recv 2 1 240 11.00:0.104 14.17:0.580 15.09:0.645 15.64:0.705 16.04:0.760 16.49:0.747 17.02:0.785 17.53:0.755 18.01:0.717 18.49:0.665 19.00:0.594 19.50:0.500 19.94:0.433 20.52:0.395 21.01:0.268 21.52:0.152 22.01:0.045 22.52:-0.046 23.02:-0.095 23.52:-0.112 23.94:-0.136 24.52:-0.150 25.02:-0.054 25.52:0.038 25.88:0.029 # vidur/network/a100_dgx/send_recv.csv
nccl a100-sxm-80gb ib-200g all_gather 16 2 200 24.00:0.636 26.00:0.492 28.00:0.108 30.00:0.070 32.00:0.048 34.00:0.040 # simai/ratio/nic_ratio.csv, shares of an assumed 8 x 200 Gb/s
nccl a100-sxm-80gb ib-200g reduce_scatter 16 2 200 24.00:0.636 26.00:0.492 28.00:0.108 30.00:0.070 32.00:0.048 34.00:0.040 # simai/ratio/nic_ratio.csv, shares of an assumed 8 x 200 Gb/s
nccl a100-sxm-80gb roce-200g all_reduce 16 2 200 3.00:0.370 13.00:0.619 18.00:0.337 21.00:0.366 23.00:0.297 25.00:0.194 27.00:0.164 29.00:0.261 31.00:-0.066 33.00:-0.140 # nccl_tests/tables.csv T17
nccl h100-sxm node all_reduce 2 1 360 9.00:-0.238 11.00:-0.238 13.00:-0.171 15.00:-0.092 17.00:-0.131 19.00:-0.084 21.00:0.271 23.00:0.187 25.00:0.272 27.00:0.182 29.00:0.105 # aiconfigurator/h100_sxm/comm/nccl/2.27.3/nccl_perf.csv; NCCL 2.29.2
nccl h100-sxm node all_reduce 4 1 360 9.00:-0.077 11.00:-0.042 13.00:-0.021 15.00:0.047 17.00:-0.006 19.00:-0.077 21.00:-0.175 23.00:0.137 25.00:0.197 27.00:0.221 29.00:0.195 # aiconfigurator/h100_sxm/comm/nccl/2.27.3/nccl_perf.csv; NCCL 2.29.2
nccl h100-sxm node all_reduce 8 1 360 9.00:0.030 11.00:0.047 13.00:0.079 15.00:0.179 17.00:0.134 19.00:-0.097 21.00:0.177 23.00:0.378 25.00:0.330 27.00:0.160 29.00:0.107 # aiconfigurator/h100_sxm/comm/nccl/2.27.3/nccl_perf.csv; NCCL 2.29.2
nccl h100-sxm node all_gather 2 1 360 9.00:-0.318 11.00:-0.319 13.00:-0.154 15.00:-0.150 17.00:-0.185 19.00:-0.083 21.00:0.114 23.00:0.434 25.00:0.465 27.00:0.388 29.00:0.315 # aiconfigurator/h100_sxm/comm/nccl/2.27.3/nccl_perf.csv; NCCL 2.29.2
nccl h100-sxm node all_gather 4 1 360 9.00:-0.163 11.00:-0.127 13.00:-0.100 15.00:0.004 17.00:-0.009 19.00:-0.040 21.00:-0.029 23.00:0.227 25.00:0.207 27.00:0.165 29.00:0.109 # aiconfigurator/h100_sxm/comm/nccl/2.27.3/nccl_perf.csv; NCCL 2.29.2
nccl h100-sxm node all_gather 8 1 360 9.00:-0.043 11.00:-0.023 13.00:-0.003 15.00:0.166 17.00:0.136 19.00:-0.030 21.00:-0.080 23.00:-0.120 25.00:0.072 27.00:0.081 29.00:0.045 # aiconfigurator/h100_sxm/comm/nccl/2.27.3/nccl_perf.csv; NCCL 2.29.2
nccl h100-sxm node reduce_scatter 2 1 360 9.00:-0.331 11.00:-0.304 13.00:-0.193 15.00:-0.185 17.00:-0.191 19.00:-0.083 21.00:0.062 23.00:0.313 25.00:0.494 27.00:0.453 29.00:0.350 # aiconfigurator/h100_sxm/comm/nccl/2.27.3/nccl_perf.csv; NCCL 2.29.2
nccl h100-sxm node reduce_scatter 4 1 360 9.00:-0.149 11.00:-0.135 13.00:-0.113 15.00:-0.069 17.00:-0.082 19.00:-0.127 21.00:-0.135 23.00:0.062 25.00:0.168 27.00:0.175 29.00:0.133 # aiconfigurator/h100_sxm/comm/nccl/2.27.3/nccl_perf.csv; NCCL 2.29.2
nccl h100-sxm node reduce_scatter 8 1 360 9.00:-0.055 11.00:-0.032 13.00:-0.010 15.00:0.047 17.00:0.029 19.00:-0.125 21.00:-0.284 23.00:-0.124 25.00:-0.018 27.00:0.062 29.00:0.045 # aiconfigurator/h100_sxm/comm/nccl/2.27.3/nccl_perf.csv; NCCL 2.29.2
nccl h100-sxm node all_to_all 2 1 360 9.00:-0.158 11.00:-0.104 13.00:-0.003 15.00:0.219 17.00:0.619 19.00:0.603 21.00:0.449 23.00:0.543 25.00:0.410 27.00:0.327 29.00:0.247 # aiconfigurator/h100_sxm/comm/nccl/2.27.3/nccl_perf.csv; NCCL 2.29.2
nccl h100-sxm node all_to_all 4 1 360 9.00:-0.071 11.00:-0.062 13.00:-0.023 15.00:0.125 17.00:0.516 19.00:0.566 21.00:0.387 23.00:0.405 25.00:0.345 27.00:0.151 29.00:0.074 # aiconfigurator/h100_sxm/comm/nccl/2.27.3/nccl_perf.csv; NCCL 2.29.2
nccl h100-sxm node all_to_all 8 1 360 9.00:-0.009 11.00:-0.009 13.00:-0.001 15.00:0.083 17.00:0.265 19.00:0.568 21.00:0.424 23.00:0.403 25.00:0.340 27.00:0.192 29.00:0.121 # aiconfigurator/h100_sxm/comm/nccl/2.27.3/nccl_perf.csv; NCCL 2.29.2
nccl h100-sxm node send_recv 2 1 360 11.00:-0.365 14.17:-0.035 15.09:0.092 15.64:0.086 16.04:0.080 16.49:0.070 17.02:0.055 17.53:0.034 18.01:0.032 18.49:0.090 19.00:0.038 19.50:-0.023 19.94:0.019 20.52:0.051 21.01:0.052 21.52:0.082 22.01:0.073 22.52:0.056 23.02:0.039 23.52:0.007 23.94:-0.005 24.52:-0.009 25.02:-0.002 25.52:0.005 25.88:0.001 # vidur/network/h100_dgx/send_recv.csv
nccl h100-sxm ib-400g all_reduce 16 2 400 3.00:-0.010 13.00:0.228 17.00:0.223 19.00:0.452 21.00:0.207 23.00:0.323 25.00:0.377 27.00:0.336 29.00:0.196 31.00:0.145 33.00:0.136 # nccl_tests/tables.csv T06b; NCCL 2.26.2
nccl h100-sxm ib-400g send_recv 2 2 50 11.00:0.537 14.17:0.561 15.09:0.584 15.64:0.553 16.04:0.575 16.49:0.581 17.02:0.617 17.53:0.687 18.01:0.612 18.49:0.520 19.00:0.427 19.50:0.505 19.94:0.557 20.52:0.595 21.01:0.420 21.52:0.321 22.01:0.321 22.52:0.326 23.02:0.323 23.52:0.324 23.94:0.326 24.52:0.331 25.02:0.331 25.52:0.341 25.88:0.380 # vidur/network/h100_dgx/send_recv.csv, fabric not stated, taken as 8 x 400 Gb/s
nccl h100-sxm tcpxo all_reduce 16 2 200 3.00:1.653 13.00:1.639 18.00:1.512 21.00:1.410 23.00:1.719 25.00:1.508 27.00:0.806 29.00:0.328 31.00:0.157 33.00:0.100 # nccl_tests/tables.csv T01
nccl h100-sxm tcpxo all_gather 16 2 200 23.00:0.646 25.00:0.276 27.00:0.145 29.00:0.112 31.00:0.069 33.00:0.057 # nccl_tests/tables.csv T21
exchange h100-sxm normal dispatch node 35.1 0.649 # aiconfigurator/h100_sxm/comm/sglang/0.5.6.post2/wideep_deepep_normal_perf.csv
exchange h100-sxm normal dispatch network 60.6 0.727 # aiconfigurator/h100_sxm/comm/sglang/0.5.6.post2/wideep_deepep_normal_perf.csv
exchange h100-sxm normal combine node 51.8 0.662 # aiconfigurator/h100_sxm/comm/sglang/0.5.6.post2/wideep_deepep_normal_perf.csv
exchange h100-sxm normal combine network 92.2 0.575 # aiconfigurator/h100_sxm/comm/sglang/0.5.6.post2/wideep_deepep_normal_perf.csv
exchange h100-sxm low_latency dispatch node 14.7 0.551 # aiconfigurator/h100_sxm/comm/sglang/0.5.6.post2/wideep_deepep_ll_perf.csv
exchange h100-sxm low_latency dispatch network 19.9 0.957 # aiconfigurator/h100_sxm/comm/sglang/0.5.6.post2/wideep_deepep_ll_perf.csv
exchange h100-sxm low_latency combine node 11.3 0.462 # aiconfigurator/h100_sxm/comm/sglang/0.5.6.post2/wideep_deepep_ll_perf.csv
exchange h100-sxm low_latency combine network 24.1 0.955 # aiconfigurator/h100_sxm/comm/sglang/0.5.6.post2/wideep_deepep_ll_perf.csv
custom a100-sxm-80gb sglang_eager 2 300 8.00:41.05 10.00:41.05 12.00:41.30 14.00:41.34 16.00:41.70 18.00:41.70 20.00:41.70 22.00:41.70 24.00:144.61 26.00:462.56 28.00:1732.69 30.00:6632.74 # aiconfigurator/a100_sxm/comm/sglang/0.5.10/custom_allreduce_perf.csv; SGLang 0.5.10
custom a100-sxm-80gb sglang_eager 4 300 8.00:40.77 10.00:40.77 12.00:40.95 14.00:40.96 16.00:40.96 18.00:41.34 20.00:41.36 22.00:53.08 24.00:201.81 26.00:634.25 28.00:2242.11 30.00:8538.23 # aiconfigurator/a100_sxm/comm/sglang/0.5.10/custom_allreduce_perf.csv; SGLang 0.5.10
custom a100-sxm-80gb sglang_eager 8 300 8.00:41.22 10.00:41.22 12.00:41.85 14.00:41.85 16.00:41.85 18.00:41.85 20.00:41.85 22.00:57.57 24.00:234.18 26.00:666.98 28.00:2514.75 30.00:9505.85 # aiconfigurator/a100_sxm/comm/sglang/0.5.10/custom_allreduce_perf.csv; SGLang 0.5.10
custom a100-sxm-80gb sglang_graph 2 300 8.00:4.99 10.00:4.99 12.00:5.12 14.00:5.37 16.00:5.76 18.00:6.63 20.00:11.11 22.00:25.73 24.00:126.95 26.00:390.00 28.00:1429.98 30.00:5408.99 # aiconfigurator/a100_sxm/comm/sglang/0.5.10/custom_allreduce_perf.csv; SGLang 0.5.10
custom a100-sxm-80gb sglang_graph 4 300 8.00:5.13 10.00:5.13 12.00:5.24 14.00:6.01 16.00:6.62 18.00:9.94 20.00:18.41 22.00:41.79 24.00:183.61 26.00:541.59 28.00:1925.75 30.00:7317.67 # aiconfigurator/a100_sxm/comm/sglang/0.5.10/custom_allreduce_perf.csv; SGLang 0.5.10
custom a100-sxm-80gb sglang_graph 8 300 8.00:5.68 10.00:5.68 12.00:5.86 14.00:6.71 16.00:8.45 18.00:17.24 20.00:21.50 22.00:44.76 24.00:215.66 26.00:595.35 28.00:2166.84 30.00:8261.38 # aiconfigurator/a100_sxm/comm/sglang/0.5.10/custom_allreduce_perf.csv; SGLang 0.5.10
custom a100-sxm-80gb vllm_eager 2 300 8.00:43.79 10.00:43.79 12.00:43.79 14.00:43.79 16.00:43.96 18.00:44.01 20.00:44.01 22.00:44.36 24.00:148.93 26.00:463.96 28.00:1729.12 30.00:6553.95 # aiconfigurator/a100_sxm/comm/vllm/0.14.0/custom_allreduce_perf.csv; vLLM 0.14.0
custom a100-sxm-80gb vllm_eager 4 300 8.00:45.96 10.00:45.96 12.00:45.96 14.00:45.96 16.00:45.96 18.00:45.96 20.00:45.96 22.00:53.67 24.00:202.92 26.00:638.65 28.00:2236.88 30.00:8485.45 # aiconfigurator/a100_sxm/comm/vllm/0.14.0/custom_allreduce_perf.csv; vLLM 0.14.0
custom a100-sxm-80gb vllm_eager 8 300 8.00:44.40 10.00:44.40 12.00:44.65 14.00:44.65 16.00:44.65 18.00:44.65 20.00:44.65 22.00:58.24 24.00:238.90 26.00:687.24 28.00:2512.78 30.00:9481.50 # aiconfigurator/a100_sxm/comm/vllm/0.14.0/custom_allreduce_perf.csv; vLLM 0.14.0
custom a100-sxm-80gb vllm_graph 2 300 8.00:4.87 10.00:4.89 12.00:5.02 14.00:5.34 16.00:5.50 18.00:6.57 20.00:10.70 22.00:25.24 24.00:126.28 26.00:388.47 28.00:1427.57 30.00:5394.32 # aiconfigurator/a100_sxm/comm/vllm/0.14.0/custom_allreduce_perf.csv; vLLM 0.14.0
custom a100-sxm-80gb vllm_graph 4 300 8.00:5.15 10.00:5.22 12.00:5.33 14.00:6.00 16.00:6.57 18.00:9.91 20.00:18.34 22.00:41.48 24.00:182.50 26.00:540.03 28.00:1920.71 30.00:7295.39 # aiconfigurator/a100_sxm/comm/vllm/0.14.0/custom_allreduce_perf.csv; vLLM 0.14.0
custom a100-sxm-80gb vllm_graph 8 300 8.00:5.66 10.00:5.78 12.00:6.54 14.00:6.54 16.00:8.43 18.00:17.13 20.00:21.71 22.00:45.37 24.00:214.19 26.00:594.19 28.00:2170.24 30.00:8250.86 # aiconfigurator/a100_sxm/comm/vllm/0.14.0/custom_allreduce_perf.csv; vLLM 0.14.0
custom h100-sxm vllm_eager 2 450 8.00:20.58 10.00:20.58 12.00:20.58 14.00:20.58 16.00:20.58 18.00:20.58 20.00:20.58 22.00:27.46 24.00:96.67 26.00:359.84 28.00:1062.18 30.00:3956.85 # aiconfigurator/h100_sxm/comm/vllm/0.24.0/custom_allreduce_perf.csv; vLLM 0.24.0
custom h100-sxm vllm_eager 4 450 8.00:22.07 10.00:22.07 12.00:22.07 14.00:22.07 16.00:22.07 18.00:22.07 20.00:22.07 22.00:38.01 24.00:113.47 26.00:375.90 28.00:1362.26 30.00:5244.60 # aiconfigurator/h100_sxm/comm/vllm/0.24.0/custom_allreduce_perf.csv; vLLM 0.24.0
custom h100-sxm vllm_eager 8 450 8.00:22.32 10.00:22.32 12.00:22.99 14.00:22.99 16.00:22.99 18.00:40.48 20.00:40.48 22.00:40.48 24.00:107.29 26.00:397.49 28.00:1272.07 30.00:4718.95 # aiconfigurator/h100_sxm/comm/vllm/0.24.0/custom_allreduce_perf.csv; vLLM 0.24.0
custom h100-sxm vllm_graph 2 450 8.00:4.18 10.00:4.18 12.00:4.30 14.00:4.49 16.00:4.52 18.00:5.18 20.00:8.34 22.00:20.24 24.00:81.42 26.00:306.72 28.00:885.42 30.00:3219.22 # aiconfigurator/h100_sxm/comm/vllm/0.24.0/custom_allreduce_perf.csv; vLLM 0.24.0
custom h100-sxm vllm_graph 4 450 8.00:4.55 10.00:4.55 12.00:4.70 14.00:4.83 16.00:5.23 18.00:7.18 20.00:12.76 22.00:30.25 24.00:98.77 26.00:329.94 28.00:1180.38 30.00:4535.01 # aiconfigurator/h100_sxm/comm/vllm/0.24.0/custom_allreduce_perf.csv; vLLM 0.24.0
custom h100-sxm vllm_graph 8 450 8.00:4.61 10.00:4.61 12.00:5.31 14.00:5.31 16.00:6.41 18.00:10.79 20.00:14.97 22.00:30.81 24.00:92.38 26.00:343.96 28.00:1091.02 30.00:4009.24 # aiconfigurator/h100_sxm/comm/vllm/0.24.0/custom_allreduce_perf.csv; vLLM 0.24.0
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
