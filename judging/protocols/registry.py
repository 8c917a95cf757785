"""The judging protocols of this program. Another one takes one module and one line here."""

from judging.errors import BadRun
from judging.protocols.certainty import Certainty
from judging.protocols.protocol import JudgingProtocol
from judging.protocols.standard import Standard
from judging.protocols.tie import Tie

PROTOCOLS: list[JudgingProtocol] = [
    Standard(),
    Certainty(),
    Tie(),
]
DEFAULT = Standard.name


def protocol(name: str) -> JudgingProtocol:
    """The protocol with this name. Raises `BadRun` if there is none."""
    for each in PROTOCOLS:
        if each.name == name:
            return each
    raise BadRun(f"There is no setting “{name}”. Use one of: {', '.join(names())}.")


def names() -> list[str]:
    return [each.name for each in PROTOCOLS]


def choices() -> list[tuple[str, str]]:
    """Names and labels, for the field of the model; a function, so that no migration lists them."""
    return [(name, name) for name in names()]
