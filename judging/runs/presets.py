"""Judges to start from: those of the paper with their snapshots, and providers; with the sources
that they must not judge."""

from dataclasses import dataclass

from judging.backends.anthropic import AnthropicKind
from judging.backends.endpoints import ANTHROPIC_URL, GEMINI_URL, OPENAI_URL
from judging.backends.gemini import GeminiKind
from judging.backends.registry import DEFAULT


@dataclass(frozen=True, kw_only=True)
class JudgePreset:
    """`base_url` is empty if the model runs on the user's own server, `model` if any of a
    provider's models can be named."""

    model: str
    own_sources: tuple[str, ...]
    backend: str = DEFAULT
    base_url: str = ""

    @property
    def words(self) -> str:
        """What it is, for the page on which judges are added."""
        if not self.model:
            return "Any model of this provider, through its own library"
        where = "at OpenAI" if self.base_url else "on a server of yours"
        return f"The paper’s model, {where}"


PRESETS = {
    "gpt-4o-2024-05-13": JudgePreset(
        model="gpt-4o-2024-05-13", base_url=OPENAI_URL, own_sources=("openai", "gpt")
    ),
    "gpt-3.5-turbo-0125": JudgePreset(
        model="gpt-3.5-turbo-0125", base_url=OPENAI_URL, own_sources=("openai", "gpt")
    ),
    "command-r-plus": JudgePreset(
        model="command-r-plus",
        own_sources=("cohere", "command", "command-r", "command-r-plus"),
    ),
    # Give the address of a server that runs it in 16 bit, as the paper did.
    "llama-3-70b-instruct": JudgePreset(
        model="meta-llama/Meta-Llama-3-70B-Instruct", own_sources=("meta", "llama", "llama-3")
    ),
    "anthropic": JudgePreset(
        model="",
        backend=AnthropicKind.name,
        base_url=ANTHROPIC_URL,
        own_sources=("anthropic", "claude"),
    ),
    "gemini": JudgePreset(
        model="",
        backend=GeminiKind.name,
        base_url=GEMINI_URL,
        own_sources=("google", "gemini"),
    ),
}
