#include "scenarios/problem.hpp"

namespace rollcast {

std::string format(Problem const& p) {
  std::string out = p.file.empty() ? "--set" : p.file;
  if (p.line > 0) out += ":" + std::to_string(p.line) + ":" + std::to_string(p.column);
  out += ": ";
  if (!p.key.empty()) out += p.key + ": ";
  out += p.what;
  if (!p.remedy.empty()) out += "; " + p.remedy;
  out += '\n';
  if (p.line > 0 && !p.source_line.empty() && p.column > 0) {
    out += "  " + p.source_line + "\n  " + std::string(static_cast<std::size_t>(p.column - 1), ' ') + "^\n";
  }
  return out;
}

std::string format(std::vector<Problem> const& problems) {
  std::string out;
  for (Problem const& p : problems) out += format(p);
  return out;
}

}  // namespace rollcast
