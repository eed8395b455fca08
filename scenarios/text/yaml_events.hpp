// From YAML text to a tree, through yaml-cpp's event parser. The only file that includes yaml-cpp is its
// .cpp.
#pragma once

#include "scenarios/text/document.hpp"

namespace rollcast {

// The only document of `text`, marks in source `source`; problems are appended to d. A null value when the
// text is empty or a problem stopped the reading (syntax error, nesting, number of values, several
// documents).
Value parse_yaml(std::string const& text, int source, Document& d);

}  // namespace rollcast
