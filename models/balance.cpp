#include "models/balance.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace rollcast {
namespace {

// A chain of sequences through `next`, so that joining two costs nothing.
struct Part {
  std::int64_t load = 0;
  int count = 0;
  int first = 0;
  int last = 0;
};

bool heavier(Part const& a, Part const& b) {
  if (a.load != b.load) return a.load > b.load;
  if (a.count != b.count) return a.count > b.count;
  return a.first > b.first;
}

// A partition of some of the sequences: its parts that are not empty, the heaviest first. Empty parts are not
// stored, because most partial partitions begin with one sequence.
struct Partial {
  std::vector<Part> parts;
  std::int64_t spread = 0;
};

// Order of the heap: the top is merged next.
bool merged_later(Partial const& a, Partial const& b) {
  if (a.spread != b.spread) return a.spread < b.spread;
  return heavier(b.parts.front(), a.parts.front());
}

class Differencing {
 public:
  Differencing(std::vector<std::int64_t> const& loads, std::size_t ways)
      : ways_(ways), next_(loads.size(), -1) {}

  void add(std::vector<Part> parts) {
    std::sort(parts.begin(), parts.end(), heavier);
    push({std::move(parts), 0});
  }

  std::vector<std::vector<int>> partition() {
    while (heap_.size() > 1) {
      Partial a = pop();
      Partial const b = pop();
      merge(a.parts, b.parts);
      push(std::move(a));
    }
    std::vector<std::vector<int>> result;
    for (Part const& part : heap_.front().parts) {
      std::vector<int>& indices = result.emplace_back();
      for (int i = part.first; i >= 0; i = next_[static_cast<std::size_t>(i)]) indices.push_back(i);
      std::sort(indices.begin(), indices.end());
    }
    return result;
  }

 private:
  void push(Partial partial) {
    std::vector<Part> const& parts = partial.parts;
    partial.spread = parts.front().load - (parts.size() == ways_ ? parts.back().load : 0);
    heap_.push_back(std::move(partial));
    std::push_heap(heap_.begin(), heap_.end(), merged_later);
  }

  Partial pop() {
    std::pop_heap(heap_.begin(), heap_.end(), merged_later);
    Partial top = std::move(heap_.back());
    heap_.pop_back();
    return top;
  }

  // Part i of one meets part ways - 1 - i of the other.
  void merge(std::vector<Part>& a, std::vector<Part> const& b) {
    std::size_t const kept = a.size();
    for (std::size_t j = 0; j < b.size(); ++j) {
      std::size_t const i = ways_ - 1 - j;
      if (i < kept) {
        join(a[i], b[j]);
      } else {
        a.push_back(b[j]);
      }
    }
    // The parts before this one have neither changed nor moved.
    auto const changed = a.begin() + static_cast<std::ptrdiff_t>(std::min(kept, ways_ - b.size()));
    std::sort(changed, a.end(), heavier);
    std::inplace_merge(a.begin(), changed, a.end(), heavier);
  }

  void join(Part& a, Part const& b) {
    next_[static_cast<std::size_t>(a.last)] = b.first;
    a.last = b.last;
    a.load += b.load;
    a.count += b.count;
  }

  std::size_t ways_;
  std::vector<int> next_;
  std::vector<Partial> heap_;
};

// Every other one from the lightest on, then the rest from the heaviest on.
std::vector<int> heaviest_in_the_middle(std::vector<int> part, std::vector<std::int64_t> const& loads) {
  std::stable_sort(part.begin(), part.end(), [&](int a, int b) {
    return loads[static_cast<std::size_t>(a)] < loads[static_cast<std::size_t>(b)];
  });
  std::vector<int> order;
  order.reserve(part.size());
  for (std::size_t i = 0; i < part.size(); i += 2) order.push_back(part[i]);
  for (std::size_t i = part.size() / 2; i-- > 0;) order.push_back(part[2 * i + 1]);
  return order;
}

}  // namespace

std::vector<std::int64_t> sequence_loads(std::vector<int> const& lengths, LoadKind kind) {
  std::vector<std::int64_t> loads;
  loads.reserve(lengths.size());
  for (std::int64_t const l : lengths) {
    switch (kind) {
      case LoadKind::tokens:
        loads.push_back(l);
        break;
      case LoadKind::tokens_times_length:
        loads.push_back(l * l);
        break;
      case LoadKind::transformer:
        loads.push_back(24576 * l + l * l);
        break;
    }
  }
  return loads;
}

std::vector<std::vector<int>> balance(std::vector<std::int64_t> const& loads, int parts, PartSizes sizes) {
  if (parts < 1) throw std::logic_error("balance: no parts");
  auto const ways = static_cast<std::size_t>(parts);
  if (loads.size() < ways) throw std::logic_error("balance: fewer sequences than parts");
  bool const equal = sizes == PartSizes::equal;
  if (equal && loads.size() % ways != 0) throw std::logic_error("balance: parts cannot be of equal size");
  if (*std::min_element(loads.begin(), loads.end()) < 0) throw std::logic_error("balance: negative load");

  std::vector<int> order(loads.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return loads[static_cast<std::size_t>(a)] < loads[static_cast<std::size_t>(b)];
  });
  Differencing differencing(loads, ways);
  std::size_t const together = equal ? ways : 1;
  for (std::size_t first = 0; first < order.size(); first += together) {
    std::vector<Part> start;
    for (std::size_t i = first; i < first + together; ++i) {
      start.push_back({loads[static_cast<std::size_t>(order[i])], 1, order[i], order[i]});
    }
    differencing.add(std::move(start));
  }
  return differencing.partition();
}

std::vector<std::vector<int>> deal_balanced(std::vector<std::int64_t> const& loads, int ranks) {
  std::vector<std::vector<int>> parts = balance(loads, ranks, PartSizes::equal);
  for (std::vector<int>& part : parts) part = heaviest_in_the_middle(std::move(part), loads);
  return parts;
}

std::vector<std::vector<int>> contiguous_parts(int count, int parts, int unit) {
  std::vector<std::vector<int>> out(static_cast<std::size_t>(parts));
  std::int64_t const items = count / unit;
  for (std::int64_t p = 0; p < parts; ++p) {
    for (std::int64_t i = items * p / parts * unit; i < items * (p + 1) / parts * unit; ++i)
      out[static_cast<std::size_t>(p)].push_back(static_cast<int>(i));
  }
  return out;
}

}  // namespace rollcast
