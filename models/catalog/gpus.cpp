// Data-sheet figures of GPUs. bf16 and fp8 are dense rates, without sparsity. Visible memory is what a
// process sees (nvidia-smi total), not the name on the box. NVLink and PCIe are per direction.
//
// "unchecked" in a source means: widely repeated, but not read in the vendor's own document for this table.
#include "models/catalog/tables.hpp"

namespace rollcast {
namespace {

constexpr char const* kRead =
    "NVIDIA data sheet, as in the tables of stas00/ml-engineering and the system files of aiconfigurator; "
    "visible memory from public logs";
constexpr char const* kCommon = "common knowledge, unchecked";
constexpr char const* kLambda =
    "Lambda's list of on-demand instances (lambda.ai/instances) as read on 2026-09-20, per GPU of a node of "
    "eight "
    "(A6000: four, H100 PCIe: one); transcribed in api-evangelist/lambda-labs, "
    "plans/lambda-labs-plans-pricing.yml";
constexpr char const* kRunpod =
    "Runpod's list of pods (runpod.io/pricing) as read on 2026-10-07, one GPU; Lambda does not rent this "
    "card; "
    "transcribed in api-evangelist/runpod, plans/runpod-plans-pricing.yml";

// Rents fall and rise by a third within a year and differ by more between providers: these are one list of
// one day. Cards that it does not have have no price.
struct Rent {
  char const* gpu;
  double dollars_per_hour;
  char const* source;
};
constexpr Rent kRents[] = {{"b200-sxm", 6.69, kLambda},      {"h100-sxm", 3.99, kLambda},
                           {"h100-pcie", 3.29, kLambda},     {"a100-sxm-80gb", 2.79, kLambda},
                           {"a100-sxm-40gb", 1.99, kLambda}, {"a6000", 1.09, kLambda},
                           {"h200-sxm", 4.59, kRunpod},      {"a100-pcie-80gb", 1.59, kRunpod}};

struct Row {
  char const* name;
  double bf16, fp8;  // TFLOP/s
  double box_gb, visible_gib;
  double memory_tbs;
  double l2_mb;
  int sms;
  double nvlink, pcie;  // GB/s per direction
  std::vector<SourceNote> sources;
};

Gpu make(Row const& r) {
  Gpu g;
  g.name = r.name;
  g.bf16 = TFLOPs(r.bf16);
  g.fp8 = TFLOPs(r.fp8);
  g.memory_on_the_box = GB(r.box_gb);
  g.visible_memory = GiB(r.visible_gib);
  g.memory_bandwidth = TB_per_s(r.memory_tbs);
  g.l2 = MB(r.l2_mb);
  g.sms = r.sms;
  g.nvlink = GB_per_s(r.nvlink);
  g.pcie = GB_per_s(r.pcie);
  g.sources = r.sources;
  for (Rent const& rent : kRents) {
    if (g.name != rent.gpu) continue;
    g.dollars_per_hour = rent.dollars_per_hour;
    g.sources.push_back({"dollars_per_hour", rent.source});
  }
  return g;
}

}  // namespace

std::vector<Gpu> gpu_table() {
  std::vector<Row> const rows = {
      // name, bf16, fp8 TFLOP/s, box GB, visible GiB, memory TB/s, L2 MB, SMs, NVLink, PCIe GB/s
      {"a100-sxm-80gb", 312, 0, 80, 79.15, 2.039, 40, 108, 300, 32, {{"*", kRead}}},
      {"a100-sxm-40gb", 312, 0, 40, 39.4, 1.555, 40, 108, 300, 32, {{"*", kCommon}}},
      {"a100-pcie-80gb",
       312,
       0,
       80,
       79.15,
       1.935,
       40,
       108,
       300,
       32,
       {{"bf16", kRead},
        {"nvlink", "bridge between pairs of cards; common knowledge, unchecked"},
        {"*", kCommon}}},
      {"h100-sxm", 989, 1979, 80, 79.1, 3.35, 50, 132, 450, 64, {{"*", kRead}}},
      {"h100-pcie",
       756,
       1513,
       80,
       79.1,
       2.0,
       50,
       114,
       300,
       64,
       {{"bf16", kRead},
        {"fp8", kRead},
        {"nvlink", "bridge between pairs of cards; common knowledge, unchecked"},
        {"*", kCommon}}},
      {"h200-sxm", 989, 1979, 141, 139.8, 4.8, 50, 132, 450, 64, {{"*", kRead}}},
      {"h800-sxm",
       989,
       1979,
       80,
       79.1,
       3.35,
       50,
       132,
       200,
       64,
       {{"nvlink", "DeepSeek-V3 and DeepEP material (about 160 GB/s of it achieved)"},
        {"*", "as H100 SXM: same chip with fewer NVLinks"}}},
      {"a800-sxm-80gb", 312, 0, 80, 79.15, 2.039, 40, 108, 200, 32, {{"*", kCommon}}},
      {"h20-sxm", 148, 296, 96, 95, 4.0, 60, 78, 450, 64, {{"*", kCommon}}},
      {"l40s", 362, 733, 48, 44.4, 0.864, 96, 142, 0, 32, {{"l2", kCommon}, {"sms", kCommon}, {"*", kRead}}},
      {"l20", 119.5, 239, 48, 44.5, 0.864, 96, 92, 0, 32, {{"*", kCommon}}},
      {"a10g", 70, 0, 24, 22.0, 0.6, 6, 80, 0, 32, {{"*", kCommon}}},
      {"a6000",
       154.8,
       0,
       48,
       47.5,
       0.768,
       6,
       84,
       56,
       32,
       {{"nvlink", "bridge between pairs of cards; common knowledge, unchecked"}, {"*", kCommon}}},
      {"v100-sxm-32gb",
       125,
       0,
       32,
       31.7,
       0.9,
       6,
       80,
       150,
       16,
       {{"bf16", "fp16 rate: the card has no bf16; common knowledge, unchecked"}, {"*", kCommon}}},
      {"rtx-4090", 165, 330, 24, 23.6, 1.008, 72, 128, 0, 32, {{"*", kCommon}}},
      {"b200-sxm",
       2250,
       4500,
       180,
       178,
       8.0,
       126,
       148,
       900,
       64,
       {{"memory_bandwidth", "NVIDIA data sheet; aiconfigurator uses 7.7 TB/s"},
        {"sms", kCommon},
        {"*", kRead}}},
      {"gb200",
       2500,
       5000,
       186,
       184,
       8.0,
       126,
       148,
       900,
       450,
       {{"pcie",
         "to the Grace CPU over NVLink-C2C, per direction (the NIC's PCIe is 64 GB/s); common knowledge, "
         "unchecked"},
        {"*", kCommon}}},
      {"c550",
       280,
       0,
       64,
       63,
       1.8,
       0,
       0,
       448,
       32,
       {{"bf16", "a public MetaX tuning report"},
        {"memory_on_the_box", "a public MetaX tuning report"},
        {"visible_memory", "a public MetaX tuning report"},
        {"nvlink",
         "a public MetaX tuning report: 7 links of 128 GB/s both ways together, 64 GB/s per direction "
         "each"},
        {"pcie", "a public MetaX tuning report"},
        {"memory_bandwidth", "figure of the C500 of the same maker; common knowledge, unchecked"},
        {"l2", "not published; 0 stands for unknown"},
        {"sms", "not published; 0 stands for unknown"}}},
  };
  std::vector<Gpu> gpus;
  gpus.reserve(rows.size());
  for (Row const& r : rows) gpus.push_back(make(r));
  return gpus;
}

}  // namespace rollcast
