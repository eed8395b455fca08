#include "calibrate/bench/device/program.hpp"

#include <stdexcept>

namespace rollcast {

SampleWriter::SampleWriter(std::string const& file,
                           std::vector<std::pair<std::string, std::string>> const& header)
    : name_(file) {
  for (auto const& [key, value] : header) {
    if (key == "versions") version_ = value;
    if (key == "program") source_ = value;
  }
  if (!name_.empty()) file_.open(name_, std::ios::binary | std::ios::trunc);
  write(header_lines(header));
}

void SampleWriter::row(Measured m) {
  m.version = version_;
  m.source = source_;
  write(row_line(m));
}

void SampleWriter::note(std::string const& text) { write(remark_line(text)); }

void SampleWriter::remark(std::string const& text) {
  std::fprintf(stderr, "%s\n", text.c_str());
  note(text);
}

void SampleWriter::write(std::string const& text) {
  if (name_.empty()) {
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
    if (std::ferror(stdout) == 0) return;
  } else {
    file_ << text << std::flush;
    if (file_) return;
  }
  throw std::runtime_error("cannot write " + (name_.empty() ? "standard output" : "'" + name_ + "'"));
}

}  // namespace rollcast
