#include "scenarios/text/trace_file.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "models/random.hpp"

namespace rollcast {
namespace {

TraceFile parse(std::string const& text) {
  std::istringstream in(text);
  return parse_trace(in, "t.csv");
}

// "0.5 10 2 -1" of a row.
std::string words(ServeRequest const& r) {
  std::ostringstream out;
  out << r.arrival.value << ' ' << r.prompt_tokens << ' ' << r.response_tokens << ' ' << r.adapter;
  return out.str();
}

std::vector<std::string> rows(std::string const& text) {
  TraceFile const file = parse(text);
  EXPECT_EQ(file.error, "");
  std::vector<std::string> out;
  for (ServeRequest const& r : file.rows) out.push_back(words(r));
  return out;
}

using Rows = std::vector<std::string>;

TEST(TraceFile, OurColumnsAndThoseOfAzureTraces) {
  EXPECT_EQ(rows("arrival,prompt,output\n0.5,10,2\n1.5,20,3\n"), (Rows{"0 10 2 -1", "1 20 3 -1"}));
  EXPECT_EQ(rows("arrived_at,num_prefill_tokens,num_decode_tokens\n0.0,4808,10\n"), (Rows{"0 4808 10 -1"}));
  // In any order, beside others.
  EXPECT_EQ(rows("output,note,adapter,prompt,arrival\n2,x,1,10,0\n"), (Rows{"0 10 2 1"}));
}

TEST(TraceFile, RowsComeInOrderOfArrival) {
  EXPECT_EQ(rows("arrival,prompt,output\n7,1,1\n5,2,1\n7,3,1\n5,4,1\n"),
            (Rows{"0 2 1 -1", "0 4 1 -1", "2 1 1 -1", "2 3 1 -1"}));
}

TEST(TraceFile, AdaptersAreNumbersOrNames) {
  TraceFile const numbers = parse("arrival,prompt,output,adapter\n0,1,1,4\n1,1,1,2\n");
  EXPECT_EQ(numbers.adapters, 5);
  EXPECT_EQ(numbers.rows[0].adapter, 4);
  // Numbered by first appearance in the file, whatever the order of arrival; one name makes all of them
  // names.
  TraceFile const names = parse("arrival,prompt,output,adapter\n9,1,1,legal\n8,1,1,4\n7,1,1,legal\n6,1,1,\n");
  EXPECT_EQ(names.adapters, 2);
  EXPECT_EQ(words(names.rows[0]), "0 1 1 -1");
  EXPECT_EQ(words(names.rows[1]), "1 1 1 0");
  EXPECT_EQ(words(names.rows[2]), "2 1 1 1");
  EXPECT_EQ(words(names.rows[3]), "3 1 1 0");
  TraceFile const none = parse("arrival,prompt,output,adapter\n0,1,1,\n");
  EXPECT_EQ(none.adapters, 0);
  EXPECT_EQ(none.error, "");
}

TEST(TraceFile, TakesWhatSpreadsheetsWrite) {
  EXPECT_EQ(rows("\xEF\xBB\xBF\"arrival\",\"prompt\" , output,adapter\r\n\r\n 0 "
                 ",\"10\",2.0,\"a,\"\"b\"\r\n1e0,20,3, c \r\n"),
            (Rows{"0 10 2 0", "1 20 3 1"}));
  EXPECT_EQ(rows("arrival,prompt,output\n0,1,1"), (Rows{"0 1 1 -1"}));  // no line end
}

struct Refusal {
  std::string text;
  std::string error;
  std::string remedy;
};

TEST(TraceFile, SaysWhereAndWhatInstead) {
  std::string const head = "arrival,prompt,output,adapter\n";
  std::string const example = "write for example arrival,prompt,output,adapter in its first line";
  for (Refusal const& r : std::vector<Refusal>{
           {"", "t.csv: the file is empty", example},
           {" \n\r\n", "t.csv: the file is empty", example},
           {head, "t.csv: no requests in it", "write a line for each request below the header"},
           {"0,1,1\n", "t.csv: line 1: no column arrival", example},
           {"\narrival,prompt\n", "t.csv: line 2: no column output", example},
           {"arrival;prompt;output\n", "t.csv: line 1: no column arrival", "put commas between the columns"},
           {"arrival,prompt,output,adaptor\n", "t.csv: line 1: unknown column 'adaptor'",
            "did you mean adapter?"},
           {"arrival,prompt,output,arrived_at\n", "t.csv: line 1: two columns arrival", "keep one of them"},
           {"arrival,\"prompt\n", "t.csv: line 1: a quote without its end", "close it in the same line"},
           {head + "0,1,1,0\n0,1,1\n", "t.csv: line 3: 3 cells below 4 columns", "write one for each column"},
           {head + "0,1,1,\"0\"x\n", "t.csv: line 2: a quote without its end", "close it in the same line"},
           {head + "soon,1,1,0\n", "t.csv: line 2: column arrival: 'soon' is not a time",
            "write seconds from the start, at most 1e9"},
           {head + "nan,1,1,0\n", "t.csv: line 2: column arrival: 'nan' is not a time", ""},
           {head + "inf,1,1,0\n", "t.csv: line 2: column arrival: 'inf' is not a time", ""},
           {head + "-1,1,1,0\n", "t.csv: line 2: column arrival: '-1' is negative", ""},
           {head + "2e9,1,1,0\n", "t.csv: line 2: column arrival: '2e9' is too late", ""},
           {head + "0,0,1,0\n", "t.csv: line 2: column prompt: '0' is not a length in tokens",
            "write whole numbers of at least 1"},
           {head + "0,1,1.5,0\n", "t.csv: line 2: column output: '1.5' is not a length in tokens", ""},
           {head + "0,1,,0\n", "t.csv: line 2: column output: '' is not a length in tokens", ""},
           {head + "0,1,1e12,0\n", "t.csv: line 2: column output: '1e12' is not a length in tokens", ""},
           {head + "0,1,1,-1\n", "t.csv: line 2: column adapter: '-1' is no adapter",
            "number them from 0; leave the cell empty to ask for the base model"},
           {head + "0,1,1,7\n0,1,1,2147483647\n0,1,1,9\n",
            "t.csv: line 3: column adapter: adapter 2147483647 is beyond a million of them",
            "number them from 0"},
       }) {
    TraceFile const file = parse(r.text);
    EXPECT_EQ(file.error, r.error) << r.text;
    EXPECT_TRUE(file.rows.empty()) << r.text;
    if (!r.remedy.empty()) {
      EXPECT_EQ(file.remedy, r.remedy) << r.text;
    }
  }
  EXPECT_EQ(parse("arrived_at,num_prefill_tokens,num_decode_tokens\n0,0,1\n").error,
            "t.csv: line 2: column num_prefill_tokens: '0' is not a length in tokens");
}

TEST(TraceFile, GarbageIsRefusedInWords) {
  std::string const good = "arrival,prompt,output,adapter\n0,10,2,a\n0.5,\"20\",3,b\n";
  for (std::uint64_t i = 0; i < 5000; ++i) {
    std::string text = good;
    for (std::uint64_t k = 0; k < 1 + i % 4; ++k) {
      std::uint64_t const bits = random_bits({7, Purpose::jitter, static_cast<std::uint32_t>(k), i});
      text[bits % text.size()] = static_cast<char>(bits >> 40U);
    }
    TraceFile const file = parse(text);
    ASSERT_EQ(file.error.empty(), !file.rows.empty()) << text;
    ASSERT_EQ(file.error.empty(), file.remedy.empty()) << text;
  }
  for (std::string const& text :
       {std::string(100'000, ','), std::string(100'000, '"'), std::string(1000, '\0')})
    EXPECT_NE(parse(text).error, "");
}

TEST(TraceFile, FilesThatAreNone) {
  EXPECT_NE(read_trace_file("none.csv", testing::TempDir()).error.find("there is no such file"),
            std::string::npos);
  EXPECT_NE(read_trace_file(".", testing::TempDir()).error.find("there is no such file"), std::string::npos);
}

// The traces of Azure's LLM services (Splitwise), as Vidur has them: 8,819 and 19,366 requests. The longest
// prompts and answers as `sort -n` finds them.
TEST(TraceFile, LoadsTheAzureTracesAsTheyAre) {
  std::filesystem::path const folder =
      std::filesystem::path(ROLLCAST_SOURCE_DIR) / ".." / "shared" / "data" / "vidur" / "processed_traces";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no traces at ../shared/data/vidur";
  for (auto const& [name, count, prompt, output] : {std::tuple("splitwise_code.csv", 8819U, 7437, 1899),
                                                    std::tuple("splitwise_conv.csv", 19366U, 14050, 1000)}) {
    TraceFile const file = read_trace_file(name, folder.string());
    ASSERT_EQ(file.error, "");
    EXPECT_EQ(file.rows.size(), count);
    EXPECT_EQ(file.adapters, 0);
    int longest_prompt = 0, longest_output = 0;
    for (ServeRequest const& r : file.rows) {
      longest_prompt = std::max(longest_prompt, r.prompt_tokens);
      longest_output = std::max(longest_output, r.response_tokens);
    }
    EXPECT_EQ(longest_prompt, prompt);
    EXPECT_EQ(longest_output, output);
  }
}

}  // namespace
}  // namespace rollcast
