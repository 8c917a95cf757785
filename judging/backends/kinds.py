"""The backends of this program. Another backend takes one file and one line here."""

from collections.abc import Callable

from judging.backends.backend import (
    WITH_REPLY,
    BackendKind,
    Capabilities,
    JudgeSettings,
    ReplayKind,
)
from judging.backends.decisions import DecisionsKind
from judging.backends.openai import OpenAIKind
from judging.engine.interface import Backend
from judging.errors import BadJudge
from studies.extra import Kind


class GoneKind(BackendKind):
    """A provider's own library, which is gone: its judges keep their runs, and cannot be asked."""

    capabilities = Capabilities(
        needs_endpoint=True, structured=True, probabilities=frozenset({WITH_REPLY})
    )
    takes_extra_fields = True

    def __init__(self, name: str, provider: str) -> None:
        self.name, self.label, self.provider = (  # type: ignore[misc]
            name,
            f"{provider}’s own library",
            provider,
        )

    def check(self, judge: JudgeSettings) -> None:
        raise BadJudge(self._explained(judge))

    def connect(self, judge: JudgeSettings) -> Callable[[], Backend]:
        raise BadJudge(self._explained(judge))

    def _explained(self, judge: JudgeSettings) -> str:
        return (
            f"Judge “{judge.name}” was asked through {self.provider}’s own library, which is not "
            f"used any more. Add the judge again with the preset “{self.name}”: it is asked at the "
            f"OpenAI-compatible address of {self.provider}."
        )


GONE = (GoneKind("anthropic", "Anthropic"), GoneKind("gemini", "Google"))
OWN: tuple[BackendKind, ...] = (
    OpenAIKind(),
    DecisionsKind(),
    ReplayKind(),
)
BACKENDS: Kind[BackendKind] = Kind("backends")
DEFAULT = OpenAIKind.name


def backend_kinds() -> list[BackendKind]:
    """The backends of the core and of extras, as commands and pages list them."""
    return list(BACKENDS)


def backend_kind(name: str) -> BackendKind:
    """The kind with this name. Raises `BadJudge` if there is none."""
    for kind in [*backend_kinds(), *GONE]:
        if kind.name == name:
            return kind
    raise BadJudge(f"There is no backend “{name}”. Use one of: {', '.join(names())}.")


def gives_only_probabilities(name: str) -> bool:
    """Whether judges of a backend give nothing but probabilities, which are their certainty.

    A run can name a backend that is no longer here.
    """
    found = (kind for kind in backend_kinds() if kind.name == name)
    return any(kind.capabilities.only_probabilities for kind in found)


def names() -> list[str]:
    return [kind.name for kind in backend_kinds()]


def choices() -> list[tuple[str, str]]:
    """Names and labels, for the field of the model; a function, so that no migration lists them."""
    return [(kind.name, kind.label) for kind in backend_kinds()]
