"""What a judge is asked about a persona, and which replies can be used."""

from collections.abc import Mapping
from typing import Any

from judging.engine.interface import Options, Verdict
from judging.engine.messages import Messages, from_user
from judging.engine.replies import looks_like_refusal, without_thoughts
from studies.personas.profile import HistoryEntry
from studies.texts.normalisation import digest

SHORTEST, LONGEST = 40, 1_500  # letters
_MOST_CHOICES = 50
_LONGEST_TEXT = 1_200  # letters of each text of a choice

ASKED = (
    "Below are earlier choices of one person: a question, the response that this person preferred, "
    "and the one that they turned down.\n\n"
    "{choices}\n\n"
    "Describe in three to five sentences what these choices tell about the person: what matters to "
    "them, which style and which content they prefer. Say only what the choices support. Do not "
    "quote the questions or responses, do not guess age, gender, origin or politics, and do not "
    "address anybody. Write in the language of the choices, beginning with the description itself."
)
# Identifies the words; the choices are different for each persona.
PROMPT_SHA256 = digest(ASKED)


def messages_for(history: list[HistoryEntry]) -> Messages:
    """The request about a persona: its latest choices, long texts cut and marked."""
    choices = [
        f"Choice {number}\nQuestion: {_cut(choice.prompt)}\nPreferred: {_cut(choice.chosen)}\n"
        f"Turned down: {_cut(choice.rejected) or 'not known'}"
        for number, choice in enumerate(history[-_MOST_CHOICES:], 1)
    ]
    return from_user(ASKED.format(choices="\n\n".join(choices)))


def usable(reply: str) -> str:
    """The description in a reply; empty if it is none that a person could review."""
    text = without_thoughts(reply).strip().strip('"“”').strip()
    if not SHORTEST <= len(text) <= LONGEST or looks_like_refusal(text):
        return ""
    return text


class PersonaDescription:
    """`engine.interface.ReplyFormat` of a description: side A stands for a usable text."""

    offers_tie = False

    def options(self, earlier: tuple[str, ...]) -> Options:
        return {}

    def weigh(self, verdict: Verdict, probabilities: Mapping[str, float] | None) -> Verdict:
        return verdict

    def conversation(self, messages: Messages, earlier: tuple[str, ...]) -> Messages:
        return messages

    def read(
        self,
        text: str,
        *,
        earlier: tuple[str, ...] = (),
        is_structured: bool = False,
        is_lenient: bool = False,
    ) -> Verdict:
        return Verdict("A" if usable(text) else None, None)

    def form(self) -> Mapping[str, Any]:
        return {}


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]} …"
