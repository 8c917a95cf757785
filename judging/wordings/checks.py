"""What is wrong with a wording, in plain words, before it is stored. Pure."""

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields

from judging.protocols.protocol import JudgingProtocol
from studies.texts.slots import Slots, names_in, steps_of

MOST_LETTERS = 20_000
SLOTS: dict[str, str] = {
    "persona": "the profile of the person, as annotators see it",
    "question": "the item’s question with the heading [Question]; empty if it has none",
    "question_text": "the question without a heading",
    "context": "the item’s context with its heading; empty if it has none",
    "context_text": "the context without a heading",
    "response_a": "the response that is shown as A",
    "response_b": "the response that is shown as B",
    "ask": "the question of the task, in the words that annotators read",
    "bands": "what the numbers of certainty mean, one band a line",
    "criteria": "the criteria of the study, one a line",
    "examples": "other answers of the same person, if a run shows some",
    "others": "what other judges wrote, for a setting that goes on from their replies",
    "options": "all responses, each with its letter, for settings that show more than two",
    "advice": "what is shown after the first answer, if the item has an advice",
}
_SLOT_LIKE = re.compile(r"\{\{([^{}\n]*)\}\}")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True)
class Checked:
    """`problems` prevent a wording from being stored; `remarks` do not."""

    problems: tuple[str, ...]
    remarks: tuple[str, ...]


def check_template(
    template: str, *, protocol: JudgingProtocol, shows_persona: bool, has: Sequence[str] = ()
) -> Checked:
    """Check one template. `has` names the slots that some item of the study fills."""
    problems: list[str] = []
    if len(template) > MOST_LETTERS:
        problems.append(
            f"The text has {len(template):,} characters; the limit is {MOST_LETTERS:,}."
        )
    if _UNSTORABLE.search(template):
        problems.append("The text contains a character that cannot be stored. Type it again.")
    problems += _slot_problems("\n".join(steps_of(template)))
    if (found := len(steps_of(template))) != protocol.steps:
        problems.append(
            f"The text has {found} message{'s' * (found > 1)}, and “{protocol.name}” asks "
            f"{protocol.steps}. Write “{{{{ then }}}}” on a line of its own, between empty lines, "
            "where the next message begins, and nowhere else."
        )
    used = names_in(template)
    for name in protocol.shows:
        if name not in used:
            is_one = name in ("response_a", "response_b")
            what = f"response {name[-1].upper()}" if is_one else "the responses"
            problems.append(f"{{{{ {name} }}}} is missing: the judge would not see {what}.")
    if shows_persona and "persona" not in used:
        problems.append(
            "{{ persona }} is missing: the judge would not see the profile. Write this text in the "
            "field for judges without the profile."
        )
    if not shows_persona and "persona" in used:
        problems.append(
            "{{ persona }} stands in the text for judges that see nothing of the person. Remove it."
        )
    if protocol.needs_criteria and "criteria" not in used:
        problems.append(f"{{{{ criteria }}}} is missing: “{protocol.name}” asks about criteria.")
    problems += [
        f"{{{{ {name} }}}} is missing: “{protocol.name}” {why}."
        for name, why in protocol.needs_slots.items()
        if name not in used
    ]
    return Checked(tuple(problems), tuple(_remarks(used, protocol, has)))


def _slot_problems(template: str) -> list[str]:
    known = [field.name for field in fields(Slots)]
    problems = []
    for match in dict.fromkeys(_SLOT_LIKE.findall(template)):
        name = match.strip()
        if name in known:
            if match != f" {name} ":
                problems.append(
                    f"“{{{{{match}}}}}”: write it with single spaces, {{{{ {name} }}}}."
                )
            continue
        close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
        hint = (
            f"Did you mean {{{{ {close[0]} }}}}?" if close else f"Use one of: {', '.join(known)}."
        )
        problems.append(f"There is no slot “{name}”. {hint}")
    rest = _SLOT_LIKE.sub("", template)
    if "{{" in rest or "}}" in rest:
        problems.append(
            "A slot is not closed: “{{” and “}}” belong on one line, as in {{ persona }}."
        )
    return problems


def _remarks(used: Sequence[str], protocol: JudgingProtocol, has: Sequence[str]) -> list[str]:
    remarks = [
        f"Items have a {name}, which annotators see and this judge does not: {{{{ {name} }}}} is "
        "not in the text."
        for name in ("question", "context")
        if name in has and name not in used and f"{name}_text" not in used
    ]
    if "bands" in used and not protocol.asks_certainty:
        remarks.append(
            f"{{{{ bands }}}} explains certainties, which “{protocol.name}” does not ask for."
        )
    return remarks
