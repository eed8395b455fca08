#include "reports/incident_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/text_layout.hpp"

namespace rollcast {
namespace {

constexpr int kClock = 16;

// "1:02:03.456" of the run.
std::string clock(Seconds t) {
  auto const ms = static_cast<long long>(std::llround(t.value * 1000));
  return fmt::format("{}:{:02}:{:02}.{:03}", ms / 3'600'000, ms / 60'000 % 60, ms / 1000 % 60, ms % 1000);
}

std::string line(Happening const& h, Seconds start, int width) {
  std::string what = h.what;
  if ((h.until - h.time).value >= 0.0005) what += fmt::format(" (until {})", clock(h.until));
  double const after = (h.time - start).value;
  std::string const since = fmt::format("{:+.1f} s", std::fabs(after) < 0.05 ? 0.0 : after);
  return fmt::format("  {:>12}  {:>12}  ", clock(h.time), since) +
         wrapped(words_of(printable(what)), " ", kClock + 14, width);
}

std::string hours(double gpu_seconds) { return fmt::format("{:.3g} GPU-hours", gpu_seconds / 3600); }

std::string cost_part(Analysis const& a, int width) {
  return "\n" + wrapped(words_of(cost_sentence(a)), " ", 0, width);
}

std::string remedies_part(Analysis const& a, int width) {
  if (a.remedies.empty()) return {};
  std::string out = "\nWhat would have ended it sooner\n";
  for (Remedy const& r : a.remedies) out += "  - " + wrapped(words_of(remedy_text(a, r)), " ", 4, width);
  return out;
}

}  // namespace

std::string cost_sentence(Analysis const& a) {
  Seconds const start = a.happenings.front().time;
  Happening const& last = a.happenings.back();
  if (last.kind != HappeningKind::ends)
    return fmt::format("Nobody ends it. Each hour costs {} GPU-hours.", a.gpus);
  double const lost = (last.time - start).value * static_cast<double>(a.gpus);
  return fmt::format(
      "From the cause to the end {}: {} of {} GPUs lost, and what was done since the last "
      "checkpoint.",
      format(last.time - start), hours(lost), a.gpus);
}

std::string remedy_text(Analysis const& a, Remedy const& r) {
  Seconds const start = a.happenings.front().time;
  std::string text = fmt::format("{}: over after {}", r.what, format(r.ended - start));
  if (r.saved.value > 0) text += ", " + hours(r.saved.value * static_cast<double>(a.gpus)) + " saved";
  return text;
}

std::string incident_text(Analysis const& a, TerminalOptions const& options) {
  int const width = std::max(options.width, 80);
  if (a.happenings.empty()) {
    std::string const what = a.outcome == Outcome::completed ? "No incident: " : "";
    return wrapped(words_of(what + verdict(a)), " ", 0, width);
  }
  std::string out = verdict(a) + "\n\nWhat happened (time of the run; since the first cause)\n";
  for (Happening const& h : a.happenings) out += line(h, a.happenings.front().time, width);
  return out + cost_part(a, width) + remedies_part(a, width);
}

}  // namespace rollcast
