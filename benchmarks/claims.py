"""How many whole reports claim something that is not there, in studies whose truth is known.

    python -m benchmarks.claims                      20 studies without an effect, 10 with some
    python -m benchmarks.claims --null 1000 --planted 300

Each study has 40 personas with four features, 120 items, 24 people and three judges. Without an
effect, people and judges err alike on hard items and nothing else differs: no feature, topic or
side, and certainty is as high as accuracy and says nothing about it. With effects, everybody errs
more on one of six ages, leans to side A, and is more certain than right. The report of each study
is built as the product builds it, and its registered claims are counted, with those that are false.
Prints how many reports have a false claim, in all and by kind, and the answers of the first screen.
With `--words` it also counts titles and findings without their numbers, so that a sentence that
claims and has no test is seen.
"""

import argparse
import re
import sys
import time
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

PERSONAS, PER_PERSONA, PEOPLE, PER_ITEM, JUDGES = 40, 3, 24, 3, 3
# How often somebody is right about an item that misleads hardly anybody, or most.
RIGHT = (0.97, 0.1)
EFFECT = 2.5
SEED = 20261126


def simulated(rng: np.random.Generator, effect: float) -> Any:
    """A study like that of the benchmark of reports, with other answers and features."""
    from analysis.data.arrays import Judgments
    from benchmarks.report import simulated as plain

    n = PERSONAS * PER_PERSONA
    data = plain(n)
    persona = np.repeat(np.arange(PERSONAS), PER_PERSONA)
    features = rng.integers(0, (6, 2, 3, 3), (PERSONAS, 4))
    keys = [f"persona {number:02}" for number in range(PERSONAS)]
    topics = rng.integers(0, 4, n)
    items = tuple(
        replace(
            item,
            persona=keys[persona[place]],
            topic=f"topic {topics[place]}",
            question=f"Question {place}",
            truth=("r1", "r2")[rng.integers(0, 2)],
        )
        for place, item in enumerate(data.items)
    )
    labels = ("Age", "Gender", "Diet", "Party")
    personas = {
        key: tuple((label, f"{code}") for label, code in zip(labels, row, strict=True))
        for key, row in zip(keys, features, strict=True)
    }
    truth = np.array([("r1", "r2").index(item.truth) for item in items])
    is_hard = features[persona, 0] == 0

    # An item misleads most people and judges, or hardly anybody; some personas have more of these.
    # So a majority is right nearly as often as one person.
    ease = rng.uniform(0.8, 1.4) + rng.normal(0, 0.5, (PERSONAS, 1))
    share = 1 / (1 + np.exp(effect * is_hard - np.repeat(ease, PER_PERSONA)))
    alone = np.where(rng.random(n) < share, *RIGHT)
    many = 3 * alone**2 - 2 * alone**3
    usual = float((1 / (1 + np.exp(-ease))).mean())
    mean = usual * RIGHT[0] + (1 - usual) * RIGHT[1]

    def answered(item: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, ...]:
        first = rng.integers(0, 2, item.size)
        side_a = truth[item] == first
        is_right = rng.random(item.size) < right
        is_right ^= (rng.random(item.size) < effect / 10) & (is_right == ~side_a)
        choice = np.where(is_right, truth[item], 1 - truth[item]).astype(np.int8)
        stated = 100 * mean + rng.normal(0, 8, item.size)
        return choice, np.clip(np.round(stated), 1, 100), first.astype(np.int8)

    item = np.repeat(np.arange(n), PER_ITEM)
    # Trios that share 15 items.
    rater = item * PEOPLE // PER_ITEM // n * PER_ITEM + np.tile(np.arange(PER_ITEM), n)
    choice, certainty, first = answered(item, alone[item])
    answers = replace(
        data.answers,
        rater=rater,
        choice=choice,
        certainty=certainty,
        shown_first=first,
    )
    runs = []
    for run in data.runs[:JUDGES]:
        choice, certainty, first = answered(np.arange(n), many)
        judgments: Judgments = replace(
            run.judgments, choice=choice, certainty=certainty, shown_first=first
        )
        runs.append(replace(run, judgments=judgments))
    return replace(
        data,
        study=replace(data.study, certainty_threshold=round(100 * mean)),
        items=items,
        personas=personas,
        raters=tuple(f"P-{number:02}" for number in range(PEOPLE)),
        rater_groups=({},) * PEOPLE,
        answers=answers,
        runs=tuple(runs),
    )


def claims_of(report: Any) -> list[tuple[str, str, float]]:
    """Every claim that holds: its kind, who or what it is about, and its sign."""
    from analysis.report import sentences
    from analysis.report.section import of_extras, on_in

    found = []
    groups, comparison = report["group_errors"], report["comparison"]
    listed = {
        sentences.GROUPS: [
            (f"{entry['label']} {entry['value']}", entry["difference"])
            for entries in (groups["people"], *groups["judges"])
            for entry in entries
        ],
        sentences.CERTAIN: [
            ("", each["certainty"]["high_sets"]["difference_general"]) for each in comparison
        ],
    }
    for section in of_extras(on_in(report)):
        for kind, tests in section.claims(report).items():
            # Nothing that extras test is planted, so only its p value counts.
            listed[kind] = [("", {"p_holm": p, "value": 0.0}) for p in tests]
    for kind in (each["kind"] for each in report["claims_tested"]["kinds"]):
        level = sentences.level_of(report, kind)
        for name, test in listed.get(kind, sentences.members(report, kind)):
            key, sign = ("p_max", "value") if kind == sentences.GROUPS else ("p_holm", "value")
            if kind not in listed:
                key, sign = "p_max", "t"
            if sentences.holds(test, level, key):
                found.append((kind, name, test[sign]))
    return found


def is_planted(claim: tuple[str, str, float]) -> bool:
    """Whether a claim is about something that the studies with effects have."""
    from analysis.report import sentences

    kind, name, _ = claim
    if kind == sentences.GROUPS:
        return name.startswith("Age ")
    return kind in (sentences.SIDES, sentences.CALIBRATION)


def is_reversed(claim: tuple[str, str, float]) -> bool:
    """Whether a claim about something planted has the wrong direction.

    Personas of the first age are harder, so those of other ages are easier than the rest.
    """
    _, name, sign = claim
    is_other_age = name.startswith("Age ") and not name.endswith(" 0")
    return is_planted(claim) and (sign > 0) == is_other_age


def plain(text: Any) -> str:
    """Words without their numbers, so that equal sentences of several reports are one."""
    return re.sub(r"[-−+±]?\d[\d.,]*", "#", str(text))


def main() -> int:
    from benchmarks.report import set_up

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--null", type=int, default=20, help="studies without an effect")
    parser.add_argument("--planted", type=int, default=10, help="studies with effects")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--words", action="store_true", help="print titles and findings, counted")
    options = parser.parse_args()
    set_up()
    from analysis.report.build import all_figures, all_sentences, build_report

    for title, number, effect in (
        ("without an effect", options.null, 0.0),
        ("with effects", options.planted, EFFECT),
    ):
        reports, answers, texts = Counter[str](), Counter[str](), Counter[str]()
        start = time.perf_counter()
        any_false = made = n_made = wrong = reverse = 0
        for place in range(number):
            rng = np.random.default_rng((options.seed, int(effect > 0), place))
            report = build_report(simulated(rng, effect), seed=place, bootstrap=200)
            found = claims_of(report)
            false = [
                claim
                for claim in found
                if not effect or not is_planted(claim) or is_reversed(claim)
            ]
            reverse += bool(effect) and any(map(is_reversed, found))
            reports.update({claim[0] for claim in false})
            any_false += bool(false)
            made += bool(found)
            n_made += len(found)
            wrong += len(false)
            answers[report["headline"]["state"]] += 1
            texts.update({plain(each.title) for each in all_figures(report).values()})
            findings = all_sentences(report, "finding")
            texts.update({plain(str(each.text)) for each in findings})
            if (place + 1) % 20 == 0:
                sys.stderr.write(f"{place + 1} {title}: {any_false} {dict(reports)}\n")
        seconds = time.perf_counter() - start
        sys.stdout.write(
            f"{number} reports {title} ({seconds:.0f} s): {made} make a claim ({n_made} claims), "
            f"{any_false} a false one ({wrong} claims), {reverse} one of the wrong direction\n"
        )
        for kind, n in reports.most_common():
            sys.stdout.write(f"  {kind}: {n}\n")
        sys.stdout.write(f"  first screen: {dict(answers)}\n")
        if options.words:
            sys.stdout.writelines(f"  {n:>5}  {text}\n" for text, n in texts.most_common())
    return 0


if __name__ == "__main__":
    sys.exit(main())
