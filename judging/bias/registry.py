"""The bias probes of this program, and how a run names one. Another one takes one line here.

A run names its probe as NAME[:OPTION][@TARGET][+MITIGATION]…, for example `length`,
`source:Acme@r1+warning`, `flip:age` or `none+warning`, the baseline of probes with that mitigation.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from judging.bias.mitigations import MITIGATIONS, REFLECTION, WARNING
from judging.bias.own_responses import OwnResponses
from judging.bias.personas import FEATURE, Examples, Flip, Hide, HideHistory, HideText
from judging.bias.probe import DRAWN, RULES, BiasProbe
from judging.bias.responses import (
    Authority,
    Bandwagon,
    Distractor,
    Formatting,
    Injection,
    Length,
    Reasoning,
    Sentiment,
    Source,
)
from judging.bias.texts import all_of, languages_of
from judging.errors import NOT_ALLOWED, InvalidValue

PROBES: list[BiasProbe] = [
    Length(),
    Formatting(),
    Sentiment(),
    Bandwagon(),
    Authority(),
    Source(),
    Reasoning(),
    Distractor(),
    Injection(),
    OwnResponses(),
    Flip(),
    Hide(),
    HideText(),
    HideHistory(),
    Examples(),
]
NONE = "none"
EVERY = "*"  # as the option of a probe in a plan: once for every feature
LONGEST = 60


@dataclass(frozen=True)
class ProbeChoice:
    """A probe with its option, its target and the mitigations; `probe` is None in a baseline."""

    probe: BiasProbe | None
    option: str = ""
    rule: str = DRAWN
    mitigations: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """As a run stores it; empty for a run without a probe."""
        if self.probe is None:
            words = NONE if self.mitigations else ""
        else:
            words = self.probe_words
        return "".join([words, *(f"+{name}" for name in self.mitigations)])

    @property
    def probe_words(self) -> str:
        """The name without mitigations."""
        if self.probe is None:
            return NONE
        option = f":{self.option}" if self.option != self.probe.default else ""
        rule = f"@{self.rule}" if self.rule != DRAWN else ""
        return f"{self.probe.name}{option}{rule}"

    @property
    def baseline(self) -> Self:
        """The same way of asking without the probe."""
        return replace(self, probe=None, option="", rule=DRAWN)

    @property
    def asks_own(self) -> bool:
        """Whether it asks about the judge's own responses, with unchanged prompts."""
        return self.probe is not None and self.probe.asks_own

    @property
    def warns(self) -> bool:
        return WARNING in self.mitigations

    @property
    def reflects(self) -> bool:
        return REFLECTION in self.mitigations

    @property
    def languages(self) -> tuple[str, ...] | None:
        """The languages in which it has its texts; None if it adds no words."""
        found = languages_of(self._worded)
        if self.probe is None or not self.probe.languages:
            return found
        own = self.probe.languages
        return own if found is None else tuple(each for each in own if each in found)

    @property
    def _worded(self) -> list[str]:
        return [*([self.probe.name] if self.probe else []), *self.mitigations]

    def sha256(self, language: str) -> str:
        """A hash of the rule and of every text that it adds to a prompt."""
        texts = {name: all_of(name, language) for name in self._worded}
        words = json.dumps([self.name, texts], ensure_ascii=False, sort_keys=True)
        return hashlib.sha256(words.encode()).hexdigest()


def probe_choice(words: str) -> ProbeChoice:
    """The probe that a run names; an empty name is no probe. Raises `InvalidValue`."""
    rest, mitigations = words.strip(), set[str]()
    while True:
        head, plus, last = rest.rpartition("+")
        if not plus or last not in MITIGATIONS:
            break
        rest = head
        mitigations.add(last)
    rule = DRAWN
    head, at, last = rest.rpartition("@")
    if at and last in RULES:
        rest, rule = head, last
    name, _, option = rest.partition(":")
    if name in ("", NONE):
        if rule != DRAWN or option or (name == "" and mitigations):
            raise _wrong(f"“{words}” names no probe. Write {NONE} before the + for a baseline.")
        return ProbeChoice(None, mitigations=tuple(sorted(mitigations)))
    probe = next((each for each in PROBES if each.name == name), None)
    if probe is None:
        raise _wrong(
            f"There is no probe “{name}”. Use one of: {', '.join(names())}; after it, + and "
            f"one of: {', '.join(MITIGATIONS)}."
        )
    option = option or probe.default
    if problem := probe.problem(option):
        raise _wrong(problem)
    if rule != DRAWN and not probe.has_target:
        raise _wrong(f"{name} changes the profile, so it has no target. Leave @{rule} out.")
    found = ProbeChoice(probe, option, rule, tuple(sorted(mitigations)))
    if len(found.name) > LONGEST:
        raise _wrong(f"The name of a probe has at most {LONGEST} letters.")
    return found


def _wrong(problem: str) -> InvalidValue:
    return InvalidValue("bias_probe", NOT_ALLOWED, problem=problem)


def names() -> list[str]:
    return [probe.name for probe in PROBES]


def choices_of_probes(features: Sequence[str]) -> list[tuple[str, str]]:
    """Names and descriptions of the probes for a form, where personas have these features."""
    found = []
    for probe in PROBES:
        if probe.option_name == FEATURE:
            words = ", once for each attribute" if len(features) > 1 else ""
            if features:
                found.append((f"{probe.name}:{EVERY}", f"{probe.name}: {probe.description}{words}"))
        else:
            found.append((probe.name, f"{probe.name}: {probe.description}"))
    return found


def with_baselines(probes: list[str]) -> list[str]:
    """The names of runs that probes need: each after the run that it is compared with."""
    found: list[str] = []
    for words in probes:
        choice = probe_choice(words)
        found += [choice.baseline.name, choice.name]
    return list(dict.fromkeys(found))
