"""The judges of the paper, with their snapshots and the sources that they must not judge."""

from dataclasses import dataclass

from judging.backends.endpoints import OPENAI_URL
from judging.backends.registry import DEFAULT


@dataclass(frozen=True, kw_only=True)
class Preset:
    """A judge of the paper; `base_url` is empty if the model runs on the user's own server."""

    model: str
    own_sources: tuple[str, ...]
    backend: str = DEFAULT
    base_url: str = ""


PRESETS = {
    "gpt-4o-2024-05-13": Preset(
        model="gpt-4o-2024-05-13", base_url=OPENAI_URL, own_sources=("openai", "gpt")
    ),
    "gpt-3.5-turbo-0125": Preset(
        model="gpt-3.5-turbo-0125", base_url=OPENAI_URL, own_sources=("openai", "gpt")
    ),
    "command-r-plus": Preset(
        model="command-r-plus",
        own_sources=("cohere", "command", "command-r", "command-r-plus"),
    ),
    # Give the address of a server that runs it in 16 bit, as the paper did.
    "llama-3-70b-instruct": Preset(
        model="meta-llama/Meta-Llama-3-70B-Instruct", own_sources=("meta", "llama", "llama-3")
    ),
}
