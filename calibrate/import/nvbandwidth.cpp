#include "calibrate/import/nvbandwidth.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>
#include <utility>

#include "calibrate/import/gpu_names.hpp"
#include "calibrate/import/nccl_log_rows.hpp"
#include "calibrate/import/table.hpp"

namespace rollcast {
namespace {

constexpr Bytes kBuffer = MiB(512);

std::string variant_of(std::string const& test) {
  if (test == "host_to_device_memcpy_ce") return "h2d";
  if (test == "device_to_host_memcpy_ce") return "d2h";
  if (test == "device_to_device_memcpy_read_ce" || test == "device_to_device_memcpy_write_ce") return "peer";
  return {};
}

bool is_number(std::string const& word, double& value) {
  auto const [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return error == std::errc() && end == word.data() + word.size() && std::isfinite(value);
}

struct Test {
  std::string name;
  int line = 0;
  std::size_t columns = 0;  // of the matrix; 0 before its header
  std::vector<double> rates;
};

class BandwidthReader {
 public:
  BandwidthReader(SourceText const& source, Imported& out) : source_(source), out_(out) {}

  void read() {
    LineReader lines(source_.text);
    while (lines.next()) read_line(lines.line(), lines.number());
    finish();
  }

 private:
  void read_line(std::string_view line, int number) {
    std::vector<std::string> const words = log_words(line);
    if (words.size() >= 2 && words[0] == "Running") {
      finish();
      test_.name = words[1].substr(0, words[1].find_last_not_of('.') + 1);
      test_.line = number;
    } else if (words.size() >= 3 && words[0] == "Device" && device_.empty()) {
      device_ = line;
    } else if (words.size() == 3 && words[0] == "nvbandwidth" && words[1] == "Version:") {
      version_ = "nvbandwidth " + words[2];
    } else if (!test_.name.empty() && !words.empty()) {
      read_matrix(words, line, number);
    }
  }

  void read_matrix(std::vector<std::string> const& words, std::string_view line, int number) {
    if (words[0].find_first_not_of("0123456789") != std::string::npos) return;  // caption, SUM, notes
    bool whole = true;
    for (std::string const& w : words)
      whole = whole && w.find_first_not_of("0123456789") == std::string::npos;
    if (whole && test_.columns == 0) {
      test_.columns = words.size();
      return;
    }
    std::vector<double> rates;
    for (std::size_t i = 1; i < words.size(); ++i) {
      double rate = 0;
      if (words[i] == "N/A") continue;
      if (!is_number(words[i], rate) || rate <= 0 || words.size() != test_.columns + 1) {
        note(out_, source_, number, "", "a row that is no row of a matrix of GB/s",
             "paste the line as nvbandwidth printed it", line);
        return;
      }
      rates.push_back(rate);
    }
    test_.rates.insert(test_.rates.end(), rates.begin(), rates.end());
  }

  void finish() {
    if (!test_.name.empty()) add_sample();
    test_ = {};
  }

  void add_sample() {
    std::string const variant = variant_of(test_.name);
    if (variant.empty()) {
      skip(out_, source_,
           "the test " + shown(test_.name) + " is no copy in one direction by the copy engines");
      return;
    }
    if (test_.rates.empty()) {
      skip(out_, source_, "a test without a result");
      return;
    }
    Sample s;
    s.gpu = gpu_named_in(device_);
    if (s.gpu.empty()) s.gpu = source_.hints.gpu;
    if (s.gpu.empty()) s.gpu = gpu_of_path(source_.path);
    if (s.gpu.empty()) {
      note(out_, source_, test_.line, "", "no telling which GPU this is", "name it with --gpu");
      return;
    }
    std::sort(test_.rates.begin(), test_.rates.end());
    std::size_t const n = test_.rates.size();
    double const median = (test_.rates[(n - 1) / 2] + test_.rates[n / 2]) / 2;
    s.operation = "copy";
    s.variant = variant;
    s.shape = {kBuffer.value};
    s.seconds = kBuffer / GB_per_s(median);
    s.source = source_.name;
    s.version = version_.empty() ? "nvbandwidth" : version_;
    out_.samples.push_back(std::move(s));
  }

  SourceText const& source_;
  Imported& out_;
  std::string device_;
  std::string version_;
  Test test_;
};

}  // namespace

bool is_nvbandwidth_log(SourceText const& source) {
  return source.text.find("Running ") != std::string_view::npos &&
         source.text.find("_memcpy_") != std::string_view::npos;
}

void read_nvbandwidth_log(SourceText const& source, Imported& out) { BandwidthReader(source, out).read(); }

}  // namespace rollcast
