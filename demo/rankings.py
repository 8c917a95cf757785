"""Rankings by the simulated judges: of all responses of a set that a prompt shows."""

import re

SAYS_RANKED = "Reason: simulated; each response has a number drawn from its text and the profile."

_ASKS = "[[X > Y > Z]]"
_PROFILE = re.compile(r"^\[Person\]\n(.*?)\n\n\[", re.DOTALL | re.MULTILINE)
_OPTION = re.compile(
    r"^\[\w+ ([A-E])\]\n(.*?)(?=\n\n(?:\[\w+ [A-E]\]\n)|\n\n[^\n]*\[\[X > Y > Z\]\])",
    re.DOTALL | re.MULTILINE,
)


def read_options(prompt: str) -> dict[str, str]:
    """The responses by their letters, if the prompt asks for a ranking; otherwise none."""
    return dict(_OPTION.findall(prompt)) if _ASKS in prompt else {}


def profile_of(prompt: str) -> str:
    match = _PROFILE.search(prompt)
    return match[1] if match else ""
