"""Planted biases are found with the right size, and biases that are not there are not found."""

import hashlib

import numpy as np
import pytest

from analysis.stats.comparison.probes import change_of_shift, credit, probe_effect
from analysis.stats.core.multiplicity import holm
from judging.bias.probe_choices import PROBES
from judging.models import JudgeRun
from judging.prompts.asking import Asking
from studies.models import Item, Persona, Study
from tests.judging.planted import MARKS, PlantedJudge
from tests.sampling import examples

STRENGTH = 1.6
PERSONAS, QUESTIONS = 30, 10
TARGETED = [probe.name for probe in PROBES if probe.has_target]


class Asked:
    """Crossed personas and questions, asked through the prompts of the program; no database."""

    def __init__(self, seed, *probes):
        self.seed = seed
        self.study = Study(slug="s", persona_style="facts", seed=seed)
        rng = np.random.default_rng(seed)
        self.items, self.persona, self.question = [], [], []
        of_question = rng.normal(0, 0.6, QUESTIONS)
        for p in range(PERSONAS):
            persona = Persona(study=self.study, key=f"p{p}", features=FEATURES, history=[])
            for q in range(QUESTIONS):
                merit = of_question[q] + rng.normal(0, 0.8)
                self.items.append(
                    Item(
                        study=self.study,
                        persona=persona,
                        key=f"i{p}-{q}",
                        question=f"Question {q}?",
                        r1={"text": f"Of merit {merit:.3f}. So it is."},
                        r2={"text": "Of merit 0.000. So it is."},
                    )
                )
                self.persona.append(p)
                self.question.append(q)
        self.clusters = {"persona": np.array(self.persona), "question": np.array(self.question)}
        self.position = np.arange(len(self.items))
        self.asking = {name: self._asking(name) for name in ("", *probes)}
        self.messages = {
            name: [
                asking.messages(item, shown_first=first)
                for item, first in zip(self.items, self._first(), strict=True)
            ]
            for name, asking in self.asking.items()
        }

    def _asking(self, probe):
        return Asking.of(JudgeRun(study=self.study, bias_probe=probe, seed=self.seed))

    def _first(self):
        drawn = [hashlib.md5(f"{self.seed}{i.key}".encode()).digest()[0] % 2 for i in self.items]
        return [("r1", "r2")[n] for n in drawn]

    def target(self, probe):
        """Which response a probe changed, as the prompts show it."""
        found = []
        for messages in self.messages[probe]:
            text = messages[-1].text
            a, b = text.index("[Response A]"), text.index("[Response B]")
            is_on_a = len(text[a:b]) > len(text[b : text.index("Which response")])
            found.append(is_on_a)
        first = np.array([first == "r2" for first in self._first()], dtype=np.int64)
        return np.where(found, first, 1 - first)

    def choices(self, judge, name):
        """What a judge chose, read by the protocol: 0 is response 1, 1 is response 2."""
        asking, found = self.asking[name], []
        for messages, first in zip(self.messages[name], self._first(), strict=True):
            protocol = asking.reply_format
            earlier: tuple[str, ...] = ()
            verdict = protocol.read(judge.reply(messages))
            while verdict.continues:
                earlier += (judge.reply(protocol.conversation(messages, earlier)),)
                now = protocol.conversation(messages, earlier)
                verdict = protocol.read(judge.reply(now), earlier=earlier)
            found.append("r1" == first if verdict.side == "A" else first == "r2")
        return np.where(found, 0, 1)

    def expected_shift(self, judge, probe):
        """The exact change of the probability of the favoured response."""
        first = np.array([first == "r2" for first in self._first()])
        sides = self.target(probe) == first.astype(np.int64)  # whether the target is side A

        def share(name):
            on_a = np.array([judge.probability_of_a(each) for each in self.messages[name]])
            return np.where(sides, on_a, 1 - on_a)

        return float((share(probe) - share("")).mean())


FEATURES = [{"key": "age", "label": "Age", "value": "30", "text": "They are 30."}]


@pytest.mark.nightly
def test_each_planted_bias_is_found_with_its_size_and_no_other_one():
    n_seeds = examples(1, every=20)
    errors: dict[str, list[float]] = {name: [] for name in TARGETED}
    covered = false_alarms = 0
    assert set(MARKS) == set(TARGETED)
    for seed in range(n_seeds):
        asked = Asked(seed, *TARGETED)
        targets = {name: asked.target(name) for name in TARGETED}
        for bias in TARGETED:
            judge = PlantedJudge(bias, STRENGTH, seed=seed)
            base = asked.choices(judge, "")
            found = {
                name: probe_effect(
                    base,
                    asked.choices(judge, name),
                    asked.position,
                    asked.clusters,
                    target=targets[name],
                )
                for name in TARGETED
            }
            planted = found[bias].shift
            expected = asked.expected_shift(judge, bias)
            assert 0.2 < expected < 0.4
            errors[bias].append((planted.value - expected) / planted.se)
            covered += planted.interval.low <= expected <= planted.interval.high
            adjusted = dict(
                zip(found, holm([each.shift.p for each in found.values()]), strict=True)
            )
            assert adjusted[bias] < 0.05, (seed, bias)
            false_alarms += any(p < 0.05 for name, p in adjusted.items() if name != bias)

    n = n_seeds * len(TARGETED)
    every = np.concatenate([errors[name] for name in TARGETED])
    assert np.abs(every).max() < 4
    assert abs(every.mean()) < 4 / np.sqrt(n)
    assert covered >= 0.95 * n - 3 * np.sqrt(0.05 * 0.95 * n)
    # A family is the nine probes of one judge; its eight that are not planted share the seed.
    assert false_alarms <= 0.05 * n + 3 * np.sqrt(0.05 * 0.95 * n)


@pytest.mark.nightly
def test_a_mitigation_that_halves_a_bias_is_seen_and_a_reflection_that_removes_it():
    probes = ("source", "none+warning", "source+warning", "none+reflection", "source+reflection")
    asked, judge = Asked(3, *probes), PlantedJudge("source", 1.6, warned=0.4, seed=3)
    target = asked.target("source")
    said = {name: asked.choices(judge, name) for name in ("", *probes)}

    def moved(probe, base):
        return credit(said[probe], target) - credit(said[base], target)

    plain = moved("source", "")
    warned = moved("source+warning", "none+warning")
    reflected = moved("source+reflection", "none+reflection")

    assert plain.mean() > 0.2
    by_warning = change_of_shift(plain, warned, asked.position, asked.clusters)
    assert by_warning.p < 0.05
    assert 0 < warned.mean() < plain.mean()
    expected = asked.expected_shift(judge, "source")
    assert plain.mean() == pytest.approx(expected, abs=0.08)
    by_reflection = change_of_shift(plain, reflected, asked.position, asked.clusters)
    assert by_reflection.interval.low > 0
    assert abs(reflected.mean()) < 0.09
