#include "models/kv_pages.hpp"

#include <algorithm>
#include <stdexcept>

namespace rollcast {

KvPages::KvPages(std::int64_t total, int block_size, bool prefix_caching)
    : total_(total), block_size_(block_size), prefix_caching_(prefix_caching), available_(total) {
  if (total < 1 || block_size < 1)
    throw std::logic_error("KV pages: at least one page of at least one token");
}

int KvPages::join(std::int64_t id, int prompt_tokens) {
  if (id < 0 || !prefix_caching_) return kNoGroup;
  auto const [entry, is_new] = index_.try_emplace(id, kNoGroup);
  if (is_new) {
    if (unused_.empty()) {
      entry->second = static_cast<int>(groups_.size());
      groups_.emplace_back();
    } else {
      entry->second = unused_.back();
      unused_.pop_back();
    }
    Group& g = at(entry->second);
    g = Group{};
    g.id = id;
    g.prompt_tokens = prompt_tokens;
    g.shareable = (prompt_tokens - 1) / block_size_;
  }
  Group& g = at(entry->second);
  if (g.prompt_tokens != prompt_tokens)
    throw std::logic_error("requests of one group must have prompts of one length");
  ++g.members;
  return entry->second;
}

void KvPages::leave(int group) {
  if (group == kNoGroup) return;
  --at(group).members;
  forget_if_unused(group);
}

std::int64_t KvPages::cached_tokens(int group) const {
  return group == kNoGroup ? 0 : at(group).present * block_size_;
}

std::int64_t KvPages::pages_to_admit(int group, std::int64_t tokens) const {
  bool const shared_now = group != kNoGroup && at(group).running > 0;
  return pages(tokens) - (shared_now ? at(group).present : 0);
}

bool KvPages::admit(int group, std::int64_t tokens) {
  std::int64_t const n = pages_to_admit(group, tokens);
  if (n > available_) return false;
  if (group != kNoGroup) {
    Group& g = at(group);
    if (g.idle) remove_idle(group);
    ++g.running;
    g.present = std::max(g.present, std::min(g.shareable, tokens / block_size_));
  }
  take(n);
  return true;
}

bool KvPages::extend(int group, std::int64_t held, std::int64_t tokens) {
  std::int64_t const fresh = pages(tokens) - pages(held);
  if (fresh > available_) return false;
  if (group != kNoGroup)
    at(group).present = std::max(at(group).present, std::min(at(group).shareable, tokens / block_size_));
  take(fresh);
  return true;
}

void KvPages::release(int group, std::int64_t tokens) {
  if (group == kNoGroup) {
    available_ += pages(tokens);
    return;
  }
  Group& g = at(group);
  available_ += pages(tokens) - std::min(g.shareable, tokens / block_size_);
  if (--g.running == 0) {
    available_ += g.present;
    if (g.present > 0) append_idle(group);
  }
}

void KvPages::take(std::int64_t n) {
  available_ -= n;
  if (cached_ > available_) evict();
}

void KvPages::evict() {
  while (cached_ > available_) {
    Group& g = at(oldest_);
    std::int64_t const n = std::min(g.present, cached_ - available_);
    g.present -= n;
    cached_ -= n;
    if (g.present == 0) {
      int const group = oldest_;
      remove_idle(group);
      forget_if_unused(group);
    }
  }
}

void KvPages::drop_cache() {
  while (oldest_ != kNoGroup) {
    int const group = oldest_;
    remove_idle(group);
    at(group).present = 0;
    forget_if_unused(group);
  }
}

void KvPages::append_idle(int group) {
  Group& g = at(group);
  g.idle = true;
  g.previous = newest_;
  g.next = kNoGroup;
  (newest_ == kNoGroup ? oldest_ : at(newest_).next) = group;
  newest_ = group;
  cached_ += g.present;
}

void KvPages::remove_idle(int group) {
  Group& g = at(group);
  g.idle = false;
  (g.previous == kNoGroup ? oldest_ : at(g.previous).next) = g.next;
  (g.next == kNoGroup ? newest_ : at(g.next).previous) = g.previous;
  cached_ -= g.present;
}

void KvPages::forget_if_unused(int group) {
  Group const& g = at(group);
  if (g.members > 0 || g.present > 0) return;
  index_.erase(g.id);
  unused_.push_back(group);
}

}  // namespace rollcast
