#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <map>
#include <vector>

#include "reports/pickle.hpp"

namespace rollcast {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostValues = 8'000'000;
constexpr int kDeepest = 64;

// Stays inside this file: from_pickle turns it into a value.
struct BadPickle {
  std::string what;
};

// A value by its place in the table: lists and dictionaries are shared, and filled after they are remembered.
using Place = std::uint32_t;

enum class Shape { plain, list, dictionary };

struct Value {
  Shape shape = Shape::plain;
  Json plain;
  std::vector<Place> items;  // of a dictionary: key, value, key, value
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  Json read() {
    while (step(static_cast<unsigned char>(take(1).front()))) {
    }
    Place const whole = pop();
    measure(whole, 0);
    return written_out(whole);
  }

  std::size_t at() const { return at_; }

 private:
  std::string_view take(std::uint64_t n) {
    if (n > bytes_.size() - at_) throw BadPickle{"ends too early"};
    std::string_view const out = bytes_.substr(at_, n);
    at_ += n;
    return out;
  }
  std::uint64_t whole(std::size_t n) {
    std::uint64_t v = 0;
    std::string_view const b = take(n);
    for (std::size_t i = 0; i < n; ++i) v |= std::uint64_t{static_cast<unsigned char>(b[i])} << (8 * i);
    return v;
  }

  Place add(Value v) {
    if (values_.size() >= kMostValues) throw BadPickle{"holds more than 8 million values"};
    values_.push_back(std::move(v));
    return static_cast<Place>(values_.size() - 1);
  }
  void push(Json plain) { stack_.push_back(add({Shape::plain, std::move(plain), {}})); }
  void push(Shape shape, std::vector<Place> items = {}) {
    stack_.push_back(add({shape, {}, std::move(items)}));
  }

  std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  Place top() const {
    if (stack_.size() <= floor()) throw BadPickle{"uses a value that is not there"};
    return stack_.back();
  }
  Place pop() {
    Place const p = top();
    stack_.pop_back();
    return p;
  }
  std::vector<Place> pop_mark() {
    if (marks_.empty()) throw BadPickle{"uses a mark that is not there"};
    std::vector<Place> out(stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back()), stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return out;
  }
  std::vector<Place> pop_items(int n) {
    std::vector<Place> out(static_cast<std::size_t>(n));
    for (auto item = out.rbegin(); item != out.rend(); ++item) *item = pop();
    return out;
  }
  void extend(Shape shape, std::vector<Place> const& items) {
    Value& v = values_[top()];
    if (v.shape != shape) throw BadPickle{"fills a value that is no list or dictionary"};
    if (shape == Shape::dictionary && items.size() % 2 != 0) throw BadPickle{"has a key without a value"};
    v.items.insert(v.items.end(), items.begin(), items.end());
  }

  void long_number(std::uint64_t size) {
    std::string_view const b = take(size);
    if (size > 8) throw BadPickle{"holds a number beyond 64 bits"};
    std::uint64_t v = 0;
    for (std::size_t i = 0; i < b.size(); ++i)
      v |= std::uint64_t{static_cast<unsigned char>(b[i])} << (8 * i);
    bool const negative = !b.empty() && (static_cast<unsigned char>(b.back()) & 0x80) != 0;
    if (negative && b.size() < 8) v |= ~std::uint64_t{0} << (8 * b.size());
    push(static_cast<std::int64_t>(v));
  }
  void number() {
    std::uint64_t bits = 0;
    for (char const c : take(8)) bits = bits << 8 | static_cast<unsigned char>(c);
    push(std::bit_cast<double>(bits));
  }
  void remember(std::uint64_t id) { memo_[id] = top(); }
  void recall(std::uint64_t id) {
    auto const found = memo_.find(id);
    if (found == memo_.end()) throw BadPickle{"recalls a value that was not remembered"};
    stack_.push_back(found->second);
  }

  // false after the last operation. Codes: Lib/pickletools.py of Python.
  bool step(unsigned char code) {
    switch (code) {
      case '.':
        return false;
      case 0x80:
        return take(1), true;
      case 0x95:
        return take(8), true;
      case '(':
        return marks_.push_back(stack_.size()), true;
      case '0':
        return pop(), true;
      case '1':
        return pop_mark(), true;
      case '2':
        return stack_.push_back(top()), true;
      case 'N':
        return push(Json()), true;
      case 0x88:
        return push(true), true;
      case 0x89:
        return push(false), true;
      case 'K':
        return push(whole(1)), true;
      case 'M':
        return push(whole(2)), true;
      case 'J':
        return push(std::int64_t{static_cast<std::int32_t>(whole(4))}), true;
      case 0x8a:
        return long_number(whole(1)), true;
      case 0x8b:
        return long_number(whole(4)), true;
      case 'G':
        return number(), true;
      case 0x8c:
      case 'U':
      case 'C':
        return push(std::string(take(whole(1)))), true;
      case 'X':
      case 'T':
      case 'B':
        return push(std::string(take(whole(4)))), true;
      case 0x8d:
      case 0x8e:
        return push(std::string(take(whole(8)))), true;
      case ']':
      case ')':
        return push(Shape::list), true;
      case 'l':
      case 't':
        return push(Shape::list, pop_mark()), true;
      case 0x85:
      case 0x86:
      case 0x87:
        return push(Shape::list, pop_items(code - 0x84)), true;
      case 'a':
        return extend_with(Shape::list, pop_items(1));
      case 'e':
        return extend_with(Shape::list, pop_mark());
      case '}':
        return push(Shape::dictionary), true;
      case 's':
        return extend_with(Shape::dictionary, pop_items(2));
      case 'u':
        return extend_with(Shape::dictionary, pop_mark());
      case 'd':
        return push(Shape::dictionary), extend_with(Shape::dictionary, pop_under());
      case 'q':
        return remember(whole(1)), true;
      case 'r':
        return remember(whole(4)), true;
      case 0x94:
        return remember(memo_.size()), true;
      case 'h':
        return recall(whole(1)), true;
      case 'j':
        return recall(whole(4)), true;
      default:
        throw BadPickle{fmt::format(
            "asks for operation 0x{:02x}; plain data is read, nothing that builds Python objects", code)};
    }
  }
  bool extend_with(Shape shape, std::vector<Place> const& items) { return extend(shape, items), true; }

  // What lies above the last mark, under the dictionary that was just made of it.
  std::vector<Place> pop_under() {
    Place const dictionary = pop();
    std::vector<Place> items = pop_mark();
    stack_.push_back(dictionary);
    return items;
  }

  void count(std::size_t n) {
    written_ += n;
    if (written_ > kMostValues) throw BadPickle{"is more than 8 million values when written out"};
  }

  // Before anything is written out: a few bytes can hold a value that refers to itself, or doubles at every
  // level.
  void measure(Place place, int depth) {
    if (depth > kDeepest) throw BadPickle{"is nested more than 64 deep"};
    Value const& v = values_[place];
    count(1);
    if (v.plain.is_string()) count(v.plain.get_ref<std::string const&>().size() / 64);
    for (Place const item : v.items) measure(item, depth + 1);
  }

  Json written_out(Place place) const {
    Value const& v = values_[place];
    if (v.shape == Shape::plain) return v.plain;
    if (v.shape == Shape::list) {
      Json out = Json::array();
      for (Place const item : v.items) out.push_back(written_out(item));
      return out;
    }
    Json out = Json::object();
    for (std::size_t i = 0; i + 1 < v.items.size(); i += 2) {
      Json const key = written_out(v.items[i]);
      if (!key.is_string() && !key.is_number_integer()) throw BadPickle{"has a key that is no text"};
      out[key.is_string() ? key.get<std::string>() : key.dump()] = written_out(v.items[i + 1]);
    }
    return out;
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
  std::vector<Value> values_;
  std::vector<Place> stack_;
  std::vector<std::size_t> marks_;
  std::map<std::uint64_t, Place> memo_;
  std::size_t written_ = 0;
};

}  // namespace

PickleResult from_pickle(std::string_view bytes) {
  Reader reader(bytes);
  try {
    return {reader.read(), ""};
  } catch (BadPickle const& bad) {
    return {std::nullopt, fmt::format("byte {}: the pickle {}", reader.at(), bad.what)};
  }
}

}  // namespace rollcast
