#include "scenarios/text/yaml_events.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <sstream>

namespace rollcast {
namespace {

constexpr std::size_t kDeepest = 64;
constexpr std::size_t kMostValues = 100'000;
constexpr std::size_t kMostProblems = 200;

// Leaves yaml-cpp's parser once a problem makes the rest pointless; the problem is already noted.
struct StopReading {};

Mark mark_of(YAML::Mark const& m, int source) { return {source, m.line + 1, m.column + 1}; }

class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(int source, Document& d) : source_(source), document_(d) {}

  Value take() { return std::move(root_); }

  void OnDocumentStart(YAML::Mark const& m) override {
    if (documents_++ == 0) return;
    bool const marker = line_text(m).rfind("---", 0) == 0;
    stop(m, marker ? "a second document in the file" : "text after the end of the document",
         marker ? "write one scenario per file" : "indent it as part of the keys above, or remove it");
  }
  void OnDocumentEnd() override {}

  void OnNull(YAML::Mark const& m, YAML::anchor_t anchor) override {
    check(m, "", anchor);
    add(Value{ValueKind::null, mark_of(m, source_), "", false, {}, {}}, m);
  }
  void OnAlias(YAML::Mark const& m, YAML::anchor_t) override {
    note(m, "aliases are not used in these files", "write the value out");
    add(Value{ValueKind::null, mark_of(m, source_), "", false, {}, {}}, m);
  }
  void OnScalar(YAML::Mark const& m, std::string const& tag, YAML::anchor_t anchor,
                std::string const& text) override {
    check(m, tag, anchor);
    add(Value{ValueKind::scalar, mark_of(m, source_), text, tag == "!", {}, {}}, m);
  }
  void OnSequenceStart(YAML::Mark const& m, std::string const& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(ValueKind::list, m, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(YAML::Mark const& m, std::string const& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(ValueKind::map, m, tag, anchor);
  }
  void OnMapEnd() override {
    check_duplicates(stack_.back().value);
    close();
  }

 private:
  // A list or map under construction; of a map, the key that waits for its value.
  struct Open {
    Value value;
    bool has_key = false;
    std::string key;
    Mark key_mark;
  };

  void note(YAML::Mark const& m, std::string what, std::string remedy) {
    if (document_.problems.size() >= kMostProblems) throw StopReading();
    document_.problems.push_back(
        problem_at(document_, mark_of(m, source_), "", std::move(what), std::move(remedy)));
  }
  [[noreturn]] void stop(YAML::Mark const& m, std::string what, std::string remedy) {
    note(m, std::move(what), std::move(remedy));
    throw StopReading();
  }

  std::string line_text(YAML::Mark const& m) const {
    auto const& lines = document_.sources.front().lines;
    auto const i = static_cast<std::size_t>(std::max(m.line, 0));
    return i < lines.size() ? lines[i] : std::string();
  }

  void check(YAML::Mark const& m, std::string const& tag, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) note(m, "anchors are not used in these files", "remove the '&name'");
    if (!tag.empty() && tag != "?" && tag != "!") {
      note(m, "tags are not used in these files", "remove '" + shown(tag) + "'");
    }
  }

  void open(ValueKind kind, YAML::Mark const& m, std::string const& tag, YAML::anchor_t anchor) {
    check(m, tag, anchor);
    if (stack_.size() >= kDeepest) stop(m, "nested more than 64 levels deep", "write it flatter");
    stack_.push_back({Value{kind, mark_of(m, source_), "", false, {}, {}}, false, "", {}});
  }

  void close() {
    Value v = std::move(stack_.back().value);
    Mark const mark = v.mark;
    stack_.pop_back();
    YAML::Mark at;
    at.line = mark.line - 1;
    at.column = mark.column - 1;
    add(std::move(v), at);
  }

  void add(Value v, YAML::Mark const& m) {
    if (++values_ > kMostValues) stop(m, "more than 100,000 values", "some dozens are enough");
    if (stack_.empty()) {
      root_ = std::move(v);
      return;
    }
    Open& top = stack_.back();
    if (top.value.kind == ValueKind::list) {
      top.value.items.push_back(std::move(v));
    } else if (top.has_key) {
      top.value.entries.push_back({std::move(top.key), top.key_mark, std::move(v)});
      top.has_key = false;
    } else {
      if (v.kind != ValueKind::scalar) note(m, "a key must be a word", "write 'key: value'");
      top.has_key = true;
      top.key = std::move(v.text);
      top.key_mark = v.mark;
    }
  }

  void check_duplicates(Value& map) {
    std::vector<std::size_t> order(map.entries.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return map.entries[a].key < map.entries[b].key; });
    std::vector<bool> repeated(order.size(), false);
    for (std::size_t i = 1; i < order.size(); ++i) {
      repeated[order[i]] = map.entries[order[i]].key == map.entries[order[i - 1]].key;
    }
    std::vector<Entry> kept;
    kept.reserve(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      Entry& e = map.entries[i];
      if (!repeated[i]) {
        kept.push_back(std::move(e));
        continue;
      }
      auto const first =
          std::find_if(kept.begin(), kept.end(), [&](Entry const& k) { return k.key == e.key; });
      if (document_.problems.size() >= kMostProblems) throw StopReading();
      Problem p =
          problem_at(document_, e.mark, shown(e.key), "a second time in this map", "keep one of the two");
      if (first->mark.line > 0) p.what += "; the first is on line " + std::to_string(first->mark.line);
      document_.problems.push_back(std::move(p));
    }
    map.entries = std::move(kept);
  }

  int source_;
  Document& document_;
  Value root_;
  std::vector<Open> stack_;
  std::size_t values_ = 0;
  int documents_ = 0;
};

// yaml-cpp says what it met; the usual cause is an indent by tab, which it does not name.
std::string remedy_for_syntax(Document const& d, int line) {
  auto const& lines = d.sources.front().lines;
  for (int i = std::min(line, static_cast<int>(lines.size())) - 1; i >= 0; --i) {
    std::string const& text = lines[static_cast<std::size_t>(i)];
    if (text.substr(0, text.find_first_not_of(" \t")).find('\t') != std::string::npos) {
      return "indent with blanks: line " + std::to_string(i + 1) + " is indented with a tab";
    }
  }
  return "check brackets, quotes and the indent here and in the lines above";
}

}  // namespace

Value parse_yaml(std::string const& text, int source, Document& d) {
  std::istringstream in(text);
  TreeBuilder builder(source, d);
  try {
    YAML::Parser parser(in);
    while (parser.HandleNextDocument(builder)) {
    }
    return builder.take();
  } catch (StopReading const&) {
    return {};
  } catch (YAML::Exception const& e) {
    Mark const mark = mark_of(e.mark, source);
    d.problems.push_back(problem_at(d, mark, "", "not YAML: " + e.msg, remedy_for_syntax(d, mark.line)));
    return {};
  }
}

}  // namespace rollcast
