#include "reports/pickle.hpp"

#include <bit>
#include <cstdint>
#include <limits>
#include <stdexcept>

namespace rollcast {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kBatch = 1000;  // items a reader gets at once, as Python's own pickler does

void put_bytes(std::uint64_t v, int bytes, std::string& out) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(v >> (8 * i) & 0xff);
}

void put_integer(std::int64_t v, std::string& out) {
  if (v >= 0 && v <= 0xff) {
    out += 'K';
    put_bytes(static_cast<std::uint64_t>(v), 1, out);
  } else if (v >= 0 && v <= 0xffff) {
    out += 'M';
    put_bytes(static_cast<std::uint64_t>(v), 2, out);
  } else if (v >= std::numeric_limits<std::int32_t>::min() && v <= std::numeric_limits<std::int32_t>::max()) {
    out += 'J';
    put_bytes(static_cast<std::uint64_t>(v), 4, out);
  } else {
    out += "\x8a\x08";  // LONG1 of eight bytes
    put_bytes(static_cast<std::uint64_t>(v), 8, out);
  }
}

void put_text(std::string const& text, std::string& out) {
  bool const is_short = text.size() <= 0xff;
  out += is_short ? '\x8c' : 'X';
  put_bytes(text.size(), is_short ? 1 : 4, out);
  out += text;
}

void put_number(double v, std::string& out) {
  auto const bits = std::bit_cast<std::uint64_t>(v);
  out += 'G';
  for (int i = 7; i >= 0; --i) out += static_cast<char>(bits >> (8 * i) & 0xff);
}

void put(Json const& value, std::string& out);

void put_list(Json const& list, std::string& out) {
  out += ']';
  int open = 0;
  for (Json const& item : list) {
    if (open == 0) out += '(';
    put(item, out);
    if (++open == kBatch) out += 'e';
    open %= kBatch;
  }
  if (open > 0) out += 'e';
}

void put_dictionary(Json const& object, std::string& out) {
  out += '}';
  if (object.empty()) return;
  out += '(';
  for (auto const& [key, value] : object.items()) {
    put_text(key, out);
    put(value, out);
  }
  out += 'u';
}

void put(Json const& value, std::string& out) {
  if (value.is_object()) {
    put_dictionary(value, out);
  } else if (value.is_array()) {
    put_list(value, out);
  } else if (value.is_string()) {
    put_text(value.get_ref<std::string const&>(), out);
  } else if (value.is_boolean()) {
    out += value.get<bool>() ? '\x88' : '\x89';
  } else if (value.is_number_integer()) {
    put_integer(value.get<std::int64_t>(), out);
  } else if (value.is_number()) {
    put_number(value.get<double>(), out);
  } else if (value.is_null()) {
    out += 'N';
  } else {
    throw std::logic_error("to_pickle: a value that JSON has not");
  }
}

}  // namespace

std::string to_pickle(Json const& value) {
  std::string out = "\x80\x04";
  put(value, out);
  return out + '.';
}

}  // namespace rollcast
