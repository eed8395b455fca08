#include "reports/command_manual.hpp"

#include <fmt/format.h>

#include <functional>
#include <vector>

#include "reports/version.hpp"

namespace rollcast {
namespace {

std::vector<CLI::App const*> commands_of(CLI::App const& app) {
  return app.get_subcommands([](CLI::App const*) { return true; });
}

std::vector<CLI::Option const*> options_of(CLI::App const& app) {
  return app.get_options([](CLI::Option const*) { return true; });
}

// "--steps", "-h"; nothing for what has no dash.
std::vector<std::string> flags_of(CLI::Option const& o) {
  std::vector<std::string> flags;
  for (std::string const& name : o.get_lnames()) flags.push_back("--" + name);
  for (std::string const& name : o.get_snames()) flags.push_back("-" + name);
  return flags;
}

bool takes_value(CLI::Option const& o) { return o.get_items_expected_max() > 0; }

// Every command with its path, "rollcast calibrate fit", the program itself first.
void each_command(CLI::App const& app, std::string const& path,
                  std::function<void(std::string const&, CLI::App const&)> const& visit) {
  visit(path, app);
  for (CLI::App const* c : commands_of(app)) each_command(*c, path + " " + c->get_name(), visit);
}

// ---- manual

std::string troff(std::string_view text) {
  std::string out;
  bool line_start = true;
  for (char const c : text) {
    if (line_start && (c == '.' || c == '\'')) out += "\\&";
    line_start = c == '\n';
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

std::string option_entry(CLI::Option const& o) {
  std::string head;
  for (std::string const& flag : flags_of(o))
    head += (head.empty() ? "\\fB" : ", \\fB") + troff(flag) + "\\fR";
  if (head.empty())
    head = "\\fI" + troff(o.get_name(true)) + "\\fR";
  else if (takes_value(o))
    head += " \\fI" + troff(o.get_type_name()) + "\\fR";
  std::string text = o.get_description();
  if (!o.get_default_str().empty()) text += " (default: " + o.get_default_str() + ")";
  return ".TP\n" + head + "\n" + troff(text) + "\n";
}

std::string command_section(std::string const& path, CLI::App const& app) {
  std::string out = fmt::format(".SS \"{}\"\n{}.\n", troff(path), troff(app.get_description()));
  for (CLI::Option const* o : options_of(app)) out += option_entry(*o);
  if (std::string const foot = app.get_footer(); !foot.empty()) out += ".PP\n.nf\n" + troff(foot) + "\n.fi\n";
  return out;
}

// ---- completion

struct Words {
  std::string path;
  std::string commands;
  std::string options;
};

std::vector<Words> words_of(CLI::App const& app) {
  std::vector<Words> all;
  each_command(app, app.get_name(), [&](std::string const& path, CLI::App const& command) {
    Words w{path, "", ""};
    for (CLI::App const* c : commands_of(command)) w.commands += " " + c->get_name();
    for (CLI::Option const* o : options_of(command)) {
      for (std::string const& flag : flags_of(*o)) w.options += " " + flag;
    }
    all.push_back(w);
  });
  return all;
}

// Sets `verb` to the command that the words so far name, then `commands` and `options` to what it knows.
std::string find_command(std::vector<Words> const& all) {
  std::string out = "    case \"$verb $word\" in\n";
  for (std::size_t i = 1; i < all.size(); ++i)
    out += fmt::format("      \"{0}\") verb=\"{0}\" ;;\n", all[i].path);
  out += "    esac\n  done\n  case \"$verb\" in\n";
  for (Words const& w : all)
    out += fmt::format("    \"{}\") commands=\"{}\" options=\"{}\" ;;\n", w.path,
                       w.commands.empty() ? "" : w.commands.substr(1),
                       w.options.empty() ? "" : w.options.substr(1));
  return out + "  esac\n";
}

std::string bash_script(std::vector<Words> const& all) {
  return "# Completion of rollcast for bash.\n_rollcast() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} verb=rollcast word commands options\n"
         "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n" +
         find_command(all) +
         "  if [[ $current == -* ]]; then\n"
         "    mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$current\")\n"
         "  else\n"
         "    mapfile -t COMPREPLY < <(compgen -W \"$commands\" -- \"$current\"; compgen -f -- "
         "\"$current\")\n"
         "  fi\n}\ncomplete -o filenames -F _rollcast rollcast\n";
}

std::string zsh_script(std::vector<Words> const& all) {
  return "#compdef rollcast\n# Completion of rollcast for zsh.\n_rollcast() {\n"
         "  local verb=rollcast word commands options\n"
         "  for word in ${words[2,CURRENT-1]}; do\n" +
         find_command(all) +
         "  if [[ $PREFIX == -* ]]; then\n    compadd -- ${=options}\n"
         "  else\n    compadd -- ${=commands}\n    _files\n  fi\n}\n_rollcast \"$@\"\n";
}

std::string quoted(std::string text) {
  for (std::size_t at = 0; (at = text.find_first_of("\\'", at)) != std::string::npos; at += 2)
    text.insert(at, "\\");
  return "'" + text + "'";
}

std::string fish_script(CLI::App const& app) {
  std::string out = "# Completion of rollcast for fish.\n";
  each_command(app, app.get_name(), [&](std::string const& path, CLI::App const& command) {
    std::string seen;  // a condition for each word of the path
    for (std::size_t at = path.find(' '); at != std::string::npos;) {
      std::size_t const next = path.find(' ', at + 1);
      seen += (seen.empty() ? "" : "; and ") +
              ("__fish_seen_subcommand_from " + path.substr(at + 1, next - at - 1));
      at = next;
    }
    std::string names;
    for (CLI::App const* c : commands_of(command)) names += " " + c->get_name();
    for (CLI::App const* c : commands_of(command)) {
      std::string const here =
          (seen.empty() ? "" : seen + "; and ") + "not __fish_seen_subcommand_from" + names;
      out += fmt::format("complete -c rollcast -f -n {} -a {} -d {}\n", quoted(here), c->get_name(),
                         quoted(c->get_description()));
    }
    for (CLI::Option const* o : options_of(command)) {
      if (flags_of(*o).empty()) continue;
      out += "complete -c rollcast";
      if (!seen.empty()) out += " -n " + quoted(seen);
      for (std::string const& name : o->get_lnames()) out += " -l " + name;
      for (std::string const& name : o->get_snames()) out += " -s " + name;
      out += fmt::format("{} -d {}\n", takes_value(*o) ? " -r" : "", quoted(o->get_description()));
    }
  });
  return out;
}

}  // namespace

std::string manual_page(CLI::App const& app) {
  std::string out = fmt::format(".TH ROLLCAST 1 \"\" \"rollcast {}\" \"User Commands\"\n", kVersion);
  out +=
      ".SH NAME\nrollcast \\- forecast LLM post\\-training runs\n.SH SYNOPSIS\n.B rollcast\n"
      "\\fICOMMAND\\fR [\\fIOPTION\\fR ...] [\\fIFILE\\fR ...]\n.SH DESCRIPTION\n";
  out += troff(app.get_description()) + "\n";
  out += troff(
             "A run (SFT, LoRA, DPO, PPO, GRPO; colocated or in pools; synchronous or asynchronous) is "
             "described in "
             "one YAML file, the scenario. Its keys are listed by \"rollcast schema\".") +
         "\n.SH COMMANDS\n";
  for (CLI::App const* top : commands_of(app))
    each_command(*top, "rollcast " + top->get_name(), [&](std::string const& path, CLI::App const& command) {
      out += command_section(path, command);
    });
  out +=
      ".SH EXIT STATUS\n.TP\n0\nA forecast was made; an out\\-of\\-memory or a stall is one.\n"
      ".TP\n1\nAn error of the program; of \"calibrate check\" and \"calibrate bench\": failed.\n"
      ".TP\n2\nBad input, told on standard error.\n"
      ".TP\n3\nAn outcome named by \\-\\-fail\\-on, or an expectation that is not met.\n"
      ".SH ENVIRONMENT\n.TP\nNO_COLOR\nNo colour on a terminal.\n";
  return out;
}

std::string completion_script(CLI::App const& app, Shell shell) {
  if (shell == Shell::fish) return fish_script(app);
  return shell == Shell::bash ? bash_script(words_of(app)) : zsh_script(words_of(app));
}

}  // namespace rollcast
