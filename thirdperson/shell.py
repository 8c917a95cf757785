"""What a shell can know of the commands: scripts that complete words, and a page for `man`."""

import re
import shlex
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping

SHELLS = ("bash", "zsh", "fish")
_OPTION = re.compile(r"^  (?:-\w(?: \w+)?, )?(--[a-z][a-z-]*)", re.MULTILINE)
# Every command of Django has them; they are in each --help.
_GENERAL = set("--help --version --verbosity --settings --pythonpath --traceback".split())
_GENERAL |= {"--no-color", "--force-color", "--skip-checks"}
_BASH = """\
_thirdperson() {{
  local words=
  case $COMP_CWORD:${{COMP_WORDS[1]}} in
    1:*) words={names} ;;
{cases}
  esac
  COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o bashdefault -o default -F _thirdperson thirdperson
"""
_ZSH = "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n"

Parsers = Mapping[str, ArgumentParser]


def commands_of_django() -> Iterator[tuple[str, ArgumentParser]]:
    """Every command of this program's apps."""
    from django.core.management import get_commands, load_command_class

    for name, app in sorted(get_commands().items()):
        if not app.startswith("django."):
            yield name, load_command_class(app, name).create_parser("thirdperson", name)


def completion(shell: str, parsers: Parsers) -> str:
    """A script for one of `SHELLS`; it completes files where no word fits."""
    words = {name: _options(parser) for name, parser in parsers.items()}
    if shell == "fish":
        return "".join(_fish(words))
    cases = "\n".join(
        f"    *:{name}) words={shlex.quote(' '.join(options))} ;;"
        for name, options in words.items()
    )
    script = _BASH.format(names=shlex.quote(" ".join(words)), cases=cases)
    return f"{_ZSH if shell == 'zsh' else ''}{script}"


def _fish(words: Mapping[str, list[str]]) -> Iterator[str]:
    yield f"complete -c thirdperson -f -n __fish_use_subcommand -a {shlex.quote(' '.join(words))}\n"
    for name, options in words.items():
        for option in options:
            seen = f"'__fish_seen_subcommand_from {name}'"
            yield f"complete -c thirdperson -n {seen} -l {option.removeprefix('--')}\n"


def _options(parser: ArgumentParser) -> list[str]:
    options = dict.fromkeys(_OPTION.findall(parser.format_help()))
    return [option for option in options if option not in _GENERAL]


def man(parsers: Parsers, *, version: str, about: str) -> str:
    """Each command with its help, in the language of `man`."""
    lines = [f'.TH THIRDPERSON 1 "" "thirdperson {version}"', ".SH NAME"]
    lines += [r"thirdperson \- compare the labels of judges with those of people"]
    lines += [".SH DESCRIPTION", ".nf", _plain(about), ".fi"]
    for name, parser in parsers.items():
        lines += [f".SH {name.upper()}", ".nf", _plain(parser.format_help()), ".fi"]
    return "\n".join([*lines, ""])


def _plain(text: str) -> str:
    """Text that begins no command of troff."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^(?=[.'])", r"\\&", escaped, flags=re.MULTILINE)
