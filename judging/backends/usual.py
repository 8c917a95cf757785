"""The backends of the core: another one takes a module and a line here."""

from collections.abc import Callable

from judging.backends.backend import (
    WITH_REPLY,
    BackendKind,
    Capabilities,
    JudgeSettings,
    ReplayKind,
)
from judging.backends.openai import OpenAIKind
from judging.engine.interface import Backend
from judging.errors import BadJudge


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
    ReplayKind(),
)
