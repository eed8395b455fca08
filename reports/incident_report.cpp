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
  std::string const since = fmt::format("{:+.1f} s", (h.time - start).value);
  return fmt::format("  {:>12}  {:>12}  ", clock(h.time), since) +
         wrapped(words_of(printable(what)), " ", kClock + 14, width);
}

std::string hours(double gpu_seconds) { return fmt::format("{:.3g} GPU-hours", gpu_seconds / 3600); }

std::string cost_part(Analysis const& a, int width) {
  Seconds const start = a.happenings.front().time;
  Happening const& last = a.happenings.back();
  std::string text;
  if (last.kind == HappeningKind::ends) {
    double const lost = (last.time - start).value * static_cast<double>(a.gpus);
    text = fmt::format(
        "From the cause to the end {}: {} of {} GPUs lost, and what was done since the last "
        "checkpoint.",
        format(last.time - start), hours(lost), a.gpus);
  } else {
    text = fmt::format("Nobody ends it: no timer runs, and no process is gone. Each hour costs {} GPU-hours.",
                       a.gpus);
  }
  return "\n" + wrapped(words_of(text), " ", 0, width);
}

std::string remedies_part(Analysis const& a, int width) {
  if (a.remedies.empty()) return {};
  Seconds const start = a.happenings.front().time;
  std::string out = "\nWhat would have ended it sooner\n";
  for (Remedy const& r : a.remedies) {
    std::string text = fmt::format("{}: over after {}", r.what, format(r.ended - start));
    if (r.saved.value > 0) text += ", " + hours(r.saved.value * static_cast<double>(a.gpus)) + " saved";
    out += "  - " + wrapped(words_of(text), " ", 4, width);
  }
  return out;
}

}  // namespace

std::string incident_text(Analysis const& a, TerminalOptions const& options) {
  int const width = std::max(options.width, 80);
  if (a.happenings.empty()) {
    return wrapped(words_of("No incident: " + verdict(a)), " ", 0, width);
  }
  std::string out = verdict(a) + "\n\nWhat happened (time of the run; since the first cause)\n";
  for (Happening const& h : a.happenings) out += line(h, a.happenings.front().time, width);
  return out + cost_part(a, width) + remedies_part(a, width);
}

}  // namespace rollcast
