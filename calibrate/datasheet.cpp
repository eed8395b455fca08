#include "calibrate/datasheet.hpp"

#include <cctype>
#include <string>
#include <string_view>

namespace rollcast {
namespace {

std::string const kTables = "NVIDIA aiconfigurator measured tables, ";

// CPU side of an engine: the same on every card.
void add_engine(Profile& p) {
  std::string const phases =
      "published generation phases I06, I07 (vLLM) and I02 (SGLang) as one set, log-probabilities counted "
      "apart, forecast within 11 %; R31 and R01 are left out, R31's phase comes out 6 to 12 % short. Each "
      "left out too: without I06 1.5 ms and 30 us (I06 16 % long), without I07 2.0 ms and 0 us (6 % long, 20 "
      "% short), without I02 0.75 ms and 25 us (15 % short). With scheduling between the steps";
  p.engines = {{EngineKind::vllm, us(1500), us(20), Seconds(0), phases},
               {EngineKind::sglang, us(1500), us(20), Seconds(0), phases},
               {EngineKind::trtllm, us(412.5), Seconds(0), us(47),
                "TRT-LLM 1.0.0rc3, 44 served points of Llama-3.1-8B on H100, tp 1 and 2 (aiconfigurator): "
                "least squares over the time per token"}};
  p.engine_step = {0.83e-3,
                   "aiconfigurator served points, TRT-LLM 1.0.0rc3, Llama-3.1-8B on one H100: least squares "
                   "a + b x concurrency of "
                   "TPOT less weight reads, measured decode attention and the other requests' prefill, 10 "
                   "points where that prefill "
                   "is under 25 % of TPOT: a = 0.83 ms. vLLM 0.21.0 on one H100 (Yobitel InferenceBench "
                   "concurrency sweep): TPOT "
                   "6.48 ms at concurrency 1, 5.6 ms of it weight reads"};
  p.engine_per_sequence = {9.3e-6,
                           "same fit of aiconfigurator served points as engine_step: b = 9.3 us (scheduling, "
                           "sampling over the vocabulary, "
                           "output). Of it, vLLM V1's update_from_output is 1.1 us (vllm-project/vllm pull "
                           "46112: 0.142 ms at batch 128)"};
  p.engine_per_sequence_synchronous = {
      21.5e-6,
      "vllm-project/vllm issue 10634 and pull 11133 (end of 2024, V1 before its release; Llama-2-7B): at "
      "batch 256 the GPU waits 5-6 ms between two decode steps, 0.15-0.17 ms with asynchronous scheduling; "
      "5.5 ms / 256. The report blames the interpreter lock and expects 2-3 ms less once that is mended: "
      "later versions may need about half"};
  std::string const logprobs =
      "vllm-project/vllm pull 57442 (vLLM 0.29 behind its HTTP server, whose work is part of it), "
      "Qwen2.5-0.5B on one L20, tokens per second without and with logprobs=0: 430 and 407 at concurrency 1, "
      "18,645 and 13,583 at 64, so 0.13 and 1.28 ms a step more: ";
  p.engine_logprobs_step = {0.11e-3, logprobs + "0.11 ms beside the sequences"};
  p.engine_logprobs_per_sequence = {18.2e-6, logprobs + "18.2 us per sequence"};
  p.engine_text_per_sequence = {
      13.3e-6,
      "vllm-project/vllm pull 50333 (July 2026, offline beam search of 8 prompts at width 20, 32 steps, 40 "
      "log-probabilities a beam): 9.41 s with and 6.61 s without turning tokens into text, 209,920 tokens; "
      "what a request costs beside its tokens is in it"};
  p.kernel_launch = {
      5e-6,
      "susun-blog.com, pegainfer (3): From Launch Overhead to CUDA Graph: 4-6 us of driver and runtime "
      "calls per launch"};
  std::string const steps =
      "calibrate/adapter_steps.hpp, least squares over 33 steps of S04, S11, S01 and S02: root mean square "
      "error 29 % on S04, 11 % on S11, 10 % on S01, 6 % on S02; ";
  p.eager_launches = {3.75,
                      steps +
                          "without S04 3.375, which misses it by 41 %; without S11 5.625, which misses it "
                          "by 33 %"};
  p.dequantization = {0.4, steps + "without S04 0.55, without S11 0.3"};
}

Profile hopper() {
  Profile p;
  p.gemm_bf16 = {0.79,
                 kTables +
                     "H100-SXM, torch linear bf16: median of 4,485 shapes with m, n, k >= 2048 (best over "
                     "shapes 0.803 in ml-engineering's mamf table)"};
  p.gemm_fp8 = {0.45,
                kTables +
                    "H100-SXM, vLLM 0.24.0 Cutlass scaled mm fp8: median of the shapes with m, n, k >= 2048, "
                    "quantization of the input included"};
  p.gemm_memory = {
      0.79, kTables + "H100-SXM, torch linear bf16: median of 4,026 shapes with m <= 64, n x k >= 16e6"};
  p.attention_forward = {0.48,
                         kTables +
                             "H100-SXM, vLLM 0.24.0 FlashAttention-3, causal, bf16, head dim 128: median "
                             "over 1,024 to 16,384 tokens"};
  p.attention_backward = {
      0.39,
      "attention_forward x 2.5 (FLOPs of the backward) / 3.1 (its time over the forward's in "
      "DeepSeek's public training trace on H800, FlashAttention-3)"};
  p.decode_attention = {0.68,
                        kTables +
                            "H100-SXM, vLLM 0.24.0 FlashAttention-3 decode, bf16 KV, head dim 128: median of "
                            "2,015 points that read at least 64 MB"};
  p.memory_pass = {
      0.55,
      "vidur H100 tables, Llama-2 7B and 70B at 1,024-4,096 tokens: bytes over time, summed over two "
      "norms, rope, activation and two residual adds of a layer: median (plain elementwise 0.97)"};
  p.sustained_clock = {
      0.88,
      "large bf16 products: 690 TFLOP/s in vidur's H100 tables over 783 in aiconfigurator's short "
      "bursts at locked clocks"};
  p.nvlink = {0.72, kTables +
                        "H100-SXM, NCCL 2.29.2, 8 GPUs: median bus bandwidth of all-reduce, all-gather, "
                        "reduce-scatter and all-to-all of 128-512 MiB over 450 GB/s"};
  p.network = {
      0.94,
      "dstack documentation, nccl-tests all-gather on 2 nodes of 8 H100, 8 x 200 Gb/s: 188.5 of 200 GB/s"};
  p.pcie = {0.865,
            "nvbandwidth 0.10 on an H100-SXM node: host to device 55.4, device to host 55.2 of 64 GB/s"};
  p.engine_all_reduce_alpha = {
      4.7e-6, kTables + "H100-SXM, vLLM 0.24.0 custom all-reduce in a CUDA graph, 8 GPUs, 256 B"};
  p.collective_alpha_node = {15.5e-6,
                             kTables +
                                 "H100-SXM, NCCL 2.29.2 all-reduce of 512 B on 8 GPUs: 15.6 us; NCCL's own "
                                 "tuning constants give 15.2 us"};
  p.collective_alpha_network = {
      9.5e-6,
      "NVIDIA/nccl-tests issue 309, all-reduce of 8 B on 2 nodes of 8 H100 over NDR: "
      "25.0 us, less 15.5 us of one node"};
  p.fabric_latency = {2.7e-6, "NDR InfiniBand, as the catalog's ib-400g: 2.68 us of an RDMA write"};
  add_engine(p);
  return p;
}

Profile ampere() {
  Profile p;
  p.gemm_bf16 = {0.78,
                 kTables +
                     "A100-SXM4-80GB, torch linear bf16: median of 4,485 shapes with m, n, k >= 2048 (best "
                     "over shapes 0.869 in ml-engineering's mamf table)"};
  p.gemm_fp8 = {0.45, "as H100-SXM; Ampere itself has no fp8 units and runs such products at the bf16 rate"};
  p.gemm_memory = {
      0.68,
      kTables + "A100-SXM4-80GB, torch linear bf16: median of 4,026 shapes with m <= 64, n x k >= 16e6"};
  p.attention_forward = {0.58,
                         kTables +
                             "A100-SXM4-80GB, SGLang 0.5.10 FlashAttention, causal, bf16, head dim 128: "
                             "median over 1,024 to 16,384 tokens"};
  p.attention_backward = {
      0.54,
      "FlashAttention-2 repository, forward + backward chart on A100, causal, head dim 128, "
      "median over 1,024 to 16,384 tokens: 173 TFLOP/s; the backward is what the forward "
      "leaves: 2.5 / (3.5 / 173 - 1 / 181)"};
  p.decode_attention = {
      0.59, kTables +
                "A100-SXM4-80GB, vLLM 0.14.0 decode, bf16 KV, head dim 128: median of 1,374 points "
                "that read at least 64 MB"};
  p.memory_pass = {
      0.50,
      "vidur A100 tables, Llama-2 7B and 70B at 1,024-4,096 tokens: bytes over time, summed over two "
      "norms, rope, activation and two residual adds of a layer: median (plain elementwise 0.90)"};
  p.sustained_clock = {
      0.95,
      "large bf16 products: 236 TFLOP/s in vidur's A100 tables over 248 in aiconfigurator's short "
      "bursts at locked clocks"};
  p.nvlink = {0.67,
              kTables +
                  "A100-SXM4-80GB, NCCL 2.27.3, 8 GPUs: median bus bandwidth of all-reduce, all-gather, "
                  "reduce-scatter and all-to-all of 128-512 MiB over 300 GB/s"};
  p.network = {0.96,
               "SimAI, ratio tables measured on A100 clusters: plateau of the NIC share on 2 to 8 nodes"};
  p.pcie = {0.81, "nvbandwidth on an A100 node: host to device 26.0 of 32 GB/s"};
  p.engine_all_reduce_alpha = {5.7e-6,
                               kTables +
                                   "A100-SXM4-80GB, vLLM 0.14.0 custom all-reduce in a CUDA graph, 8 GPUs, "
                                   "256 B"};
  p.collective_alpha_node = {22.6e-6, kTables + "A100-SXM4-80GB, NCCL 2.27.3 all-reduce of 512 B on 8 GPUs"};
  p.collective_alpha_network = {
      13.9e-6,
      "OCI documentation, all-reduce of 8 B on 2 nodes of 8 A100 over RoCE: 36.5 us, "
      "less 22.6 us of one node"};
  p.fabric_latency = {3.7e-6,
                      "RoCE, as the catalog's roce-200g: InfiniBand and one more microsecond; unchecked"};
  add_engine(p);
  return p;
}

// Every source so far speaks of the card that was measured; another card says that it borrows.
void borrow(Profile& p, std::string const& why) {
  for (Cited* c : {&p.gemm_bf16, &p.gemm_fp8, &p.gemm_memory, &p.attention_forward, &p.attention_backward,
                   &p.decode_attention, &p.memory_pass, &p.sustained_clock, &p.nvlink, &p.network, &p.pcie,
                   &p.engine_all_reduce_alpha, &p.collective_alpha_node, &p.collective_alpha_network,
                   &p.fabric_latency}) {
    c->source = why + ": " + c->source;
  }
}

void scale_gemm(Profile& p, double best, double best_of_reference, std::string const& what) {
  p.gemm_bf16.value *= best / best_of_reference;
  p.gemm_bf16.source += "; scaled by the best rate over shapes in ml-engineering's mamf table, " + what;
}

std::string lower(std::string_view text) {
  std::string out;
  for (char const c : text) out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

}  // namespace

Profile datasheet_profile(Gpu const& gpu) {
  std::string const name = lower(gpu.name);
  auto const is = [&](std::string_view part) { return name.find(part) != std::string::npos; };

  Profile p;
  if (is("h100-sxm") || name == "h100") {
    p = hopper();
  } else if ((is("a100-sxm") && !is("40gb")) || name == "a100") {
    p = ampere();
  } else if (is("h100") || is("h200") || is("h800") || is("h20") || is("gh200")) {
    p = hopper();
    borrow(p, "Hopper like H100-SXM, no table of its own");
    if (is("gh200")) scale_gemm(p, 83.8, 80.3, "GH200 83.8 % against H100-SXM 80.3 %");
    if (is("h800")) p.nvlink = {0.80, "DeepEP documentation: H800's NVLink gives about 160 of 200 GB/s"};
  } else if (is("b200") || is("b300")) {
    p = hopper();
    borrow(p, "Blackwell has no table, taken as H100-SXM");
    if (is("gb200") || is("gb300")) {
      scale_gemm(p, 72.9, 80.3, "GB200 72.9 % against H100-SXM 80.3 %");
      p.pcie = {0.80, "nvbandwidth on GB300, host to device over NVLink C2C: 359 of 450 GB/s"};
    } else if (is("b300")) {
      scale_gemm(p, 78.6, 80.3, "B300 78.6 % against H100-SXM 80.3 %");
    } else {
      scale_gemm(p, 77.6, 80.3, "B200 77.6 % against H100-SXM 80.3 %");
    }
    p.network = {0.92, "ib_write_bw on a B200 node (Vultr): 46.1 of 50 GB/s per NIC"};
  } else if (is("a100") || is("a800")) {
    p = ampere();
    borrow(p, "Ampere like A100-SXM4-80GB, no table of its own");
    if (is("pcie")) scale_gemm(p, 81.1, 86.9, "A100 PCIe 81.1 % against A100 SXM 86.9 %");
  } else {
    p = ampere();
    borrow(p, "no table of this card, taken as A100-SXM4-80GB for want of a nearer one");
  }
  p.name = "datasheet";
  p.gpu = gpu;
  return p;
}

}  // namespace rollcast
