"""Turn the labels into the arrays that a report is computed from."""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

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
from judging.protocols.protocol import Certainty, Standard, Tie
from studies.importers.files.answer_rows import LARGEST_STEP, PERCENT, ScaleRange, percent
from thirdperson.check.labels import NO_LABEL, BadTable, Label, LabelTable, listed, same_label

TIES = frozenset(
    {
        *("tie", "tied", "draw", "neither", "no preference", "equally good", "undecided"),
        *("tie bothbad", "tie both bad", "tie bothgood", "tie both good", "both bad", "both good"),
    }
)
# Words that mean a tie only if there are two other labels: “same” and “different” are two labels.
MAYBE_TIES = frozenset({"equal", "same", "both"})


@dataclass(frozen=True)
class ChoiceColumns:
    """Codes of the labels: 0 for the first, 1 for the second, 2 for a tie."""

    first: str
    second: str
    tie: str
    codes: dict[str, int]

    def code(self, value: str) -> int:
        return self.codes[same_label(value)]

    @property
    def words(self) -> str:
        tie = f", and “{self.tie}” for a tie" if self.tie else ""
        return f"“{self.first}” as response 1, “{self.second}” as response 2{tie}"


def choices_of(
    labels: LabelTable,
    *,
    pair: Sequence[str] = (),
    tie: Sequence[str] = (),
    positive: Sequence[str] = (),
) -> ChoiceColumns:
    """The choices behind a file's labels. Raises `BadTable` unless there are two, or two and a tie.

    `pair` are the two labels, `tie` the labels of a tie; `positive` are the labels that count as
    the second one, compared with all others.
    """
    spellings = spellings_of([*(label.value for label in labels.labels), *labels.gold.values()])
    if unknown := [name for name in tie if same_label(name) not in spellings]:
        raise BadTable(
            f"--tie {unknown[0]}: there is no such label. The labels are: {_shown(spellings)}."
        )
    tied = tied_labels(spellings, tie, {same_label(name) for name in (*pair, *positive)})
    plain = [name for name in spellings if name not in tied]
    if positive:
        return _against_others(spellings, plain, tied, positive)
    if pair:
        wanted = [same_label(name) for name in pair]
        if unknown := [spellings[name] for name in plain if name not in wanted]:
            raise BadTable(
                f"--labels {','.join(pair)}: there are other labels too: {listed(unknown)}. Use "
                "--positive to compare some labels with all others, or --tie for a label that "
                "means a tie."
            )
        plain, spellings = wanted, spellings | dict(zip(wanted, pair, strict=True))
    if len(plain) == 1:
        raise BadTable(
            f"Every label is “{spellings[plain[0]]}”. Name the other one too: --labels "
            f"{spellings[plain[0]]},OTHER"
        )
    if len(plain) != 2:
        raise BadTable(
            f"There are {len(plain)} different labels: {_shown(spellings)}. A check compares two "
            f"labels and a tie.{_remedy(plain, spellings)} Name the labels that count as one "
            "with --positive LABEL,LABEL (all others count as the other), or --people and "
            "--judge if these columns are not the labels. To compare all of them, add --level "
            "nominal for classes, ordinal for steps in an order, or score for numbers."
        )
    names = plain if pair else sorted(plain)
    codes = {names[0]: 0, names[1]: 1, **dict.fromkeys(tied, TIE)}
    return ChoiceColumns(
        spellings[names[0]], spellings[names[1]], _tie_word(spellings, tied), codes
    )


def tied_labels(
    spellings: Mapping[str, str], tie: Sequence[str], wanted: Collection[str]
) -> list[str]:
    """The labels of a tie, from an option or known words."""
    if tie:
        return [name for name in spellings if name in map(same_label, tie)]
    free = {
        name: " ".join(re.findall(r"[^\W_]+", name)) for name in spellings if name not in wanted
    }
    tied = [name for name, words in free.items() if words in TIES]
    maybe = [name for name, words in free.items() if words in MAYBE_TIES]
    return tied + maybe if len(spellings) - len(tied) - len(maybe) >= 2 else tied


def _remedy(plain: Sequence[str], spellings: Mapping[str, str]) -> str:
    """A hint if there are too many labels, if their words suggest one."""
    if words := [spellings[name] for name in plain if name in NO_LABEL]:
        return f" If “{words[0]}” means no label, add --missing {','.join(words)}."
    if sorted(plain) == ["0", "1", "2"]:
        return " If 0 means a tie, add --tie 0."
    return ""


def _against_others(
    spellings: dict[str, str], plain: list[str], tied: list[str], positive: Sequence[str]
) -> ChoiceColumns:
    wanted = {same_label(name) for name in positive}
    if missing := [name for name in positive if same_label(name) not in plain]:
        raise BadTable(
            f"--positive {missing[0]}: there is no such label. The labels are: {_shown(spellings)}."
        )
    others = [name for name in plain if name not in wanted]
    if not others:
        raise BadTable(
            "--positive names every label, so there is nothing to compare with. Leave one out."
        )
    codes = {name: int(name in wanted) for name in plain} | dict.fromkeys(tied, TIE)
    chosen = [spellings[name] for name in plain if name in wanted]
    return ChoiceColumns(
        " or ".join(spellings[name] for name in others),
        " or ".join(chosen),
        _tie_word(spellings, tied),
        codes,
    )


def _tie_word(spellings: dict[str, str], tied: list[str]) -> str:
    return " or ".join(spellings[name] for name in tied)


def spellings_of(values: Iterable[str]) -> dict[str, str]:
    """Each label in its normalised form, with its first spelling."""
    spellings: dict[str, str] = {}
    for value in values:
        spellings.setdefault(same_label(value), value)
    return spellings


def _shown(spellings: dict[str, str]) -> str:
    return listed([value[:40] for _, value in sorted(spellings.items())])


PEOPLE = "people"  # the name of their certainties, next to the names of judges
_USUAL_STEPS = (5, 7, 10)  # the largest certainty of scales that their values show
_FEWEST_STEPS = 3
# A table has no data about participation, so nothing was left out.
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
        imported=frozenset(raters),
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
    for own_label in labels.labels:
        if own_label.certainty is not None:
            groups.setdefault(own_label.rater if own_label.is_judge else PEOPLE, {})[own_label] = (
                own_label.certainty
            )
    if unknown := labels.scales.keys() - groups.keys() - {""}:
        raise BadTable(
            f"--scale {min(unknown)}: no rater of that name states a certainty. Use one of: "
            f"{listed(sorted(groups)) or 'none, because there are no certainties'}."
        )
    scales = {name: _scale(set(stated.values())) for name, stated in groups.items()}
    known = {scale for scale in scales.values() if scale not in (None, PERCENT)}
    certainties: dict[Label, float] = {}
    words: dict[str, list[str]] = {}
    for name, stated in groups.items():
        scale = labels.scales.get(name) or labels.scales.get("") or scales[name]
        if scale is None and len(known) == 1:
            # The others use one scale, which fits these values.
            [(low, high)] = known
            fits = all(low <= value <= high and value % 1 == 0 for value in stated.values())
            scale = (low, high) if fits and high > 1 else None
        if scale is None:
            values = listed([f"{value:g}" for value in sorted(set(stated.values()))])
            raise BadTable(
                f"The certainties of “{name}” are {values}, so their scale is unclear. Name it, "
                f"for example --scale {name}=1-5 or --scale {name}=1-100."
            )
        if scale != PERCENT:
            words.setdefault(_scale_words(scale), []).append(name)
        for label, value in stated.items():
            try:
                certainties[label] = _percent(label, value, scale)
            except BadTable as error:
                if labels.skipped is None:
                    raise
                labels.skipped.append(str(error))
                labels.labels.remove(label)
    for text, names in words.items():
        whose = "" if len(names) == len(groups) else f" of {listed(names)}"
        labels.reading.append(f"certainty{whose}: {text}")
    return certainties


def _scale(values: Collection[float]) -> ScaleRange | None:
    """The lowest and highest certainty of a scale, if its values show it."""
    low, high = min(values), max(values)
    if high <= 1 and any(value % 1 for value in values):
        return (0, 1)
    if high > LARGEST_STEP:
        return PERCENT
    is_steps = low >= 1 and high in _USUAL_STEPS and not any(value % 1 for value in values)
    return (1, high) if is_steps and len(values) >= _FEWEST_STEPS else None


def _percent(label: Label, value: float, scale: ScaleRange) -> float:
    certainty = percent(value, scale)
    if certainty is None:
        remedy = "Name another scale with --scale, or correct it."
        if scale == PERCENT:
            remedy = "Use numbers from 1 to 100, or name another scale with --scale."
        raise BadTable(f"{label.where}: the certainty of “{label.rater}” is {value:g}. {remedy}")
    return certainty


def _scale_words(scale: ScaleRange) -> str:
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
    """Whether ties were offered: somebody gave one. A tie as the right label is not enough."""
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
