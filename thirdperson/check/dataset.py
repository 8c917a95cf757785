"""Labels as the arrays that a report is computed from."""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping

import numpy as np

from analysis.data.arrays import (
    EPSILON,
    MISSING,
    TIE,
    Answers,
    Dataset,
    ItemData,
    Judgments,
    Prompt,
    RunData,
    RunMoney,
    StudyFacts,
    sorted_columns,
)
from judging.protocols.certainty import Certainty
from judging.protocols.standard import Standard
from judging.protocols.tie import Tie
from studies.importers.files.answer_rows import LARGEST_STEP, PERCENT, Scale, percent
from thirdperson.check.choices import ChoiceColumns
from thirdperson.check.errors import BadTable
from thirdperson.check.labels import Label, LabelTable, listed

PEOPLE = "people"  # the name of their certainties, next to the names of judges
_USUAL_STEPS = (5, 7, 10)  # the largest certainty of scales that their values show
_FEWEST_STEPS = 3
# A table says nothing about participation, so nothing was left out of it.
_NOT_COUNTED = ("surplus", "released", "withdrawn", "excluded", "excluded_people")


def dataset_of(
    labels: LabelTable,
    choices: ChoiceColumns,
    *,
    name: str,
    title: str,
    margin: float,
    threshold: int,
    is_simulated: bool = False,
    people_are_fixed: bool = False,
    epsilon: float = EPSILON,
) -> Dataset:
    """The data set of a file's labels. Raises `BadTable` if a certainty is out of range."""
    certainties = certainties_of(labels)
    keys = labels.items
    position = {key: number for number, key in enumerate(keys)}
    people = [label for label in labels.labels if not label.is_judge]
    raters = labels.raters(is_judge=False)
    answers = _answers(people, position, raters, choices, certainties)
    return Dataset(
        study=StudyFacts(
            slug=re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "labels",
            title=title,
            task="labels of a table",
            language="",
            is_simulated=is_simulated,
            allow_tie=_has_tie(people, choices),
            ask_certainty=any(certainties.get(label) for label in people),
            certainty_threshold=threshold,
            equivalence_margin=margin,
            annotations_per_item=max(Counter(label.item for label in people).values(), default=0),
            items_per_annotator=max(Counter(label.rater for label in people).values(), default=0),
            persona_style="",
            show_history=0,
            minutes=0,
            reward=0,
            currency="USD",
            source={"name": name},
            question=f"Which label is right? ({choices.words})",
        ),
        items=tuple(
            ItemData(
                key=key,
                topic="",
                persona=labels.persona.get(key, ""),
                question=labels.question.get(key, ""),
                truth=_truth(labels.gold.get(key), choices),
                lengths=(0, 0),
            )
            for key in keys
        ),
        personas=dict.fromkeys(sorted({labels.persona.get(item, "") for item in keys}), ()),
        raters=tuple(raters),
        rater_groups=({},) * len(raters),
        answers=answers,
        people_are_fixed=people_are_fixed,
        epsilon=epsilon,
        not_counted=dict.fromkeys(_NOT_COUNTED, 0),
        runs=tuple(
            _run(judge, labels, position, choices, certainties, name)
            for judge in labels.raters(is_judge=True)
        ),
    )


def certainties_of(labels: LabelTable) -> dict[Label, float]:
    """Each label's certainty from 1 to 100; people have one scale, and each judge has its own."""
    groups: dict[str, dict[Label, float]] = {}
    for each in labels.labels:
        if each.certainty is not None:
            groups.setdefault(each.rater if each.is_judge else PEOPLE, {})[each] = each.certainty
    if unknown := labels.scales.keys() - groups.keys() - {""}:
        raise BadTable(
            f"--scale {min(unknown)}: nobody of that name states a certainty. Use one of: "
            f"{listed(sorted(groups)) or 'none, because there are no certainties'}."
        )
    scales = {name: _scale(set(stated.values())) for name, stated in groups.items()}
    known = {scale for scale in scales.values() if scale not in (None, PERCENT)}
    found: dict[Label, float] = {}
    words: dict[str, list[str]] = {}
    for name, stated in groups.items():
        scale = labels.scales.get(name) or labels.scales.get("") or scales[name]
        if scale is None and len(known) == 1:
            # Others use one scale, and these values fit it.
            [(low, high)] = known
            fits = all(low <= value <= high and value % 1 == 0 for value in stated.values())
            scale = (low, high) if fits and high > 1 else None
        if scale is None:
            values = listed([f"{value:g}" for value in sorted(set(stated.values()))])
            raise BadTable(
                f"The certainties of “{name}” are {values}, which does not show their scale. Name "
                f"it, such as --scale {name}=1-5 or --scale {name}=1-100."
            )
        if scale != PERCENT:
            words.setdefault(_scale_words(scale), []).append(name)
        for label, value in stated.items():
            try:
                found[label] = _percent(label, value, scale)
            except BadTable as error:
                if labels.skipped is None:
                    raise
                labels.skipped.append(str(error))
                labels.labels.remove(label)
    for text, names in words.items():
        whose = "" if len(names) == len(groups) else f" of {listed(names)}"
        labels.reading.append(f"certainty{whose}: {text}")
    return found


def _scale(values: Collection[float]) -> Scale | None:
    """The lowest and highest certainty of a scale, as far as its values show it."""
    low, high = min(values), max(values)
    if high <= 1 and any(value % 1 for value in values):
        return (0, 1)
    if high > LARGEST_STEP:
        return PERCENT
    is_steps = low >= 1 and high in _USUAL_STEPS and not any(value % 1 for value in values)
    return (1, high) if is_steps and len(values) >= _FEWEST_STEPS else None


def _percent(label: Label, value: float, scale: Scale) -> float:
    found = percent(value, scale)
    if found is None:
        remedy = "Name another scale with --scale, or correct it."
        if scale == PERCENT:
            remedy = "Use numbers from 1 to 100, or name another scale with --scale."
        raise BadTable(f"{label.where}: the certainty of “{label.rater}” is {value:g}. {remedy}")
    return found


def _scale_words(scale: Scale) -> str:
    low, high = scale
    if scale == (0, 1):
        return "shares from 0 to 1, read as 1 to 100"
    steps = 1 < high - low <= LARGEST_STEP
    how = "the middle of its part of 1 to 100" if steps else "1 to 100"
    return (
        f"{low:g} to {high:g}, each read as {how}"
        if steps
        else f"{low:g} to {high:g}, read as {how}"
    )


def _has_tie(labels: list[Label], choices: ChoiceColumns) -> bool:
    """Whether ties were offered: somebody gave one. A right label that is a tie does not say so."""
    return any(choices.code(label.value) == TIE for label in labels)


def _truth(value: str | None, choices: ChoiceColumns) -> str:
    return "" if value is None else ("r1", "r2", "tie")[choices.code(value)]


def _answers(
    people: list[Label],
    position: Mapping[str, int],
    raters: list[str],
    choices: ChoiceColumns,
    certainties: Mapping[Label, float],
) -> Answers:
    number = {rater: place for place, rater in enumerate(raters)}
    seen: dict[str, int] = defaultdict(int)
    places = []
    for label in people:
        places.append(seen[label.rater])
        seen[label.rater] += 1
    columns = sorted_columns(
        (
            [position[label.item] for label in people],
            [number[label.rater] for label in people],
            [choices.code(label.value) for label in people],
            [certainties.get(label, np.nan) for label in people],
            places,
        ),
        2,
        "int64",
        "int64",
        "int8",
        "float64",
        "int64",
    )
    item, rater, choice, certainty, place = columns
    n = item.size
    unknown = np.full(n, MISSING, dtype=np.int8)
    return Answers(item, rater, choice, certainty, unknown, np.full(n, np.nan), place)


def _run(
    judge: str,
    labels: LabelTable,
    position: Mapping[str, int],
    choices: ChoiceColumns,
    certainties: Mapping[Label, float],
    name: str,
) -> RunData:
    own = [label for label in labels.labels if label.is_judge and label.rater == judge]
    setting = Standard.name
    if _has_tie(labels.labels, choices):
        setting = Tie.name
    elif any(label in certainties for label in own):
        setting = Certainty.name
    n = len(own)
    return RunData(
        run=hashlib.sha256(f"{name}\n{judge}".encode()).hexdigest(),
        judge=judge,
        setting=setting,
        features="all",
        backend="imported",
        snapshots=(),
        orders="random",
        samples=1,
        seed=0,
        parameters={"judge": judge, "imported": True, "file": name},
        prompt=Prompt(None, None, ""),
        state="done",
        state_reason=f"Read from {name}.",
        cost=RunMoney(0, 0, None, None, None),
        judgments=Judgments.from_columns(
            [position[label.item] for label in own],
            [MISSING] * n,
            [1] * n,
            [choices.code(label.value) for label in own],
            [certainties.get(label, np.nan) for label in own],
            ["done"] * n,
            [1] * n,
            [[np.nan] * 3] * n,
        ),
    )
