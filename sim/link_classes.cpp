#include "sim/link_classes.hpp"

#include <algorithm>
#include <compare>
#include <cstdint>
#include <map>
#include <stdexcept>

namespace rollcast {
namespace {

// A flow as it will be made: all copies of a traffic (copy -1), or one of them, with one share.
struct FlowKey {
  std::int32_t traffic = 0;
  std::int32_t copy = -1;
  double share = 1;
  friend bool operator==(FlowKey const&, FlowKey const&) = default;
  friend auto operator<=>(FlowKey const&, FlowKey const&) = default;
};

// One flow on one link; `times` copies of it cross the link.
struct Use {
  LinkId link = -1;
  FlowKey flow;
  std::int32_t times = 1;
};

// Capacity left to one copy, and the flows: links with the same are one class.
struct ClassKey {
  double capacity = 0;
  std::vector<FlowKey> flows;
  friend auto operator<=>(ClassKey const&, ClassKey const&) = default;
};

// Every use, by link, then by flow.
std::vector<Use> uses_of(std::vector<Traffic> const& traffics, std::vector<bool> const& copy_by_copy) {
  std::vector<Use> all;
  for (std::size_t t = 0; t < traffics.size(); ++t) {
    for (std::size_t c = 0; c < traffics[t].copies.size(); ++c) {
      auto const copy = copy_by_copy[t] ? static_cast<std::int32_t>(c) : -1;
      for (Crossing const& x : traffics[t].copies[c])
        all.push_back({x.link, {static_cast<std::int32_t>(t), copy, x.share}, 1});
    }
  }
  std::sort(all.begin(), all.end(),
            [](Use const& a, Use const& b) { return a.link != b.link ? a.link < b.link : a.flow < b.flow; });
  std::vector<Use> out;
  for (Use const& u : all) {
    if (!out.empty() && out.back().link == u.link && out.back().flow == u.flow) {
      ++out.back().times;
    } else {
      out.push_back(u);
    }
  }
  return out;
}

// Calls visit(first, last) for the uses of each link.
template <class Visit>
void for_each_link(std::vector<Use> const& uses, Visit visit) {
  for (auto first = uses.begin(); first != uses.end();) {
    auto const last = std::find_if(first, uses.end(), [&](Use const& u) { return u.link != first->link; });
    visit(first, last);
    first = last;
  }
}

struct Classes {
  std::vector<ClassKey> keys;
  std::vector<std::int32_t> of_link;  // -1: nothing crosses it
};

Classes classes_of(std::vector<Use> const& uses, std::vector<BytesPerSecond> const& capacity,
                   Merging merging) {
  Classes out;
  out.of_link.assign(capacity.size(), -1);
  std::map<ClassKey, std::int32_t> known;
  for_each_link(uses, [&](auto first, auto last) {
    ClassKey key{capacity.at(std::size_t(first->link)).value / first->times, {}};
    for (auto u = first; u != last; ++u) key.flows.push_back(u->flow);
    auto const next = static_cast<std::int32_t>(out.keys.size());
    auto id = next;
    if (merging == Merging::classes) id = known.try_emplace(key, next).first->second;
    if (id == next) out.keys.push_back(std::move(key));
    out.of_link[std::size_t(first->link)] = id;
  });
  return out;
}

// Traffics whose copies cannot be one flow: a link is crossed by an unequal number of copies of two flows, or
// the copies meet different classes. Marks them; false when there are none (left).
bool mark_unequal(std::vector<Traffic> const& traffics, std::vector<Use> const& uses, Classes const& classes,
                  std::vector<bool>& copy_by_copy) {
  bool found = false;
  auto const mark = [&](std::size_t t) {
    if (traffics[t].copies.size() < 2 || copy_by_copy[t]) return;
    copy_by_copy[t] = true;
    found = true;
  };
  for_each_link(uses, [&](auto first, auto last) {
    bool const unequal = std::any_of(first, last, [&](Use const& u) { return u.times != first->times; });
    if (!unequal) return;
    for (auto u = first; u != last; ++u) {
      if (u->times > 1) mark(std::size_t(u->flow.traffic));
    }
  });
  for (std::size_t t = 0; t < traffics.size(); ++t) {
    std::vector<std::pair<std::int32_t, double>> expected;
    for (std::size_t c = 0; c < traffics[t].copies.size(); ++c) {
      std::vector<std::pair<std::int32_t, double>> met;
      for (Crossing const& x : traffics[t].copies[c])
        met.emplace_back(classes.of_link[std::size_t(x.link)], x.share);
      std::sort(met.begin(), met.end());
      met.erase(std::unique(met.begin(), met.end()), met.end());
      if (c == 0) {
        expected = std::move(met);
      } else if (met != expected) {
        mark(t);
      }
    }
  }
  return found;
}

}  // namespace

LinkPlan plan_links(std::vector<BytesPerSecond> const& capacity, std::vector<Traffic> const& traffics,
                    Merging merging) {
  return plan_links(capacity, traffics, merging, capacity);
}

LinkPlan plan_links(std::vector<BytesPerSecond> const& capacity, std::vector<Traffic> const& traffics,
                    Merging merging, std::vector<BytesPerSecond> const& whole) {
  std::vector<bool> copy_by_copy(traffics.size(), merging == Merging::none);
  std::vector<Use> uses;
  Classes classes;
  do {
    uses = uses_of(traffics, copy_by_copy);
    classes = classes_of(uses, capacity, merging);
  } while (mark_unequal(traffics, uses, classes, copy_by_copy));

  LinkPlan plan;
  for (ClassKey const& k : classes.keys) plan.class_capacity.emplace_back(k.capacity);
  std::map<FlowKey, PlannedFlow> flows;
  for (Use const& u : uses) {
    BytesPerSecond const own = whole[std::size_t(u.link)];
    PlannedFlow& f = flows.try_emplace(u.flow, PlannedFlow{{}, u.flow.share, own}).first->second;
    f.classes.push_back(classes.of_link[std::size_t(u.link)]);
    f.narrowest = min(f.narrowest, own);
  }
  plan.flows.resize(traffics.size());
  for (auto& [key, flow] : flows) {
    std::sort(flow.classes.begin(), flow.classes.end());
    flow.classes.erase(std::unique(flow.classes.begin(), flow.classes.end()), flow.classes.end());
    plan.flows[std::size_t(key.traffic)].push_back(std::move(flow));
  }
  return plan;
}

}  // namespace rollcast
