"""What the labels of a table are: two labels, classes, steps in an order, or scores."""

from argparse import Namespace
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from thirdperson.check.columns import number
from thirdperson.check.dataset import spellings_of, tied_labels
from thirdperson.check.labels import NO_LABEL, BadTable, LabelTable, listed, same_label
from thirdperson.check.terminal import asked, can_ask

ScaleLevel = Literal["nominal", "ordinal", "score"]
LEVELS: tuple[ScaleLevel, ...] = ("nominal", "ordinal", "score")
_WORDS = {"nominal": "classes", "ordinal": "steps in an order", "score": "scores"}
# Words are read as classes without being asked if there are no more, with so many labels each.
_MOST_CLASSES, _FEWEST_EACH = 20, 5
_TELLS = 10  # so many labels of a person show how that person writes them
_MOST_STEPS = 12  # whole numbers of more values are scores
_MOST_VALUES = 101  # different scores; more are rounded to steps


@dataclass(frozen=True)
class LabelScale:
    """The labels in order, with their values, and the code of each normalised label."""

    level: ScaleLevel
    names: tuple[str, ...]
    values: tuple[float, ...]
    codes: dict[str, int]
    rounded: int = 0

    @property
    def is_graded(self) -> bool:
        return self.level != "nominal"

    def code(self, value: str) -> int:
        return self.codes[same_label(value)]

    def words(self, labels: LabelTable) -> list[str]:
        """What was read, with counts, for the terminal."""
        sentences = [
            f"labels: {self.rounded or len(self.names):,} {_WORDS[self.level]}{self._range()}"
        ]
        for who, is_judge in (("people", False), ("judges", True)):
            codes = [self.code(x.value) for x in labels.labels if x.is_judge == is_judge]
            if len(self.names) > _MOST_STEPS:
                middle = self.names[int(np.median(codes))] if codes else "none"
                sentences.append(f"  by {who}: {len(codes):,}, median {middle}")
                continue
            counts = Counter(codes)
            classes = [f"{name[:40]} ({counts[place]:,})" for place, name in enumerate(self.names)]
            sentences.append(f"  by {who}: {listed(classes, _MOST_STEPS)}")
        if self.rounded:
            sentences.append(f"  rounded to {_MOST_VALUES} steps of one width")
        return sentences

    def _range(self) -> str:
        return f", {self.names[0]} to {self.names[-1]}" if self.is_graded else ""


def scale_of(labels: LabelTable, options: Namespace) -> LabelScale | None:
    """The scale of more than two labels; None for two labels and a tie. Raises `BadTable`."""
    level: ScaleLevel | None = options.level
    if level and (options.tie or options.positive):
        raise BadTable("--tie and --positive are for two labels. Leave them or --level out.")
    if level in ("nominal", "score") and options.labels:
        raise BadTable(f"--labels is the order of --level ordinal. Leave it out with {level}.")
    if not level and (options.labels or options.tie or options.positive):
        return None
    spellings = spellings_of([*(label.value for label in labels.labels), *labels.gold.values()])
    plain = [name for name in spellings if level or name not in tied_labels(spellings, (), ())]
    if not level and (len(plain) <= 2 or NO_LABEL & set(plain)):
        return None
    numbers = {name: value for name in plain if (value := number(name)) is not None}
    if level is None:
        if len(numbers) == len(plain):
            level = _level_of_numbers(list(numbers.values()), options)
        elif len(plain) > _MOST_CLASSES or len(labels.labels) < _FEWEST_EACH * len(plain):
            return None
        else:
            level, plain = "nominal", list(spellings)
    if len(plain) < 2:
        raise BadTable(f"Every label is “{listed([*spellings.values()])}”, so there is no scale.")
    if level == "nominal":
        return _classes(labels, spellings)
    if level == "ordinal" and options.labels:
        return _in_order(spellings, options.labels)
    if words := [spellings[name] for name in plain if name not in numbers]:
        if level == "ordinal":
            raise BadTable(
                f"In which order are the labels? Name them from the lowest to the highest: "
                f"--level ordinal --labels {','.join(sorted(spellings.values()))}"
            )
        raise BadTable(
            f"--level score: “{words[0][:40]}” is not a number. Correct it, name words for no "
            "label with --missing, or add --level nominal."
        )
    return _of_numbers(level, numbers, spellings)


def _level_of_numbers(values: list[float], options: Namespace) -> ScaleLevel:
    if any(value % 1 for value in values) or len(values) > _MOST_STEPS:
        return "score"
    numbers = listed([f"{value:g}" for value in sorted(values)], 12)
    if can_ask(options):
        return _asked(numbers)
    zero = " If 0 means a tie, add --tie 0." if sorted(values) == [0, 1, 2] else ""
    raise BadTable(
        f"The labels are the numbers {numbers}, which can be read in more than one way.{zero} Add "
        "--level nominal if they are classes, --level ordinal if they are steps in an order, "
        "--level score if their distances count; or group them into two with --positive."
    )


def _asked(numbers: str) -> ScaleLevel:
    """The level that somebody at the terminal chooses."""
    choices = ", ".join(f"{n} {_WORDS[level]}" for n, level in enumerate(LEVELS, start=1))
    levels = dict(zip("123", LEVELS, strict=True)) | {level: level for level in LEVELS}
    question = f"The labels are the numbers {numbers}. Are they {choices}? "
    if level := levels.get(asked(question, levels)):
        return level
    raise BadTable("No level was chosen. Add --level nominal, ordinal or score.")


def _classes(labels: LabelTable, spellings: dict[str, str]) -> LabelScale:
    """Classes that people gave come first, because only these can be balanced."""
    if len(spellings) > _MOST_VALUES:
        raise BadTable(
            f"There are {len(spellings):,} different labels, and at most {_MOST_VALUES} can be "
            "compared. Name the columns of labels with --people and --judge."
        )
    by_people = {same_label(label.value) for label in labels.labels if not label.is_judge}
    by_rater: dict[tuple[bool, str], Counter[str]] = defaultdict(Counter)
    for label in labels.labels:
        by_rater[label.is_judge, label.rater][same_label(label.value)] += 1
    pairs = [
        (name, set(own), "people", by_people)
        for (is_judge, name), own in by_rater.items()
        if is_judge
    ]
    # Whoever gave few labels may have had items that nobody else had.
    of_people = [
        (name, set(own))
        for (is_judge, name), own in by_rater.items()
        if not is_judge and own.total() >= _TELLS
    ]
    while of_people:
        name, alike = of_people[0]
        while more := [own for _, own in of_people if own & alike and not own <= alike]:
            alike = alike.union(*more)
        of_people = [(other, own) for other, own in of_people if not own & alike]
        rest = set[str]().union(*(own for _, own in of_people))
        pairs.append((name, alike, "other people", rest))
    for rater, own, people, others in pairs:
        if min(len(own), len(others)) > 1 and not own & others:
            lists = [listed([spellings[x] for x in sorted(of)]) for of in (own, others)]
            raise BadTable(
                f"{rater} gives {lists[0]}, and {people} give {lists[1]}: no label is in both. "
                "Write the same word for the same label, or name other columns with --people and "
                "--judge."
            )
    names = sorted(spellings, key=lambda name: (name not in by_people, number(name) or 0, name))
    return _scale("nominal", names, spellings, range(len(names)))


def _in_order(spellings: dict[str, str], order: Iterable[str]) -> LabelScale:
    names = [same_label(name) for name in order]
    if unnamed := [spellings[name] for name in spellings if name not in names]:
        raise BadTable(f"--labels leaves out {listed(unnamed)}. Name every label, in order.")
    known = dict(zip(names, order, strict=True)) | spellings
    return _scale("ordinal", list(dict.fromkeys(names)), known, range(len(set(names))))


def _of_numbers(
    level: ScaleLevel, numbers: dict[str, float], spellings: dict[str, str]
) -> LabelScale:
    values = sorted(set(numbers.values()))
    if len(values) <= _MOST_VALUES:
        codes = {name: values.index(value) for name, value in numbers.items()}
        return LabelScale(level, tuple(f"{value:g}" for value in values), tuple(values), codes)
    steps = np.linspace(values[0], values[-1], _MOST_VALUES)
    codes = {name: int(np.abs(steps - value).argmin()) for name, value in numbers.items()}
    names = tuple(f"{value:.4g}" for value in steps)
    return LabelScale(level, names, tuple(steps.tolist()), codes, len(values))


def _scale(
    level: ScaleLevel, names: list[str], spellings: dict[str, str], values: Iterable[int]
) -> LabelScale:
    codes = {name: place for place, name in enumerate(names)}
    return LabelScale(level, tuple(spellings[n] for n in names), tuple(map(float, values)), codes)
