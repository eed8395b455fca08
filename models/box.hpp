// A value that may be absent and is copied with its owner, on the heap: absent, it takes the room of a
// pointer.
#pragma once

#include <memory>
#include <utility>

namespace rollcast {

template <class T>
class Box {
 public:
  Box() = default;
  Box(Box const& o) : value_(o.value_ ? std::make_unique<T>(*o.value_) : nullptr) {}
  Box(Box&& o) noexcept = default;
  Box& operator=(Box o) noexcept {
    value_ = std::move(o.value_);
    return *this;
  }
  ~Box() = default;

  template <class... Arguments>
  void emplace(Arguments&&... arguments) {
    value_ = std::make_unique<T>(std::forward<Arguments>(arguments)...);
  }

  explicit operator bool() const { return value_ != nullptr; }
  T* operator->() { return value_.get(); }
  T const* operator->() const { return value_.get(); }

 private:
  std::unique_ptr<T> value_;
};

}  // namespace rollcast
