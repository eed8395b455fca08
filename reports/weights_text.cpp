#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <stdexcept>

#include "reports/text_layout.hpp"
#include "reports/weights_report.hpp"

namespace rollcast {
namespace {

constexpr int kWidth = 110;
constexpr std::size_t kMostGroups = 12;
constexpr std::size_t kMostPairs = 8;
constexpr std::size_t kMostSources = 8;
constexpr std::size_t kMostRanks = 8;

std::string size(std::int64_t bytes) { return format(Bytes(static_cast<double>(bytes))); }

std::string plural(std::int64_t n, std::string_view what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

std::string more(std::size_t n, std::string_view what) {
  return plural(static_cast<std::int64_t>(n), fmt::format("more {}", what));
}

// "0-7", "3", "0, 4, 8, 12", "0, 2, ... (8 ranks)".
std::string rank_list(std::vector<int> const& ranks) {
  if (ranks.size() == 1) return std::to_string(ranks.front());
  if (ranks.back() - ranks.front() + 1 == static_cast<int>(ranks.size()))
    return fmt::format("{}-{}", ranks.front(), ranks.back());
  if (ranks.size() <= 4) return fmt::format("{}", fmt::join(ranks, ", "));
  return fmt::format("{}, {}, ... ({})", ranks[0], ranks[1], ranks.size());
}

int engine_ranks(Reshard const& r) { return r.rollout.parallel.tp * r.rollout.parallel.pp; }

std::string layouts(WeightsForecast const& f) {
  TrainLayout const& t = f.map.train;
  RolloutLayout const& r = f.map.rollout;
  bool const experts = f.map.model.moe.has_value();
  auto const pool = [](std::string const& name) {
    return name.empty() ? "" : fmt::format(" of pool {}", name);
  };
  std::string out = fmt::format("From {}{}: {}, {}.\n", plural(t.ranks, "rank"), pool(f.train_pool),
                                layout_text(t.parallel, experts), sharding_text(t.sharding));
  out += fmt::format("To {}{}: {} of {}{}{}.\n", plural(r.ranks, "rank"), pool(f.rollout_pool),
                     plural(r.ranks / engine_ranks(f.map), "engine"), layout_text(r.parallel, experts),
                     r.data_parallel_attention ? ", attention whole on each rank" : "",
                     f.colocated ? ", on the same GPUs" : "");
  return out;
}

std::string verdict(WeightsForecast const& f) {
  SyncTraffic const& t = f.traffic;
  std::size_t const sender = busiest_rank(t.sent);
  std::size_t const receiver = busiest_rank(t.received);
  std::string sentence =
      fmt::format("One sync moves {}, {} of it over the network: {} ({}{}) to {}.", size(t.total.total()),
                  size(t.total.at(SyncLink::network)), plural(t.tensors, "tensor"), size(t.whole_bytes),
                  f.map.payload.factors ? ", the adapter alone"
                  : f.merged_adapter    ? ", the adapter merged into them"
                                        : "",
                  plural(f.map.rollout.ranks / engine_ranks(f.map), "engine"));
  if (t.total.to_others() > 0) {
    sentence += fmt::format(
        " Largest sender to other GPUs: rank {}, {}; largest receiver from them: rank {}, {}.", sender,
        size(t.sent[sender].to_others()), receiver, size(t.received[receiver].to_others()));
  } else {
    sentence += " Nothing leaves its GPU.";
  }
  return paragraph(sentence, kWidth);
}

std::string_view title_of(SyncLink l) {
  switch (l) {
    case SyncLink::same_gpu:
      return "on the same GPU";
    case SyncLink::node:
      return "within a node";
    case SyncLink::network:
      return "between nodes";
  }
  throw std::logic_error("no such SyncLink");
}

constexpr std::array<SyncLink, kSyncLinks> kLinks = {SyncLink::same_gpu, SyncLink::node, SyncLink::network};

std::string links_text(SyncTraffic const& t) {
  std::string out = "\nBytes by link\n";
  for (SyncLink const l : kLinks) {
    out += fmt::format("  {:<16}{:>10}  {:>6}\n", title_of(l), size(t.total.at(l)),
                       percent(static_cast<double>(t.total.at(l)) / static_cast<double>(t.total.total())));
  }
  if (t.node_pairs.empty()) return out;
  std::vector<std::pair<std::pair<int, int>, std::int64_t>> pairs(t.node_pairs.begin(), t.node_pairs.end());
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](auto const& a, auto const& b) { return a.second > b.second; });
  for (std::size_t i = 0; i < std::min(pairs.size(), kMostPairs); ++i) {
    out += fmt::format("    {:<14}{:>10}\n",
                       fmt::format("node {} to {}", pairs[i].first.first, pairs[i].first.second),
                       size(pairs[i].second));
  }
  if (pairs.size() > kMostPairs)
    out += fmt::format("    and {} of nodes, each {} or less\n", more(pairs.size() - kMostPairs, "pair"),
                       size(pairs[kMostPairs].second));
  return out;
}

std::string ranks_text(std::vector<LinkBytes> const& ranks, std::string_view title) {
  std::vector<RankGroup> const groups = equal_ranks(ranks);
  std::string out =
      fmt::format("\n{:<28}{:>12}{:>12}{:>12}{:>12}\n", title, "same GPU", "node", "network", "total");
  for (std::size_t i = 0; i < std::min(groups.size(), kMostGroups); ++i) {
    RankGroup const& g = groups[i];
    out += fmt::format("  {:<26}", (g.ranks.size() == 1 ? "rank " : "ranks ") + rank_list(g.ranks));
    for (SyncLink const l : kLinks)
      out += fmt::format("{:>12}", g.bytes.at(l) > 0 ? size(g.bytes.at(l)) : "-");
    out += fmt::format("{:>12}\n", size(g.bytes.total()));
  }
  if (groups.size() > kMostGroups) {
    std::int64_t least = groups[kMostGroups].bytes.total(), most = least, rest = 0;
    for (std::size_t i = kMostGroups; i < groups.size(); ++i) {
      least = std::min(least, groups[i].bytes.total());
      most = std::max(most, groups[i].bytes.total());
      rest += static_cast<std::int64_t>(groups[i].ranks.size());
    }
    out += fmt::format("  and {}, {} to {} each\n", plural(rest, "more rank"), size(least), size(most));
  }
  return out;
}

std::string fp8_text(WeightsForecast const& f) {
  SyncTraffic const& t = f.traffic;
  if (t.blocks == 0) return "";
  bool const tensor = f.map.payload.scaling == Fp8Scaling::tensor;
  std::string s = fmt::format("fp8 with a scale {}: {} of scales are among the bytes.",
                              tensor ? "per tensor" : "per 128 x 128 block", size(t.scale_bytes));
  if (t.blocks_cut_by_trainer > 0)
    s += fmt::format(
        " {} of {} {} lie on several ranks of the trainer, whose largest values must be compared before they "
        "are quantized.",
        t.blocks_cut_by_trainer, t.blocks, tensor ? "tensors" : "blocks");
  if (!tensor && t.blocks_cut_by_engines > 0)
    s += fmt::format(
        " {} of {} blocks are cut by the engines' layout: vLLM and SGLang refuse it (\"not divisible by "
        "weight "
        "quantization block\").",
        t.blocks_cut_by_engines, t.blocks);
  return "\n" + paragraph(s, kWidth);
}

// Copies that continue one another's rows, then what is left of a flat shard as one range.
std::string pieces_text(Architecture const& a, SyncTensor const& t, std::vector<PartCopy> copies) {
  std::sort(copies.begin(), copies.end(), [](PartCopy const& x, PartCopy const& y) {
    return std::pair(x.rows.first, x.columns.first) < std::pair(y.rows.first, y.columns.first);
  });
  std::vector<PartCopy> merged;
  for (PartCopy const& c : copies) {
    bool const follows = !merged.empty() && merged.back().rows.end() == c.rows.first &&
                         merged.back().columns.first == c.columns.first &&
                         merged.back().columns.count == c.columns.count;
    if (follows) {
      merged.back().rows.count += c.rows.count;
    } else {
      merged.push_back(c);
    }
  }
  if (merged.size() == 1) return what_text(a, t, merged.front().rows, merged.front().columns);
  bool const flat = std::all_of(merged.begin() + 1, merged.end(),
                                [&](PartCopy const& c) { return (&c - 1)->rows.end() == c.rows.first; });
  if (flat) {
    IndexRange const rows{merged.front().rows.first, merged.back().rows.end() - merged.front().rows.first};
    return what_text(a, t, rows, {0, t.tensor.columns}) + " (the ends in part)";
  }
  std::string out;
  for (PartCopy const& c : merged) out += (out.empty() ? "" : ", ") + what_text(a, t, c.rows, c.columns);
  return out;
}

// From one source rank to one engine rank, of one parameter of the engine.
struct Delivery {
  std::int64_t bytes = 0;
  SyncLink link = SyncLink::same_gpu;
  std::string what;
};

std::string parameter_text(WeightsForecast const& f, std::string const& parameter) {
  std::map<int, std::map<int, Delivery>> deliveries;  // by the engine's rank, by the trainer's
  std::vector<std::string> sources;
  std::string alike;
  for (TensorDetail const& d : f.details) {
    if (d.destination.stored != parameter) continue;
    if (d.tensor.experts > 1)
      alike = fmt::format(" (experts {}-{} likewise)", d.tensor.first_expert + 1,
                          d.tensor.first_expert + d.tensor.experts - 1);
    if (std::find(sources.begin(), sources.end(), d.source.stored) == sources.end())
      sources.push_back(d.source.stored);
    std::map<std::pair<int, int>, std::vector<PartCopy>> copies;
    for (RankCopy const& c : d.copies) {
      copies[{c.destination_rank, c.source_rank}].push_back(c.what);
      Delivery& to = deliveries[c.destination_rank][c.source_rank];
      to.bytes += c.bytes;
      to.link = c.link;
    }
    for (auto const& [ranks, list] : copies) {
      std::string& what = deliveries[ranks.first][ranks.second].what;
      what += (what.empty() ? "" : "; ") + pieces_text(f.map.model, d.tensor, list);
    }
  }
  // Tensors that the trainer keeps apart have the checkpoint's names.
  bool const one = sources.size() == 1 && sources.front() != parameter;
  std::string out = fmt::format("  {}{}{}\n", parameter, one ? " from " + sources.front() : "", alike);
  std::size_t shown = 0;
  for (auto const& [rank, from] : deliveries) {
    if (++shown > kMostRanks) break;
    std::size_t told = 0;
    for (auto const& [source, d] : from) {
      if (++told > kMostSources) break;
      out += fmt::format("    rank {} <- train rank {} ({}, {}): {}\n", rank, source, size(d.bytes),
                         title_of(d.link), d.what);
    }
    if (from.size() > kMostSources)
      out += fmt::format("    rank {} <- {}\n", rank, more(from.size() - kMostSources, "rank"));
  }
  if (deliveries.size() > kMostRanks)
    out += fmt::format("    {} likewise\n", more(deliveries.size() - kMostRanks, "rank"));
  return out;
}

std::string detail_text(WeightsForecast const& f) {
  if (f.details.empty()) return "";
  std::string out = fmt::format("\nIn detail, to engine {}\n", f.engine);
  std::vector<std::string> parameters;
  for (TensorDetail const& d : f.details) {
    if (std::find(parameters.begin(), parameters.end(), d.destination.stored) == parameters.end())
      parameters.push_back(d.destination.stored);
  }
  for (std::string const& parameter : parameters) out += parameter_text(f, parameter);
  return out;
}

std::string wire_text(WeightsForecast const& f) {
  std::string out =
      "\nThe wire alone, at the profile's bandwidths (no latency, gathering, casting or handles; kinds of "
      "link "
      "side by side)\n";
  for (WireNeed const& w : f.wire)
    out += fmt::format("  {:<16}{:>10}  {} {}\n", title_of(w.link), format(w.time), w.busiest, size(w.bytes));
  if (f.traffic.total.at(SyncLink::network) > 0 &&
      std::none_of(f.wire.begin(), f.wire.end(),
                   [](WireNeed const& w) { return w.link == SyncLink::network; }))
    out += "  between nodes: the nodes have no network cards\n";
  return out;
}

}  // namespace

std::string layout_text(Parallel const& p, bool experts) {
  std::string out = fmt::format("tp {}", p.tp);
  if (p.pp > 1) out += fmt::format(", pp {}", p.pp);
  if (experts && p.ep > 1) out += fmt::format(", ep {}", p.ep);
  if (experts && p.etp > 0 && p.etp != p.tp) out += fmt::format(", etp {}", p.etp);
  return out;
}

std::string weights_text(WeightsForecast const& f) {
  return verdict(f) + layouts(f) + links_text(f.traffic) + ranks_text(f.traffic.sent, "Sent") +
         ranks_text(f.traffic.received, "Received") + fp8_text(f) + detail_text(f) + wire_text(f);
}

}  // namespace rollcast
