"""The verb completion: a script for a shell that knows the verbs, their actions, options and values."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from shlex import quote

from . import parser
from .options import FILE_OPTIONS

DESCRIPTION = "Print a script that completes commands in a shell."
EXAMPLES = (
    'eval "$(trimtab completion bash)"  # in ~/.bashrc',
    'eval "$(trimtab completion zsh)"   # in ~/.zshrc, after compinit',
    "trimtab completion fish | source   # in ~/.config/fish/config.fish",
)


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb, or an action of one.

    Attributes:
        words: the words before its options, as ``archive list``; empty for trimtab itself.
        about: what it does.
        actions: words that may follow, with what they do.
        options: options, with what they do.
        values: values of the options that have a fixed set; empty for an option that takes a file.
        plain: options that take any other value.
    """

    words: str
    about: str
    actions: dict[str, str] = field(default_factory=dict)
    options: dict[str, str] = field(default_factory=dict)
    values: dict[str, tuple[str, ...]] = field(default_factory=dict)
    plain: list[str] = field(default_factory=list)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument("shell", metavar="SHELL", choices=tuple(SHELLS), help=", ".join(SHELLS))


def run(options: argparse.Namespace) -> int:
    """Print the script."""
    print("\n".join(SHELLS[options.shell](_commands(parser(), "", ""))))  # a program: COLUMNS must not wrap it
    return 0


def _commands(parser: argparse.ArgumentParser, words: str, about: str) -> list[Verb]:
    """Return a parser's command, and those of its verbs and actions."""
    made = Verb(words, about)
    below: list[Verb] = []
    for action in parser._actions:  # noqa: SLF001 - argparse tells its options nowhere else
        told = (action.help or "").split(";")[0].replace("%%", "%")
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            abouts = {each.dest: each.help or "" for each in action._choices_actions}  # noqa: SLF001
            for name, child in action.choices.items():
                made.actions[name] = abouts.get(name, "")
                below += _commands(child, f"{words} {name}".strip(), abouts.get(name, ""))
        elif action.option_strings:
            made.options.update(dict.fromkeys(action.option_strings, told))
            if action.nargs != 0:
                _add_values(made, action)
        elif action.choices:
            made.actions.update(dict.fromkeys(map(str, action.choices), told))
    return [made, *below]


def _add_values(command: Verb, action: argparse.Action) -> None:
    """Note what an option takes: one of some values, a file, or any text."""
    for option in action.option_strings:
        if action.choices:
            command.values[option] = tuple(map(str, action.choices))
        elif option in FILE_OPTIONS:
            command.values[option] = ()
        else:
            command.plain.append(option)


def _bash(commands: list[Verb]) -> list[str]:
    """Return a function for bash: the words before the cursor select the command."""
    return [
        "_trimtab() {",
        '  local now=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} path="" word words=""',
        "  COMPREPLY=()",
        *_path('for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"', commands),
        '  case "$path:$before" in',
        *(_bash_case(f"{each.words}:{name}", values) for each in commands for name, values in each.values.items()),
        *(f'    "{each.words}:{name}") return;;' for each in commands for name in each.plain),
        "  esac",
        '  case "$path" in',
        *(f'    "{each.words}") words="{" ".join([*each.actions, *each.options])}";;' for each in commands),
        "  esac",
        '  COMPREPLY=($(compgen -W "$words" -- "$now"))',
        '  [[ $now == -* || -z $path ]] || COMPREPLY+=($(compgen -f -- "$now"))',
        "}",
        "complete -o filenames -F _trimtab trimtab",
    ]


def _bash_case(place: str, values: tuple[str, ...]) -> str:
    made = f'-W "{" ".join(values)}"' if values else "-f"
    return f'    "{place}") COMPREPLY=($(compgen {made} -- "$now")); return;;'


def _path(loop: str, commands: list[Verb]) -> list[str]:
    """Return lines that set ``path`` to the verb and the action among the words."""
    known = "|".join(f'"{each.words}"' for each in commands if each.words)
    follow = f'{{ case "$path $word" in {"|".join(_following(commands))}) path="$path $word";; esac; }}'
    first = f'case "$word" in {known}) path=$word;; esac'
    return [f"  {loop}; do", f"    if [[ -z $path ]]; then {first}; else {follow}; fi", "  done"]


def _following(commands: list[Verb]) -> list[str]:
    return [f'"{each.words}"' for each in commands if " " in each.words]


def _zsh(commands: list[Verb]) -> list[str]:
    """Return a function for zsh, with what each word does."""
    lines = [
        "_trimtab() {",
        '  local now=${words[CURRENT]} before=${words[CURRENT-1]} path_="" word',
        "  local -a told",
        *(line.replace("path", "path_") for line in _path('for word in "${(@)words[2,CURRENT-1]}"', commands)),
        '  case "$path_:$before" in',
    ]
    for each in commands:
        for name, values in each.values.items():
            made = f"compadd -- {' '.join(values)}" if values else "_files"
            lines.append(f'    "{each.words}:{name}") {made}; return;;')
        lines += [f'    "{each.words}:{name}") return;;' for name in each.plain]
    lines += ["  esac", '  case "$path_" in']
    for each in commands:
        told = " ".join(quote(f"{name}:{about}") for name, about in (each.actions | each.options).items())
        lines.append(f'    "{each.words}") told=({told});;')
    return [
        *lines,
        "  esac",
        "  _describe trimtab told",
        "  [[ $now == -* || -z $path_ ]] || _files",
        "}",
        "compdef _trimtab trimtab",
    ]


def _fish(commands: list[Verb]) -> list[str]:
    """Return a line for each word, option and value."""
    lines = ["complete -c trimtab -e"]
    verbs = " ".join(commands[0].actions)
    for each in commands:
        verb, _, action = each.words.partition(" ")
        when = f"__fish_seen_subcommand_from {verb}" if verb else f"not __fish_seen_subcommand_from {verbs}"
        when += f"; and __fish_seen_subcommand_from {action}" if action else ""
        others = " ".join(each.actions)
        alone = f"{when}; and not __fish_seen_subcommand_from {others}" if verb and others else when
        for name, about in each.actions.items():
            lines.append(f"complete -c trimtab -n {quote(alone)} -f -a {name} -d {quote(about)}")
        for name, about in each.options.items():
            kind = f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
            lines.append(f"complete -c trimtab -n {quote(when)} {kind}{_takes(each, name)} -d {quote(about)}")
    return lines


def _takes(command: Verb, option: str) -> str:
    """Return what an option takes, for fish."""
    if option in command.plain:
        return " -x"
    if option not in command.values:
        return ""
    values = command.values[option]
    return f" -x -a {quote(' '.join(values))}" if values else " -r -F"


SHELLS = {"bash": _bash, "zsh": _zsh, "fish": _fish}
