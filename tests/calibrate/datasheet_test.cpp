#include "calibrate/datasheet.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "models/catalog/catalog.hpp"

namespace rollcast {
namespace {

// An "R" and two digits, alone: the case numbers of the published runs.
bool names_a_case(std::string const& text) {
  auto const is = [&](std::size_t i, int (*kind)(int)) {
    return i < text.size() && kind(static_cast<unsigned char>(text[i])) != 0;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    bool const starts = text[i] == 'R' && (i == 0 || !is(i - 1, std::isalnum));
    if (starts && is(i + 1, std::isdigit) && is(i + 2, std::isdigit)) return true;
  }
  return false;
}

bool is_time(std::string const& name) {
  return name == "kernel_launch" || name == "fabric_latency" || name.starts_with("engine_") ||
         name.starts_with("collective_alpha");
}

// Times in seconds, launches of the host that an eager operation costs, shares.
double largest(std::string const& name) {
  if (is_time(name)) return 0.01;
  return name == "eager_launches" ? 10.0 : 1.0;
}

TEST(Datasheet, EveryNumberOfEveryCardHasASourceOutsideThePublishedRuns) {
  for (Gpu const& gpu : builtin_catalog().gpus) {
    Profile const p = datasheet_profile(gpu);
    EXPECT_EQ(p.gpu.name, gpu.name);
    for (auto const& [name, number] : cited_numbers(p)) {
      std::cout << gpu.name << ' ' << name << ' ' << number.value << ": " << number.source << '\n';
      EXPECT_GT(number.source.size(), 20U) << gpu.name << ' ' << name;
      EXPECT_EQ(number.source.find("published_runs"), std::string::npos) << gpu.name << ' ' << name;
      EXPECT_FALSE(names_a_case(number.source)) << gpu.name << ' ' << name;
      EXPECT_GT(number.value, 0) << gpu.name << ' ' << name;
      EXPECT_LE(number.value, largest(name)) << gpu.name << ' ' << name;
    }
  }
}

TEST(Datasheet, TheCheckSeesACaseNumber) {
  EXPECT_TRUE(names_a_case("tuned on R01"));
  EXPECT_TRUE(names_a_case("R31: 8 GPUs"));
  EXPECT_FALSE(names_a_case("TRT-LLM 1.0, A100, PR 46112, RTX4090"));
}

TEST(Datasheet, ACardWithoutATableSaysWhatItBorrows) {
  for (Gpu const& gpu : builtin_catalog().gpus) {
    if (gpu.name == "h100-sxm" || gpu.name == "a100-sxm-80gb") continue;
    std::string const& source = datasheet_profile(gpu).gemm_bf16.source;
    EXPECT_NE(source.find("no table"), std::string::npos) << gpu.name << ": " << source;
  }
  Gpu unknown;
  unknown.name = "of-tomorrow";
  EXPECT_NE(datasheet_profile(unknown).gemm_memory.source.find("taken as A100"), std::string::npos);
}

// ---- the shares again from the measured tables, where those are at hand
std::filesystem::path const kData =
    std::filesystem::path(ROLLCAST_SOURCE_DIR).parent_path() / "shared" / "data";

using Row = std::map<std::string, std::string>;

std::vector<std::string> cells(std::string const& line) {
  std::vector<std::string> list;
  std::stringstream in(line);
  for (std::string cell; std::getline(in, cell, ',');) list.push_back(cell);
  return list;
}

template <class F>
void read_rows(std::filesystem::path const& file, F const& f) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  std::vector<std::string> const names = cells(line);
  while (std::getline(in, line)) {
    std::vector<std::string> const values = cells(line);
    Row row;
    for (std::size_t i = 0; i < std::min(names.size(), values.size()); ++i) row[names[i]] = values[i];
    f(row);
  }
}

double number(Row const& row, char const* name) { return std::stod(row.at(name)); }

double median(std::vector<double> v) {
  if (v.empty()) return 0;
  std::sort(v.begin(), v.end());
  return v.size() % 2 == 1 ? v[v.size() / 2] : (v[v.size() / 2 - 1] + v[v.size() / 2]) / 2;
}

struct Card {
  char const* gpu;
  char const* gemm;
  char const* context_attention;
  char const* decode_attention;
  char const* nccl;
};
constexpr Card kCards[] = {{"h100-sxm", "h100_sxm/gemm/vllm/0.24.0/gemm_perf.csv",
                            "h100_sxm/attention/vllm/0.24.0/context_attention_perf.csv",
                            "h100_sxm/attention/vllm/0.24.0/generation_attention_perf.csv",
                            "h100_sxm/comm/nccl/2.29.2/nccl_perf.csv"},
                           {"a100-sxm-80gb", "a100_sxm/gemm/sglang/0.5.10/gemm_perf.csv",
                            "a100_sxm/attention/sglang/0.5.10/context_attention_perf.csv",
                            "a100_sxm/attention/vllm/0.14.0/generation_attention_perf.csv",
                            "a100_sxm/comm/nccl/2.27.3/nccl_perf.csv"}};

// For the names of the tests.
void PrintTo(Card const& card, std::ostream* out) { *out << card.gpu; }

class DatasheetTables : public testing::TestWithParam<Card> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kData / "aiconfigurator")) GTEST_SKIP() << "no measured tables at " << kData;
    gpu_ = *find_gpu(builtin_catalog(), GetParam().gpu);
    profile_ = datasheet_profile(gpu_);
  }
  std::filesystem::path table(char const* name) const { return kData / "aiconfigurator" / name; }

  Gpu gpu_;
  Profile profile_;
};

bool plain_bf16(Row const& r) {
  auto const window = r.find("window_size");
  return r.at("attn_dtype") == "bfloat16" && r.at("kv_cache_dtype") == "bfloat16" &&
         r.at("head_dim") == "128" && (window == r.end() || window->second == "0");
}

TEST_P(DatasheetTables, MatrixProducts) {
  std::vector<double> large;
  std::vector<double> skinny;
  std::vector<double> fp8;
  read_rows(table(GetParam().gemm), [&](Row const& r) {
    double const m = number(r, "m"), n = number(r, "n"), k = number(r, "k"),
                 time = number(r, "latency") * 1e-3;
    bool const big = m >= 2048 && n >= 2048 && k >= 2048;
    if (r.at("gemm_dtype") == "fp8" && big) fp8.push_back(2 * m * n * k / time / gpu_.fp8.value);
    if (r.at("gemm_dtype") != "bfloat16") return;
    if (big) large.push_back(2 * m * n * k / time / gpu_.bf16.value);
    if (m <= 64 && n * k >= 16e6)
      skinny.push_back(2 * (m * k + n * k + m * n) / time / gpu_.memory_bandwidth.value);
  });
  EXPECT_NEAR(profile_.gemm_bf16.value, median(large), 0.006);
  EXPECT_NEAR(profile_.gemm_memory.value, median(skinny), 0.006);
  if (!fp8.empty()) {
    EXPECT_NEAR(profile_.gemm_fp8.value, median(fp8), 0.006);
  }
}

TEST_P(DatasheetTables, Attention) {
  std::vector<double> forward;
  read_rows(table(GetParam().context_attention), [&](Row const& r) {
    double const length = number(r, "isl");
    if (!plain_bf16(r) || r.at("step") != "0" || length < 1024 || length > 16384) return;
    double const flops =
        number(r, "batch_size") * number(r, "num_heads") * 4 * 128 * length * (length + 1) / 2;
    forward.push_back(flops / (number(r, "latency") * 1e-3) / gpu_.bf16.value);
  });
  EXPECT_NEAR(profile_.attention_forward.value, median(forward), 0.006);

  std::vector<double> decode;
  read_rows(table(GetParam().decode_attention), [&](Row const& r) {
    if (!plain_bf16(r)) return;
    double const heads =
        number(r, number(r, "num_key_value_heads") > 0 ? "num_key_value_heads" : "num_heads");
    double const kv = 2 * heads * 128 * 2 * number(r, "batch_size") * (number(r, "isl") + number(r, "step"));
    if (kv >= 64e6) decode.push_back(kv / (number(r, "latency") * 1e-3) / gpu_.memory_bandwidth.value);
  });
  EXPECT_NEAR(profile_.decode_attention.value, median(decode), 0.006);
}

TEST_P(DatasheetTables, Nvlink) {
  std::vector<double> share;
  std::vector<double> small;
  read_rows(table(GetParam().nccl), [&](Row const& r) {
    double const size = 2 * number(r, "message_size");
    if (r.at("nccl_dtype") != "half" || r.at("num_gpus") != "8") return;
    double const time = number(r, "latency") * 1e-3;
    bool const all_reduce = r.at("op_name") == "all_reduce";
    if (all_reduce && size <= 512) small.push_back(time);
    if (size >= 134217728) share.push_back((all_reduce ? 2 : 1) * 7.0 / 8 * size / time / gpu_.nvlink.value);
  });
  EXPECT_NEAR(profile_.nvlink.value, median(share), 0.006);
  EXPECT_NEAR(profile_.collective_alpha_node.value, median(small), 0.3e-6);
}

INSTANTIATE_TEST_SUITE_P(Cards, DatasheetTables, testing::ValuesIn(kCards),
                         [](auto const& card) { return std::string(card.param.gpu).substr(0, 4); });

}  // namespace
}  // namespace rollcast
