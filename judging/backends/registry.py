"""The backends of this program. Another backend takes one file and one line here."""

from judging.backends.anthropic import AnthropicKind
from judging.backends.backend import BackendKind
from judging.backends.gemini import GeminiKind
from judging.backends.local.kind import TransformersKind
from judging.backends.openai import OpenAIKind
from judging.backends.replay import ReplayKind
from judging.errors import BadJudge

BACKENDS: list[BackendKind] = [
    OpenAIKind(),
    AnthropicKind(),
    GeminiKind(),
    TransformersKind(),
    ReplayKind(),
]
DEFAULT = OpenAIKind.name


def backend_kind(name: str) -> BackendKind:
    """The kind with this name. Raises `BadJudge` if there is none."""
    for kind in BACKENDS:
        if kind.name == name:
            return kind
    raise BadJudge(f"There is no backend “{name}”. Use one of: {', '.join(names())}.")


def names() -> list[str]:
    return [kind.name for kind in BACKENDS]


def choices() -> list[tuple[str, str]]:
    """Names and labels, for the field of the model; a function, so that no migration lists them."""
    return [(kind.name, kind.label) for kind in BACKENDS]
