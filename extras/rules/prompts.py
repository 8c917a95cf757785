"""What a judge is asked about rules: to propose them, and which response each one favours."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from judging.engine.messages import Messages, from_user, looks_like_refusal, without_thoughts
from judging.worker.job_requests import WrittenReply
from studies.texts.normalisation import digest

MOST_RULES = 6  # that are tested
AT_ONCE = 8  # disagreements in one request
MOST_REQUESTS = 5
_SHORTEST, _LONGEST = 20, 200  # letters of a rule
_LONGEST_TEXT = 1_200  # letters of each text of an item

PROPOSE = (
    "Several people and an AI model were each asked which of two responses a person described in a "
    "profile would prefer. Below are {n} cases in which they chose differently.\n\n"
    "{cases}\n\n"
    "Which rules explain why the people and the model chose differently? Name up to five. A rule "
    "must be about the two responses, or about how they fit the profile, so that somebody who does "
    "not know the choices can say which response it favours. Prefer rules that explain several "
    "cases. Write one rule per line, without numbers, each beginning with “The response that”. "
    "Write nothing else."
)
APPLY = (
    "Below are a person’s profile, a question and two responses, then {n} rules. For each rule, "
    "say which response it favours: A, B, or neither if the rule does not apply or applies to both "
    "alike. Judge only by the rule, not by which response is better.\n\n"
    "{case}\n\n"
    "Rules:\n{rules}\n\n"
    "Reply with one line for each rule, its number and its letter, like “1: A” or “2: neither”. "
    "Write nothing else."
)
PROMPT_SHA256 = digest(PROPOSE + APPLY)


@dataclass(frozen=True)
class RuleCase:
    """An item as a judge reads it; `first` is the stored response that is shown as A."""

    profile: str
    question: str
    responses: tuple[str, str]
    first: int

    def shown(self) -> str:
        a, b = self.responses[self.first], self.responses[1 - self.first]
        parts = {"Profile": self.profile, "Question": self.question, "Response A": a}
        parts["Response B"] = b
        return "\n".join(f"{name}: {_cut(text)}" for name, text in parts.items() if text)

    def letter(self, response: int) -> str:
        return "AB"[response != self.first]


def messages_to_propose(cases: Sequence[tuple[RuleCase, int, int]]) -> Messages:
    """The prompt about cases with the people's and the model's response."""
    texts = [
        f"Case {number}\n{case.shown()}\nThe people chose: {case.letter(people)}\n"
        f"The model chose: {case.letter(judge)}"
        for number, (case, people, judge) in enumerate(cases, 1)
    ]
    return from_user(PROPOSE.format(n=len(cases), cases="\n\n".join(texts)))


def messages_to_apply(case: RuleCase, rules: Sequence[str]) -> Messages:
    numbered = "\n".join(f"{number}. {rule}" for number, rule in enumerate(rules, 1))
    return from_user(APPLY.format(n=len(rules), case=case.shown(), rules=numbered))


_BEGINNING = re.compile(r"^[\s\-*•\d.)]*(?=the response )", re.IGNORECASE)
_FAVOURED = re.compile(r"^\W*(?:rule\s+)?(\d+)\W+(?:response\s+)?(A|B|neither)\b", re.IGNORECASE)


def proposed_in(reply: str) -> list[str]:
    """The rules in a reply, in order; lines that are no rules are left out."""
    text = without_thoughts(reply)
    if looks_like_refusal(text):
        return []
    by_folded = dict[str, str]()
    for line in text.splitlines():
        if not _BEGINNING.match(line):
            continue
        rule = " ".join(_BEGINNING.sub("", line).replace("*", "").split()).rstrip(".")
        if _SHORTEST <= len(rule) <= _LONGEST:
            by_folded.setdefault(rule.casefold(), rule[0].upper() + rule[1:])
    return list(by_folded.values())


def favoured_in(reply: str, n: int) -> str:
    """“A”, “B” or “-” for each of n rules; empty if the reply does not answer all."""
    by_number = dict[int, str]()
    for line in without_thoughts(reply).splitlines():
        if match := _FAVOURED.match(line):
            letter = match[2].upper()
            if by_number.setdefault(int(match[1]), letter) != letter:
                return ""
    if set(by_number) != set(range(1, n + 1)):
        return ""
    return "".join("-" if by_number[k] == "NEITHER" else by_number[k] for k in range(1, n + 1))


def proposals() -> WrittenReply:
    return WrittenReply(lambda text: {"rules": rules} if (rules := proposed_in(text)) else {})


def applications(n: int) -> WrittenReply:
    def read_fields(text: str) -> Mapping[str, Any]:
        letters = favoured_in(text, n)
        return {"letters": letters} if letters else {}

    return WrittenReply(read_fields)


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]} …"


def place_of(key: str) -> bytes:
    """A place in an order that has nothing to do with the content."""
    return hashlib.sha256(f"rules\0{key}".encode()).digest()
