#include "models/fused_tensors.hpp"

#include <array>
#include <string_view>
#include <utility>

namespace rollcast {
namespace {

constexpr std::array<std::pair<std::string_view, FusedPart>, 5> kParts = {{{"q_proj", FusedPart::q},
                                                                           {"k_proj", FusedPart::k},
                                                                           {"v_proj", FusedPart::v},
                                                                           {"gate_proj", FusedPart::gate},
                                                                           {"up_proj", FusedPart::up}}};

}  // namespace

FusedPart fused_part(Architecture const& a, SyncTensor const& t) {
  if (t.factor) return FusedPart::none;
  for (auto const& [name, part] : kParts) {
    if (t.tensor.name.find("." + std::string(name) + ".") == std::string::npos) continue;
    bool const fused = is_qkv(part) ? !a.mla.has_value() : a.gated_mlp;
    return fused ? part : FusedPart::none;
  }
  return FusedPart::none;
}

std::string renamed(std::string const& tensor, std::string const& fused) {
  for (auto const& [name, part] : kParts) {
    auto const at = tensor.find("." + std::string(name) + ".");
    if (at != std::string::npos) return std::string(tensor).replace(at + 1, name.size(), fused);
  }
  return tensor;
}

HeadRows head_rows(Architecture const& a) {
  std::int64_t const width = a.head_dim;
  return {a.gated_attention ? 2 * width : width, width};
}

std::vector<std::int64_t> separate_rows(Architecture const& a, SyncTensor const& t) {
  bool const mixed =
      t.tensor.name == "linear_attn.in_proj_qkv.weight" || t.tensor.name == "linear_attn.conv1d.weight";
  if (!mixed || t.factor || !a.linear_attention) return {t.tensor.rows};
  std::int64_t const key = std::int64_t{a.linear_attention->key_heads} * a.linear_attention->key_head_dim;
  return {key, key, t.tensor.rows - 2 * key};
}

}  // namespace rollcast
