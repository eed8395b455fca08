// Tables of others: a few rows each, with the samples they must become.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "calibrate/import/folder.hpp"

namespace rollcast {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

struct Read {
  Imported in;
  std::string kind;
};

Read read(std::string const& path, std::string const& text, ImportHints const& hints = {}) {
  Read r;
  r.kind = import_text({path, path, text, hints}, r.in).kind;
  return r;
}

TEST(Tables, Served) {
  std::string const header =
      "id,backend,backend_version,model_path,system,precision,mode,isl,osl,batch_size,tp_size,pp_size,"
      "attention_dp_size,moe_ep_size,silicon_ttft_ms,silicon_tpot_ms\n";
  Read const r =
      read("silicon_e2e/silicon_dev.csv",
           header + "a,trtllm,1.0.0rc3,meta-llama/Llama-3.1-8B,h100_sxm,,agg,1024,128,8,2,1,1,1,190.5,7.5\n" +
               "b,sglang,,org/M,b200_sxm,fp8,agg,1024,128,8,2,1,4,8,20,5\n" +
               "c,sglang,1,org/M,b300_sxm,fp8,agg,1024,128,8,2,1,1,,20,5\n" +
               "d,sglang,1,org/M,b200_sxm,fp8,disagg,1024,128,,,,,,20,5\n");
  EXPECT_EQ(r.kind, "aiconfigurator served");
  ASSERT_EQ(r.in.samples.size(), 4U);
  Sample const& s = r.in.samples[0];
  EXPECT_EQ(s.gpu, "h100-sxm");
  EXPECT_EQ(s.operation, "served_ttft");
  EXPECT_EQ(s.variant, "trtllm meta-llama/Llama-3.1-8B");
  EXPECT_EQ(s.dtype, "bf16");
  EXPECT_EQ(s.version, "trtllm 1.0.0rc3");
  EXPECT_THAT(s.shape, ElementsAre(1024, 128, 8, 2, 1, 1));
  EXPECT_DOUBLE_EQ(s.seconds.value, 0.1905);
  EXPECT_EQ(r.in.samples[1].operation, "served_tpot");
  EXPECT_DOUBLE_EQ(r.in.samples[1].seconds.value, 0.0075);
  EXPECT_EQ(r.in.samples[2].variant, "sglang org/M attention dp 4");
  EXPECT_EQ(r.in.samples[2].version, "sglang");
  EXPECT_THAT(r.in.samples[2].shape, ElementsAre(1024, 128, 8, 2, 1, 8));
  ASSERT_EQ(r.in.skipped.size(), 2U);
  EXPECT_EQ(r.in.skipped[0].why, "a GPU that the catalog does not hold");
  EXPECT_EQ(r.in.skipped[1].why, "prefill and decode on separate GPUs");
  EXPECT_TRUE(r.in.problems.empty());
}

TEST(Tables, Gemm) {
  Read const r = read("h100_sxm/gemm/vllm/0.24.0/gemm_perf.csv",
                      "kernel_source,gemm_dtype,m,n,k,latency\nlinear,bfloat16,32,65536,12288,0.5\n"
                      "linear,fp8_block,1,2,3,0\nlinear,bfloat16,1.5,2,3,1\nlinear,bfloat16,1,2\n");
  EXPECT_EQ(r.kind, "aiconfigurator gemm");
  ASSERT_EQ(r.in.samples.size(), 1U);
  Sample const& s = r.in.samples[0];
  EXPECT_EQ(s.gpu, "h100-sxm");
  EXPECT_EQ(s.variant, "linear");
  EXPECT_EQ(s.dtype, "bf16");
  EXPECT_EQ(s.version, "vllm 0.24.0");
  EXPECT_THAT(s.shape, ElementsAre(32, 65536, 12288));
  EXPECT_DOUBLE_EQ(s.seconds.value, 0.5e-3);
  std::string const problems = format(r.in.problems);
  EXPECT_THAT(problems, HasSubstr("gemm_perf.csv:3:1: latency: '0' is not a number above 0"));
  EXPECT_THAT(problems, HasSubstr("gemm_perf.csv:4:1: m: '1.5' is not a whole number of at least 1"));
  EXPECT_THAT(problems, HasSubstr("gemm_perf.csv:5:1: 4 cells where the header has 6"));
}

TEST(Tables, AttentionBothWays) {
  std::string const head =
      "kernel_source,batch_size,isl,num_heads,num_key_value_heads,head_dim,attn_dtype,kv_cache_dtype,step,"
      "window_size,"
      "latency\n";
  Read const prefill =
      read("a100_sxm/attention/vllm/0.14.0/context_attention_perf.csv",
           head + "fa,4,1024,64,0,128,bfloat16,fp8,256,0,2\nfa,4,1024,64,8,128,fp8,fp8,0,0,2\n");
  EXPECT_EQ(prefill.kind, "aiconfigurator context attention");
  ASSERT_EQ(prefill.in.samples.size(), 1U);
  EXPECT_THAT(prefill.in.samples[0].shape, ElementsAre(4, 1024, 256, 64, 64, 128));  // kv heads 0: as heads
  EXPECT_EQ(prefill.in.samples[0].dtype, "fp8");
  EXPECT_EQ(prefill.in.samples[0].gpu, "a100-sxm-80gb");
  ASSERT_EQ(prefill.in.skipped.size(), 1U);

  Read const decode = read("a100_sxm/attention/vllm/0.14.0/generation_attention_perf.csv",
                           head + "fa,64,1,32,8,128,bfloat16,bfloat16,1023,128,2\n");
  ASSERT_EQ(decode.in.samples.size(), 1U);
  EXPECT_THAT(decode.in.samples[0].shape, ElementsAre(64, 1024, 32, 8, 128));
  EXPECT_EQ(decode.in.samples[0].variant, "fa window 128");
}

TEST(Tables, Experts) {
  Read const r =
      read("h100_sxm/moe/vllm/0.24.0/moe_perf.csv",
           "kernel_source,moe_dtype,num_tokens,hidden_size,inter_size,topk,num_experts,moe_tp_size,"
           "moe_ep_size,distribution,latency\n11,fp8_block,16,4096,2048,6,256,2,4,balanced,0.1\n");
  ASSERT_EQ(r.in.samples.size(), 1U);
  EXPECT_THAT(r.in.samples[0].shape, ElementsAre(16, 4096, 2048, 256, 6, 2, 4));
  EXPECT_EQ(r.in.samples[0].variant, "balanced");
}

// message_size counts elements: 256 of half are 512 B.
TEST(Tables, Collectives) {
  Read const r =
      read("h100_sxm/comm/nccl/2.27.3/nccl_perf.csv",
           "framework,version,device,op_name,kernel_source,nccl_dtype,num_gpus,message_size,latency\n"
           "TRTLLM,2.29.2,NVIDIA H100 80GB HBM3,alltoall,NCCL,half,8,256,0.01\n"
           "TRTLLM,2.29.2,NVIDIA H100 80GB HBM3,reduce,NCCL,int8,8,256,0.01\n"
           "TRTLLM,2.29.2,NVIDIA H100 80GB HBM3,all_gather,NCCL,qint3,8,256,0.01\n");
  ASSERT_EQ(r.in.samples.size(), 1U);
  EXPECT_EQ(r.in.samples[0].operation, "all_to_all");
  EXPECT_EQ(r.in.samples[0].version, "nccl 2.29.2");
  EXPECT_THAT(r.in.samples[0].shape, ElementsAre(512, 8, 1));
  EXPECT_EQ(r.in.skipped.size(), 1U);
  EXPECT_THAT(format(r.in.problems), HasSubstr("'qint3' is no element type"));

  Read const custom =
      read("x/custom_allreduce_perf.csv",
           "framework,version,device,op_name,kernel_source,allreduce_dtype,num_gpus,message_size,latency,"
           "backend\nvLLM,0.14.0,NVIDIA "
           "A100-SXM4-80GB,all_reduce,vLLM_custom_graph,bfloat16,2,128,0.005,vllm_graph\n");
  ASSERT_EQ(custom.in.samples.size(), 1U);
  EXPECT_THAT(custom.in.samples[0].shape, ElementsAre(256, 2, 1));
  EXPECT_EQ(custom.in.samples[0].variant, "vllm_graph");
}

TEST(Tables, DeepEpsOwnFigures) {
  Read const r =
      read("deepep/deepep_readme.csv",
           "version,gpu,nic,mode,EP,dispatch_us,combine_us,dispatch_GBps,combine_GBps,bottleneck,note\n"
           "V1,H800,CX7 400G,normal,16,,,43,43,RDMA,\n"
           "V1,H800,CX7 400G,low-latency,8,77,114,,,RDMA,\n"
           "V1,H800,CX7 400G,low-latency,32,155,273,,,RDMA,\n");
  ASSERT_EQ(r.in.samples.size(), 4U) << format(r.in.problems);
  EXPECT_EQ(r.in.samples[0].variant, "deepep low latency, RDMA only");
  EXPECT_EQ(r.in.samples[0].fabric, "");
  EXPECT_EQ(r.in.samples[3].operation, "ep_combine");
  EXPECT_EQ(r.in.samples[3].gpu, "h800-sxm");
  EXPECT_EQ(r.in.samples[3].fabric, "ib-400g");
  EXPECT_THAT(r.in.samples[3].shape, ElementsAre(128, 7168, 256, 8, 32, 4));
  EXPECT_DOUBLE_EQ(r.in.samples[3].seconds.value, 273e-6);
  ASSERT_EQ(r.in.skipped.size(), 1U);
  EXPECT_EQ(r.in.skipped[0].rows, 1);
}

// 37.28 us of transport and 32.97 us of notification on two nodes.
TEST(Tables, ExpertExchange) {
  Read const r = read(
      "h100/wideep_deepep_normal_perf.csv",
      "framework,version,device,op_name,node_num,kernel_source,hidden_size,num_token,num_topk,num_experts,"
      "dispatch_sms,dispatch_transmit_us,dispatch_notify_us,combine_sms,combine_transmit_us,"
      "combine_notify_us\nsglang,0.5.0,NVIDIA H100,normal,2,deepep,7168,4,8,256,20,37.28,32.97,24,48.36,0\n");
  ASSERT_EQ(r.in.samples.size(), 2U) << format(r.in.problems);
  EXPECT_EQ(r.in.samples[0].operation, "ep_dispatch");
  EXPECT_DOUBLE_EQ(r.in.samples[0].seconds.value, 37.28e-6 + 32.97e-6);
  EXPECT_THAT(r.in.samples[0].shape, ElementsAre(4, 7168, 256, 8, 16, 2));
  EXPECT_EQ(r.in.samples[1].variant, "deepep normal, 24 SMs");
  EXPECT_DOUBLE_EQ(r.in.samples[1].seconds.value, 48.36e-6);
}

// Llama-3-8B at TP 2: q + k + v = (16 + 2 x 4) x 128 = 3,072; gate and up 2 x 14,336 / 2.
TEST(Tables, VidurLayers) {
  Read const r = read("vidur/compute/h100/meta-llama/Meta-Llama-3-8B/mlp.csv",
                      "time_stats.emb.median,time_stats.input_layernorm.median,time_stats.attn_pre_proj."
                      "median,time_stats.attn_rope."
                      "median,time_stats.attn_post_proj.median,time_stats.post_attention_layernorm.median,"
                      "time_stats.mlp_up_proj.median,"
                      "time_stats.mlp_act.median,time_stats.mlp_down_proj.median,time_stats.add.median,n_"
                      "head,n_kv_head,n_embd,"
                      "n_expanded_embd,vocab_size,use_gated_mlp,num_tokens,num_tensor_parallel_workers\n"
                      ".1,.2,.3,.4,.5,.6,.7,.8,.9,0.0,32,8,4096,14336,128256,True,64,2\n");
  EXPECT_EQ(r.kind, "vidur layers");
  ASSERT_EQ(r.in.samples.size(), 10U) << format(r.in.problems);
  EXPECT_THAT(r.in.samples[0].shape, ElementsAre(64, 3072, 4096));
  EXPECT_DOUBLE_EQ(r.in.samples[0].seconds.value, 0.3e-3);
  EXPECT_THAT(r.in.samples[1].shape, ElementsAre(64, 4096, 2048));
  EXPECT_THAT(r.in.samples[2].shape, ElementsAre(64, 14336, 4096));
  EXPECT_THAT(r.in.samples[3].shape, ElementsAre(64, 4096, 7168));
  EXPECT_EQ(r.in.samples[6].variant, "rope");
  EXPECT_THAT(r.in.samples[6].shape, ElementsAre(64, (16 + 4) * 128));
  EXPECT_EQ(r.in.skipped.at(0).why, "an operation without a time");
  EXPECT_EQ(r.in.samples[0].variant, "sustained");
  // Products: 0.3 + 0.5 + 0.7 + 0.9 ms. Without the time of the residual add there is no whole layer.
  EXPECT_EQ(r.in.samples[9].operation, "layer_gemm");
  EXPECT_EQ(r.in.samples[9].variant, "fused");
  EXPECT_THAT(r.in.samples[9].shape, ElementsAre(64, 4096, 32, 8, 128, 14336, 2));
  EXPECT_NEAR(r.in.samples[9].seconds.value, 2.4e-3, 1e-12);
}

// Products 0.3 + 0.5 + 0.7 + 0.9 = 2.4 ms; norms 0.2 + 0.6, rope 0.4, activation 0.8 and twice an add of
// 0.05: 2.1 ms.
TEST(Tables, VidurLayersAsAWhole) {
  Read const r = read("vidur/compute/h100/meta-llama/Meta-Llama-3-8B/mlp.csv",
                      "time_stats.emb.median,time_stats.input_layernorm.median,time_stats.attn_pre_proj."
                      "median,time_stats.attn_rope."
                      "median,time_stats.attn_post_proj.median,time_stats.post_attention_layernorm.median,"
                      "time_stats.mlp_up_proj.median,"
                      "time_stats.mlp_act.median,time_stats.mlp_down_proj.median,time_stats.add.median,n_"
                      "head,n_kv_head,n_embd,"
                      "n_expanded_embd,vocab_size,use_gated_mlp,num_tokens,num_tensor_parallel_workers\n"
                      ".1,.2,.3,.4,.5,.6,.7,.8,.9,.05,32,8,4096,14336,128256,True,64,2\n"
                      ".1,.2,.3,.4,.5,.6,.7,.8,.9,.05,32,8,4096,14336,128256,False,64,2\n");
  ASSERT_EQ(r.in.samples.size(), 22U) << format(r.in.problems);
  EXPECT_EQ(r.in.samples[11].operation, "layer");
  EXPECT_NEAR(r.in.samples[11].seconds.value, 4.5e-3, 1e-12);
}

// 16 sequences of 1,024 with 16 heads of 128: a forward is 4 x 1,024^2 / 2 x 2,048 FLOP each, 68.72 GFLOP in
// all, 3.5 times that is 240.5 GFLOP; at 133 TFLOP/s 1.8084 ms.
TEST(Tables, FlashAttentionCharts) {
  Read const r = read("fa.csv",
                      "gpu,kernel,pass,causal,head_dim,seqlen,batch_x_seqlen,tflops,read_from\n"
                      "A100-80GB SXM,FA2,fwd+bwd,1,128,1024,16384,133,chart labels\n"
                      "A100-80GB SXM,FA2,fwd+bwd,0,128,1024,16384,173,chart labels\n");
  ASSERT_EQ(r.in.samples.size(), 1U) << format(r.in.problems);
  Sample const& s = r.in.samples[0];
  EXPECT_EQ(s.gpu, "a100-sxm-80gb");
  EXPECT_EQ(s.operation, "attention_backward");
  EXPECT_EQ(s.variant, "forward");
  EXPECT_THAT(s.shape, ElementsAre(16, 1024, 16, 16, 128));
  EXPECT_NEAR(s.seconds.value, 1.8084e-3, 1e-7);
  EXPECT_EQ(r.in.skipped.size(), 1U);
}

TEST(Tables, VidurNetwork) {
  Read const r = read("vidur/network/a100_dgx/all_reduce.csv",
                      ",time_stats.all_reduce.median,rank,num_workers,size,collective,devices_per_node,"
                      "max_devices_per_node\n0,0.043,0,4,2048,all_reduce,2,8\n");
  ASSERT_EQ(r.in.samples.size(), 1U) << format(r.in.problems);
  EXPECT_THAT(r.in.samples[0].shape, ElementsAre(2048, 4, 2));
}

TEST(Tables, LlmServingSim) {
  std::string const rows =
      "layer_name,input,kv_cache,tp_size,latency(ns)\ngate_proj,512,0,2,43777\nattn,512,100,2,15742\nwhat,1,"
      "0,1,5\n";
  Read const r = read("h100/Llama-3.1-8B/tp2/layers.csv", rows);
  ASSERT_EQ(r.in.samples.size(), 2U) << format(r.in.problems);
  EXPECT_THAT(r.in.samples[0].shape, ElementsAre(512, 7168, 4096));
  EXPECT_DOUBLE_EQ(r.in.samples[0].seconds.value, 43777e-9);
  EXPECT_THAT(r.in.samples[1].shape, ElementsAre(1, 512, 100, 16, 4, 128));
  EXPECT_EQ(r.in.skipped.size(), 1U);
  EXPECT_THAT(format(read("h100/unknown/layers.csv", rows).in.problems),
              HasSubstr("names a model of the catalog"));
}

// Median of 55.36 and 55.28 is 55.32 GB/s; 512 MiB take 536,870,912 / 55.32e9 s.
TEST(Tables, Nvbandwidth) {
  Read const r = read(
      "nvb.txt",
      "nvbandwidth Version: v0.8\n\nDevice 0: NVIDIA H100 80GB HBM3 (00000000:1b:00)\nDevice 1: NVIDIA "
      "H100 80GB HBM3 (0)\n\nRunning host_to_device_memcpy_ce.\nmemcpy CE CPU(row) -> GPU(column) bandwidth "
      "(GB/s)\n           0         1\n 0     55.36     55.28\n\nSUM host_to_device_memcpy_ce 110.64\n\n"
      "Running device_to_device_memcpy_read_ce.\nmemcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n"
      "           0         1\n 0       N/A    395.1\n 1     395.1       N/A\n 1     garbage    x\n"
      "\nRunning host_to_device_memcpy_sm.\n   0\n 0  55\n");
  EXPECT_EQ(r.kind, "nvbandwidth output");
  ASSERT_EQ(r.in.samples.size(), 2U) << format(r.in.problems);
  EXPECT_EQ(r.in.samples[0].variant, "h2d");
  EXPECT_EQ(r.in.samples[0].gpu, "h100-sxm");
  EXPECT_EQ(r.in.samples[0].version, "nvbandwidth v0.8");
  EXPECT_NEAR(r.in.samples[0].seconds.value, 536870912 / 55.32e9, 1e-12);
  EXPECT_EQ(r.in.samples[1].variant, "peer");
  EXPECT_EQ(r.in.problems.size(), 1U);
  EXPECT_EQ(r.in.skipped.size(), 1U);
}

class Folder : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("rollcast-import-" + std::to_string(::getpid()));
    fs::create_directories(folder_ / "b" / ".hidden");
  }
  void TearDown() override { fs::remove_all(folder_); }
  void write(std::string const& name, std::string const& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  fs::path folder_;
};

TEST_F(Folder, FindsKnownKindsInTheOrderOfTheirNames) {
  std::string const samples =
      "# rollcast samples 1\n# gpu: h100-sxm\noperation,dtype,shape,seconds\ncopy,,1,1\n";
  write("b/two.csv", samples);
  write("a.csv", samples);
  write("b/.hidden/no.csv", samples);
  write("notes.csv", "some,other,table\n1,2,3\n");
  write("binary.csv", std::string("a,b\0c", 5));
  write("LICENSE", "words");
  write("empty.csv", "");
  ImportResult r;
  import_path(folder_.string(), {}, r);
  EXPECT_TRUE(r.imported.problems.empty()) << format(r.imported.problems);
  ASSERT_EQ(r.files.size(), 2U);
  EXPECT_EQ(r.imported.samples[0].source, "a.csv");
  EXPECT_EQ(r.imported.samples[1].source, "b/two.csv");
}

TEST_F(Folder, OnePathMustBeThereAndKnown) {
  write("notes.csv", "some,other,table\n1,2,3\n");
  ImportResult r;
  import_path((folder_ / "notes.csv").string(), {}, r);
  import_path((folder_ / "gone").string(), {}, r);
  ASSERT_EQ(r.imported.problems.size(), 2U);
  EXPECT_THAT(format(r.imported.problems[0]),
              HasSubstr("none of the kinds that can be read; rollcast samples,"));
  EXPECT_THAT(format(r.imported.problems[1]), HasSubstr("is not there"));
}

// Rows by `wc -l` less the header. Left out: the 22 rows of the nccl tables that their poster calls
// under-performing, six of DeepEP's that are bandwidths. A vidur row has ten operations and two sums of a
// layer, of LLMServingSim 2,048 token counts have the two sums, half of the charts is not causal, a DeepEP
// row has two.
TEST(SharedData, EveryRowIsRead) {
  fs::path const data = fs::path(ROLLCAST_SOURCE_DIR) / ".." / "shared" / "data";
  if (!fs::exists(data / "aiconfigurator")) GTEST_SKIP() << "no measured tables at ../shared/data";
  ImportResult r;
  import_path(data.string(), {}, r);
  EXPECT_TRUE(r.imported.problems.empty()) << format(r.imported.problems);
  std::map<std::string, std::size_t> rows;
  for (ImportedFile const& f : r.files) rows[f.kind] += f.samples;
  EXPECT_EQ(rows["aiconfigurator gemm"], 29526U + 77292U);
  EXPECT_EQ(rows["aiconfigurator context attention"], 5627U + 5457U + 42772U);
  EXPECT_EQ(rows["aiconfigurator generation attention"], 5093U + 5431U + 51054U);
  EXPECT_EQ(rows["aiconfigurator moe"], 6360U + 31475U);
  EXPECT_EQ(rows["aiconfigurator nccl"], 504U + 504U + 342U + 1008U);
  EXPECT_EQ(rows["aiconfigurator custom all-reduce"], 4U * 138U);
  EXPECT_EQ(rows["aiconfigurator wideep"], 2U * (43U + 161U));
  EXPECT_EQ(rows["vidur layers"], 12U * (4U * 1044U + 2U * 1824U));
  EXPECT_EQ(rows["vidur network"], 2U * 1988U + 6958U + 2982U);
  EXPECT_EQ(rows["LLMServingSim layers"], 2U * (30720U + 2U * 2048U));
  EXPECT_EQ(rows["nccl-tests table"], 137U - 22U);
  EXPECT_EQ(rows["DeepEP figures"], 2U * 6U);
  EXPECT_EQ(rows["FlashAttention charts"], 12U);
  EXPECT_EQ(rows["aiconfigurator served"], 2U * 1783U);  // one engine, on a GPU of the catalog
  EXPECT_EQ(rows.size(), 14U);
}

}  // namespace
}  // namespace rollcast
