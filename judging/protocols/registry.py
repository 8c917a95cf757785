"""Every protocol by its name; it loads none of them, for processes that judge nothing."""

from typing import TYPE_CHECKING

from judging.errors import BadRun
from studies.extra import Kind

if TYPE_CHECKING:
    from judging.protocols.protocol import JudgingProtocol

PROTOCOLS: "Kind[JudgingProtocol]" = Kind("protocols")
DEFAULT = "standard"


def protocols() -> "list[JudgingProtocol]":
    """The protocols of the core and of extras, as commands and pages list them."""
    return list(PROTOCOLS)


def protocol(name: str) -> "JudgingProtocol":
    """The protocol with this name. Raises `BadRun` if there is none."""
    for known in protocols():
        if known.name == name:
            return known
    raise BadRun(f"There is no setting “{name}”. Use one of: {', '.join(names())}.")


def names() -> list[str]:
    return [known.name for known in protocols()]


def choices() -> list[tuple[str, str]]:
    """Names and labels, for the field of the model; a function, so that no migration lists them."""
    return [(name, name) for name in names()]
