// A scenario under construction, and its text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rollcast {

class Draft {
 public:
  // path: "train.parallel.tp". An earlier value of the path is replaced.
  void set(std::string_view path, std::int64_t value);
  void set(std::string_view path, double value);  // 9 significant digits
  void set_flag(std::string_view path, bool value);
  void set_text(std::string_view path, std::string_view value);  // in quotes where YAML needs them
  void set_list(std::string_view path, std::vector<std::string> const& values);
  // "3 ms": a value that is written as it is.
  void set_plain(std::string_view path, std::string value);
  bool has(std::string_view path) const;
  void erase(std::string_view path);

  // YAML: one block a line as long as it fits, in the order of the language.
  std::string text() const;

 private:
  struct Node {
    std::string key;
    std::string value;  // of a leaf
    std::vector<Node> below;
  };
  static void write(Node const& n, std::size_t indent, std::string& out);
  static std::string flow(Node const& n);

  Node root_;
};

// Text as a YAML scalar.
std::string yaml_scalar(std::string_view text);

}  // namespace rollcast
