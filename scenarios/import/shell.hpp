// The commands of a launch script, with the variables that the script itself sets put in.
//
// A small part of what a shell does, and nothing is run: comments, line continuations, quotes, NAME=value,
// NAME+=value, arrays, export, $NAME, ${NAME:-x} and its kin, ${NAME##*/}, ${NAME%/*}, $((arithmetic)),
// 'read NAME <<EOF', 'source FILE' when the file lies beside, and if with [ tests ] of known values. Where a
// condition cannot be known its first branch is taken; of case every branch is read; a loop runs once.
// Positional arguments are empty. What no line sets (the environment, the output of a command) is empty, and
// the word remembers its name.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "scenarios/text/document.hpp"

namespace rollcast {

struct Word {
  std::string text;
  Mark mark;          // of its first character, where it is written
  std::string unset;  // the first variable in it that nothing sets; empty: all is known
};

struct Command {
  std::vector<Word> environment;  // "NAME=value" before the command
  std::vector<Word> words;
};

struct Script {
  std::vector<Command> commands;     // in order, without assignments and control words
  std::vector<std::string> remarks;  // what had to be guessed: "line 12: ..."
};

struct ScriptOptions {
  std::string folder;                                        // of the script
  std::vector<std::pair<std::string, std::string>> defines;  // variables of the environment
};

// The lines of d's first source. A quote or bracket that is not closed is a problem, added to d; a sourced
// file becomes a further source of d.
Script read_script(Document& d, ScriptOptions const& options);

}  // namespace rollcast
