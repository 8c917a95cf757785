"""The judges of the paper, with the snapshots that it used and the sources they must not judge."""

from dataclasses import dataclass, field

from judging.backends.openai import OPENAI_URL


@dataclass(frozen=True)
class Preset:
    model: str
    base_url: str = ""  # empty: the user's own server
    own_sources: tuple[str, ...] = field(default=())
    note: str = ""


PRESETS = {
    "gpt-4o-2024-05-13": Preset("gpt-4o-2024-05-13", OPENAI_URL, ("openai", "gpt")),
    "gpt-3.5-turbo-0125": Preset("gpt-3.5-turbo-0125", OPENAI_URL, ("openai", "gpt")),
    "command-r-plus": Preset(
        "command-r-plus",
        own_sources=("cohere", "command", "command-r", "command-r-plus"),
        note="Give --base-url of a server that offers it, for example your own vLLM.",
    ),
    "llama-3-70b-instruct": Preset(
        "meta-llama/Meta-Llama-3-70B-Instruct",
        own_sources=("meta", "llama", "llama-3"),
        note="Give --base-url of a server that runs it in 16 bit, as the paper did.",
    ),
}
