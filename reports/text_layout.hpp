// Plain text in columns.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rollcast {

// text with control characters (escape sequences, newlines) replaced by '?'.
std::string printable(std::string_view text);

// A bar of `width` columns, `share` of it (0 to 1) as '#', the rest as '.'. Any share above 0 shows.
std::string bar(double share, int width);

// "47 %", "3.1 %" below 10, "0 %" for 0.
std::string percent(double fraction);

// Items joined by ", " and broken between items so that no line passes `width`; the first line continues one
// that holds `indent` columns already, the others are indented by as many. Ends with a newline.
std::string wrapped(std::vector<std::string> const& items, std::string_view separator, int indent, int width);

// The words of a sentence, for wrapped().
std::vector<std::string> words_of(std::string_view sentence);
// A sentence, wrapped.
std::string paragraph(std::string_view sentence, int width);

// A line of a table: without the blanks at its end, with a newline.
std::string table_line(std::string_view line);

}  // namespace rollcast
