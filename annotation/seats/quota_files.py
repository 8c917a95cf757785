"""Quota plans as TOML: the questions, the groups, and everyone else."""

import tomllib
from collections.abc import Sequence
from typing import Any

from annotation.errors import QuotaError
from annotation.seats.quotas import Quota, QuotaQuestion, is_sentence

EXAMPLE = """\
[[question]]
key = "gender"
label = "What is your gender?"
options = {woman = "Woman", man = "Man"}

[[group]]
target = 5
gender = "woman"

[everyone_else]
target = 2
"""


def read_plan(text: str) -> tuple[list[QuotaQuestion], list[Quota]]:
    """Read the questions and groups of a plan; `QuotaError` says what is wrong and where."""
    try:
        plan = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise QuotaError(f"The file is not TOML: {error}.") from error
    if unknown := set(plan) - {"question", "group", "everyone_else"}:
        raise QuotaError(
            f"The file has “{sorted(unknown)[0]}”. Use [[question]], [[group]], [everyone_else]."
        )
    questions = [_question(n, row) for n, row in enumerate(plan.get("question", []), start=1)]
    groups = [_group(f"group {n}", row) for n, row in enumerate(plan.get("group", []), start=1)]
    if "everyone_else" in plan:
        groups.append(_group("everyone_else", plan["everyone_else"]))
    return questions, groups


def plan_to_toml(questions: Sequence[QuotaQuestion], groups: Sequence[Quota]) -> str:
    """A plan as a text that `read_plan` reads back; the group for everyone else comes last.

    Criteria are sorted, because databases keep them in different orders.
    """
    import tomli_w  # Here, because only exports of a study write TOML.

    rows = [
        {"key": each.key, "label": each.label, "options": dict(each.options)}
        | ({"sentence": each.sentence} if each.sentence else {})
        for each in questions
    ]
    plan: dict[str, Any] = {"question": rows} if rows else {}
    own = [each for each in groups if each.criteria]
    if own:
        plan["group"] = [
            {"target": each.target, **dict(sorted(each.criteria.items()))} for each in own
        ]
    if others := [each for each in groups if not each.criteria]:
        plan["everyone_else"] = {"target": others[0].target}
    return tomli_w.dumps(plan)


def _question(number: int, row: dict[str, Any]) -> QuotaQuestion:
    options = row.get("options")
    words = (row.get("key"), row.get("label"))
    if not all(isinstance(word, str) and word for word in words) or not _is_table(options):
        raise QuotaError(f"question {number} needs key, label and options. An example:\n{EXAMPLE}")
    return QuotaQuestion(row["key"], row["label"], row["options"], _sentence(number, row))


def _sentence(number: int, row: dict[str, Any]) -> str:
    """How a profile says the answer; it must have a place for it."""
    sentence = row.get("sentence", "")
    if sentence and not (isinstance(sentence, str) and is_sentence(sentence)):
        raise QuotaError(
            f"question {number}: sentence must be a text of up to 200 letters with {{answer}} in "
            'it, for example "The person is {answer}."'
        )
    return sentence


def _is_table(options: object) -> bool:
    return (
        isinstance(options, dict)
        and bool(options)
        and all(isinstance(label, str) for label in options.values())
    )


def _group(name: str, row: dict[str, Any]) -> Quota:
    criteria = {key: value for key, value in row.items() if key != "target"}
    target = row.get("target")
    if not isinstance(target, int) or isinstance(target, bool) or target < 0:
        raise QuotaError(f"{name} needs a target, a whole number of places.")
    if name == "everyone_else" and criteria:
        raise QuotaError("everyone_else has no criteria, only a target.")
    if name != "everyone_else" and not criteria:
        raise QuotaError(f'{name} needs criteria, for example gender = "woman".')
    return Quota(target, criteria)
