"""Every backend by its name. Processes that judge nothing import this, so it loads none of them."""

from typing import TYPE_CHECKING

from judging.errors import BadJudge
from studies.extra import Kind

if TYPE_CHECKING:
    from judging.backends.backend import BackendKind

BACKENDS: "Kind[BackendKind]" = Kind("backends")
DEFAULT = "openai"


def backend_kinds() -> "list[BackendKind]":
    """The backends of the core and of extras, as commands and pages list them."""
    return list(BACKENDS)


def backend_kind(name: str) -> "BackendKind":
    """The kind with this name. Raises `BadJudge` if there is none."""
    from judging.backends.usual import GONE

    for kind in [*backend_kinds(), *GONE]:
        if kind.name == name:
            return kind
    raise BadJudge(f"There is no backend “{name}”. Use one of: {', '.join(names())}.")


def gives_only_probabilities(name: str) -> bool:
    """Whether judges of a backend give nothing but probabilities, which are their certainty.

    A run can name a backend that is no longer here.
    """
    kinds = (kind for kind in backend_kinds() if kind.name == name)
    return any(kind.capabilities.only_probabilities for kind in kinds)


def wires() -> list[str]:
    """Every format of requests that a judge of some backend can name."""
    return sorted({wire for kind in backend_kinds() for wire in kind.wires})


def names() -> list[str]:
    return [kind.name for kind in backend_kinds()]


def choices() -> list[tuple[str, str]]:
    """Names and labels, for the field of the model; a function, so that no migration lists them."""
    return [(kind.name, kind.label) for kind in backend_kinds()]
