#include "calibrate/price_errors.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "calibrate/profiles.hpp"
#include "models/pools.hpp"

namespace rollcast {
namespace {

constexpr double kCommonWhenDerived = 0.56;

struct KindOfOperation {
  PriceKind kind;
  std::string_view operation;  // how its name begins
  double elsewhere;            // sigma that other machines showed; 0: nothing comparable
  double derived_p90;          // of rows of H100 priced from A100; 0: no such rows
};

constexpr KindOfOperation kOperations[] = {
    {PriceKind::products, "gemm", 0.067, 0.28},
    {PriceKind::decode_attention, "attention_decode", 0, 0.50},
    {PriceKind::prompt_attention, "attention_prefill", 0, 0.41},
    {PriceKind::attention_backward, "attention_backward", 0, 0},
    {PriceKind::experts, "moe", 0, 0.82},
    {PriceKind::passes, "memory_pass", 0, 0.32},
    {PriceKind::clock, "sustained_clock", 0, 0},
    {PriceKind::node_collectives, "collectives", 0.079, 0.58},
};

// nullopt: no row of such an operation was held out.
std::optional<double> p90_of(ProfileText const& text, std::string_view operation) {
  double rows = 0, sum = 0;
  for (OperationNote const& o : text.operations) {
    if (!o.operation.starts_with(operation) || o.heldout_rows == 0) continue;
    rows += o.heldout_rows;
    sum += o.heldout_rows * o.heldout_p90;
  }
  return rows > 0 ? std::optional(sum / rows) : std::nullopt;
}

double sigma_of_kind(KindOfOperation const& k, ProfileText const& text, double p90, Gpu const& gpu) {
  double const measured = std::max(sigma_of(p90), k.elsewhere);
  if (price_note(text, gpu).basis == PriceBasis::measured) return measured;
  return std::max(measured, kCommonWhenDerived * sigma_of(k.derived_p90));
}

}  // namespace

PriceErrors price_errors(ProfileTexts const& texts, Gpu const& gpu) {
  PriceErrors e;
  e[PriceKind::attention_backward] = sigma_of(0.26);
  e[PriceKind::network_collectives] = sigma_of(0.15);
  e[PriceKind::engine] = 0.25;
  e[PriceKind::launches] = 0.30;
  e[PriceKind::dequantization] = 0.30;
  e[PriceKind::host_copies] = 0.10;
  for (KindOfOperation const& k : kOperations) {
    for (ProfileText const& text : texts) {
      auto const p90 = p90_of(text, k.operation);
      if (!p90) continue;
      e[k.kind] = sigma_of_kind(k, text, *p90, gpu);
      break;
    }
  }
  return e;
}

std::vector<PriceErrors> price_errors_for(Job const& job) {
  std::vector<PriceErrors> errors;
  for (Pool const& pool : pools_of(job)) {
    Gpu const& gpu = pool.cluster.node.gpu;
    auto text = built_in_text_for(gpu, name_of(job.rollout.kind));
    errors.push_back(text ? price_errors({*text}, gpu) : PriceErrors{});
  }
  return errors;
}

std::vector<Profile> perturbed(std::vector<Profile> const& of_pools, std::vector<PriceErrors> const& errors,
                               PriceScores const& z) {
  if (of_pools.size() != errors.size()) throw std::logic_error("as many errors as profiles");
  std::vector<Profile> out;
  for (std::size_t i = 0; i < of_pools.size(); ++i)
    out.push_back(perturbed(of_pools[i], price_factors(errors[i], z)));
  return out;
}

}  // namespace rollcast
