#include "models/profile.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace rollcast {
namespace {

// 3 %, 14 %; below 10 % one digit after the point.
std::string percent_text(double share) {
  return share < 0.0995 ? fmt::format("{:.1f} %", 100 * share) : fmt::format("{:.0f} %", 100 * share);
}

std::string in_brackets(std::string const& stack, std::string const& date) {
  if (stack.empty()) return {};
  return fmt::format(" ({}{}{})", stack, date.empty() ? "" : ", ", date);
}

std::string words_of(OwnPrices const& own, std::string const& gpu) {
  std::string const profile = fmt::format("own profile '{}'", own.profile);
  if (own.operations.empty()) return fmt::format(", nothing of {} was used; all", profile);
  std::string operations;
  for (std::string const& o : own.operations) operations += (operations.empty() ? "" : ", ") + o;
  return fmt::format(", {} {} by {}{}; the rest", operations,
                     own.from == gpu ? "measured" : "derived from " + own.from, profile,
                     in_brackets(own.stack, own.date));
}

}  // namespace

std::string_view name_of(PriceBasis b) {
  switch (b) {
    case PriceBasis::data_sheet:
      return "data_sheet";
    case PriceBasis::measured:
      return "measured";
    case PriceBasis::derived:
      return "derived";
  }
  throw std::logic_error("no such PriceBasis");
}

std::string sentence(PriceNote const& n) {
  if (n.gpu.empty()) return {};
  std::string out = "Prices: " + n.gpu;
  out += n.own.profile.empty() ? "," : words_of(n.own, n.gpu);
  if (n.basis == PriceBasis::data_sheet) out += " data sheet and cited shares of it";
  if (n.basis == PriceBasis::measured) out += " measured";
  if (n.basis == PriceBasis::derived) out += " derived from " + n.from + " by the ratio of rooflines";
  out += in_brackets(n.stack, n.date);
  if (n.p90 > 0) {
    out +=
        fmt::format("; error of a kernel {} median, {} at p90", percent_text(n.median), percent_text(n.p90));
    if (!n.band.empty()) out += fmt::format(" ({})", n.band);
  }
  return out + ".";
}

std::vector<std::pair<std::string, Cited>> cited_numbers(Profile const& p) {
  return {{"gemm_bf16", p.gemm_bf16},
          {"gemm_fp8", p.gemm_fp8},
          {"gemm_memory", p.gemm_memory},
          {"attention_forward", p.attention_forward},
          {"attention_backward", p.attention_backward},
          {"decode_attention", p.decode_attention},
          {"memory_pass", p.memory_pass},
          {"sustained_clock", p.sustained_clock},
          {"nvlink", p.nvlink},
          {"network", p.network},
          {"pcie", p.pcie},
          {"kernel_launch", p.kernel_launch},
          {"eager_launches", p.eager_launches},
          {"dequantization", p.dequantization},
          {"engine_step", p.engine_step},
          {"engine_per_sequence", p.engine_per_sequence},
          {"engine_per_sequence_synchronous", p.engine_per_sequence_synchronous},
          {"engine_logprobs_step", p.engine_logprobs_step},
          {"engine_logprobs_per_sequence", p.engine_logprobs_per_sequence},
          {"engine_text_per_sequence", p.engine_text_per_sequence},
          {"engine_all_reduce_alpha", p.engine_all_reduce_alpha},
          {"collective_alpha_node", p.collective_alpha_node},
          {"collective_alpha_network", p.collective_alpha_network},
          {"fabric_latency", p.fabric_latency}};
}

}  // namespace rollcast
