"""Bias probes and mitigations, and how a run names one. A new one needs one line here.

A run names its probe as NAME[:OPTION][@TARGET][+MITIGATION]…, for example `length`,
`source:Acme@r1+warning`, `flip:age` or `none+warning`, the baseline of probes with that mitigation.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from judging.bias.probes import (
    DRAWN,
    FEATURE,
    RULES,
    Authority,
    Bandwagon,
    BiasProbe,
    Distractor,
    Examples,
    Flip,
    Formatting,
    Hide,
    HideHistory,
    HideText,
    Injection,
    Length,
    OwnResponses,
    Reasoning,
    Sentiment,
    Source,
)
from judging.bias.texts import all_of, languages_of, text
from judging.engine.interface import Options, Verdict
from judging.engine.messages import Message, Messages
from judging.errors import NOT_ALLOWED, InvalidValue
from judging.protocols.protocol import JudgingProtocol
from studies.extra import Kind

WARNING, REFLECTION = "warning", "reflection"
MITIGATIONS = {
    REFLECTION: "A second request asks the judge to look at its answer again",
    WARNING: "A system message says what to ignore",
}


def warned(messages: Messages, language: str) -> Messages:
    """Put a system message that says what to ignore before the prompt."""
    words = text(WARNING, "system", language=language)
    if messages and messages[0].role == "system":
        first = Message("system", f"{messages[0].text}\n\n{words}")
        return (first, *messages[1:])
    return (Message("system", words), *messages)


@dataclass(frozen=True)
class Reflecting:
    """A protocol with one more step: the judge reviews its answer, and the second answer counts.

    `details` of the verdict has the side of the first answer under `before_reflection`.
    """

    protocol: JudgingProtocol
    language: str

    @property
    def offers_tie(self) -> bool:
        return self.protocol.offers_tie

    @property
    def steps(self) -> int:
        return self.protocol.steps + 1

    def conversation(self, messages: Messages, earlier: tuple[str, ...]) -> Messages:
        if len(earlier) < self.protocol.steps:
            return self.protocol.conversation(messages, earlier)
        *before, answer = earlier
        asked = self.protocol.conversation(messages, tuple(before))
        again = Message("user", text(REFLECTION, "user", language=self.language))
        return (*asked, Message("assistant", answer), again)

    def options(self, earlier: tuple[str, ...]) -> Options:
        return self.protocol.options(self._own(earlier))

    def weigh(self, verdict: Verdict, probabilities: Mapping[str, float] | None) -> Verdict:
        return self.protocol.weigh(verdict, probabilities)

    def _own(self, earlier: tuple[str, ...]) -> tuple[str, ...]:
        """The replies before the protocol's last step, which the reflection repeats."""
        return earlier if len(earlier) < self.protocol.steps else earlier[:-1]

    def read(
        self,
        text: str,
        *,
        earlier: tuple[str, ...] = (),
        is_structured: bool = False,
        is_lenient: bool = False,
    ) -> Verdict:
        def read(reply: str, before: tuple[str, ...]) -> Verdict:
            return self.protocol.read(
                reply, earlier=before, is_structured=is_structured, is_lenient=is_lenient
            )

        if len(earlier) < self.protocol.steps:
            verdict = read(text, earlier)
            return replace(verdict, continues=verdict.continues or verdict.side is not None)
        *before, answer = earlier
        first = read(answer, tuple(before))
        verdict = read(text, tuple(before))
        return replace(verdict, details={**verdict.details, "before_reflection": first.side})

    def form(self) -> Mapping[str, Any]:
        return self.protocol.form()


OWN: tuple[BiasProbe, ...] = (
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
)
PROBES: Kind[BiasProbe] = Kind("probes")
NONE = "none"
EVERY = "*"  # as a probe's option in a plan: once per feature
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
        """Whether it asks about the judge's own responses with unchanged prompts."""
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
        languages = languages_of(self._worded)
        if self.probe is None or not self.probe.languages:
            return languages
        own = self.probe.languages
        return (
            own
            if languages is None
            else tuple(language for language in own if language in languages)
        )

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
            raise _wrong(f"“{words}” names no probe. For a baseline, use {NONE} before the +.")
        return ProbeChoice(None, mitigations=tuple(sorted(mitigations)))
    probe = next((known for known in known_probes() if known.name == name), None)
    if probe is None:
        raise _wrong(
            f"There is no probe “{name}”. Use one of: {', '.join(names())}; after it, + and "
            f"one of: {', '.join(MITIGATIONS)}."
        )
    option = option or probe.default
    if problem := probe.problem(option):
        raise _wrong(problem)
    if rule != DRAWN and not probe.has_target:
        raise _wrong(f"{name} favours no response, so it has no target. Remove @{rule}.")
    choice = ProbeChoice(probe, option, rule, tuple(sorted(mitigations)))
    if len(choice.name) > LONGEST:
        raise _wrong(f"The name of a probe is too long. Use at most {LONGEST} characters.")
    return choice


def _wrong(problem: str) -> InvalidValue:
    return InvalidValue("bias_probe", NOT_ALLOWED, problem=problem)


def known_probes() -> list[BiasProbe]:
    """The probes of the core and of extras."""
    return list(PROBES)


def names() -> list[str]:
    return [probe.name for probe in known_probes()]


def choices_of_probes(
    features: Sequence[str], is_on: Callable[[str], bool]
) -> list[tuple[str, str]]:
    """Names and descriptions of the probes for a form, where personas have these features."""
    choices = []
    for probe in PROBES.where(is_on):
        if probe.option_name == FEATURE:
            words = ", once for each attribute" if len(features) > 1 else ""
            if features:
                choices.append(
                    (f"{probe.name}:{EVERY}", f"{probe.name}: {probe.description}{words}")
                )
        else:
            choices.append((probe.name, f"{probe.name}: {probe.description}"))
    return choices


def with_baselines(probes: list[str]) -> list[str]:
    """The names of runs that probes need, each after the run to compare it with."""
    runs: list[str] = []
    for words in probes:
        choice = probe_choice(words)
        runs += [choice.baseline.name, choice.name]
    return list(dict.fromkeys(runs))
