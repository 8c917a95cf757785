"""`thirdperson check today.csv --against march.csv`: whether a judge got worse or better.

Both files may have other items, people, right labels and judges. Only what is the same in both is
compared: for the same items, the labels of the judge then and now against the same right labels or
the same labels of people. Everything else is counted and left out.
"""

import hashlib
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from analysis.report.quantities import Name, capitalised, clause
from analysis.report.results import cannot_tell
from analysis.report.words import (
    number_of,
    p_cell,
    percent,
    plural,
    points,
    points_range,
    reason,
)
from analysis.stats import Adjusted, GeneralDifference, adjusted_states, general_difference
from analysis.stats.core.results import BoolArray, FloatArray
from studies.texts.json_values import NotJson, json_value
from thirdperson.check.columns import number
from thirdperson.check.dataset import choices_of
from thirdperson.check.labels import BadTable, Label, LabelTable, listed, same_label
from thirdperson.check.levels import LabelScale, scale_of
from thirdperson.check.reading import read_labels
from thirdperson.check.scale_table import ScaleTable

BETTER, WORSE, NOT_SHOWN, NOT_COMPARABLE = "better", "got worse", "not shown", "not comparable"
EXIT_CODES = {BETTER: 0, WORSE: 4, NOT_SHOWN: 5, NOT_COMPARABLE: 6}
_MARKS = {BETTER: "✅", WORSE: "❌", NOT_SHOWN: "❔", NOT_COMPARABLE: "❔"}
_VERSION = 1
_NAMELESS = "row "  # the id of an item without a column of ids


@dataclass(frozen=True)
class EarlierItem:
    """An item of the earlier file; `about` is a hash of persona and question, `people` one for
    each label of a person, so that a stored file links nobody's labels."""

    right: str
    about: str
    people: frozenset[str]
    judges: Mapping[str, str]


@dataclass(frozen=True)
class EarlierFile:
    """Its items, and all its labels: normalised, with a spelling of each."""

    name: str
    items: Mapping[str, EarlierItem]
    words: Mapping[str, str]

    @classmethod
    def of(cls, labels: LabelTable, name: str) -> "EarlierFile":
        return cls(name, _kept(labels), _words(labels))


@dataclass(frozen=True)
class JudgeChange:
    """A judge then and now, on `n` items; `changed` of them have another label."""

    judge: str
    before: str
    n: int
    changed: int
    shares: tuple[float, float]
    difference: GeneralDifference
    adjusted: Adjusted

    @property
    def result(self) -> str:
        if self.adjusted.state not in ("different", "different_within_margin"):
            return NOT_SHOWN
        return BETTER if (self.difference.value or 0) > 0 else WORSE


@dataclass(frozen=True)
class ChangeSince:
    """What changed since the earlier file, or why nothing can be compared.

    `has_right_labels` says what decides, `is_distance` that labels are steps or scores. `left_out`
    are parts that differ or that only one file has; `only` are too few to speak of others.
    `new_labels` names labels that only one file has.
    """

    file: str
    changes: Sequence[JudgeChange]
    left_out: Sequence[str]
    only: Sequence[str] = ()
    has_right_labels: bool = False
    is_distance: bool = False
    why: str = ""
    new_labels: str = ""

    @property
    def result(self) -> str:
        """The worst that was shown about any judge."""
        results = {change.result for change in self.changes}
        return next((one for one in (WORSE, NOT_SHOWN, BETTER) if one in results), NOT_COMPARABLE)

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.result]

    @property
    def sentence(self) -> str:
        if not self.changes:
            return f"Not comparable with {self.file}: {self.why}"
        return " ".join(map(self._about, self.changes))

    def _about(self, change: JudgeChange) -> str:
        difference, adjusted = change.difference, change.adjusted
        before, now = change.shares
        of = f"the {number_of(change.n, 'item')} that both files have"
        of += " with the same right label" if self.has_right_labels else ""
        if self.has_right_labels and self.is_distance:
            by = f"{points(difference.value)} points more of {of} are nearer to the right label now"
            if (difference.value or 0) < 0:
                by = f"{points(-(difference.value or 0))} points more of {of} were nearer then"
        elif self.has_right_labels:
            by = f"right on {percent(now)} of {of}, {percent(before)} then"
        else:
            by = (
                f"it agrees with {percent(now)} of the labels that the same people gave, "
                f"on average over {of}, and did with {percent(before)}"
            )
        name = change.judge
        if change.before != change.judge:
            name = f"{change.judge}, compared with {change.before},"
        change_of = clause("{name} got worse or better", name=Name(name))
        start = {
            WORSE: f"{name} got worse",
            BETTER: f"{name} is better",
            NOT_SHOWN: str(capitalised(cannot_tell(change_of))),
        }[change.result]
        parts = [f"{points(difference.value)} points"]
        if ends := difference.interval:
            parts.append(f"95\u00a0% CI {points_range((ends.low, ends.high))}")
        if adjusted.p is not None:
            label = "adjusted p" if len(self.changes) > 1 else "p"
            parts.append(f"{label} {p_cell(adjusted.p)}")
        text = f"{start}: {by} ({', '.join(parts)})."
        if difference.interval_reason:
            text = f"{text[:-1]}; no interval: {reason(difference.interval_reason)}."
        if change.result == NOT_SHOWN and ends:
            text += f" A loss of over {points(max(-ends.low, 0)).lstrip('+')} points is ruled out."
        return f"{text} Its label is another one on {change.changed:,} of these items."

    @property
    def notes(self) -> list[str]:
        held = [f"Left out: {listed(self.left_out, 12)}."] if self.left_out else []
        if self.changes and self.new_labels:
            held.append(self.new_labels)
        if self.changes and self.only:
            held.append(f"There are too few {listed(self.only)} to speak of others than these.")
        if self.changes and not self.has_right_labels:
            held.append("The labels of these people decide; others may see the change otherwise.")
        return held

    def lines(self) -> list[str]:
        return [f"AGAINST {self.file}: {self.result.upper()}. {self.sentence}", *self.notes]

    def markdown(self, escaped: Callable[[str], str]) -> str:
        mark = _MARKS[self.result]
        head = f"#### {mark} Against {escaped(self.file)}: {self.result}"
        notes = [f"- {escaped(note)}" for note in self.notes]
        return "\n".join([head, "", escaped(self.sentence), "", *notes, ""])

    def as_json(self) -> dict[str, Any]:
        return {
            "file": self.file,
            "result": self.result,
            "exit_code": self.exit_code,
            "sentence": self.sentence,
            "notes": self.notes,
            "measure": "right labels" if self.has_right_labels else "labels of people",
            "judges": [
                {
                    "judge": change.judge,
                    "before": change.before,
                    "result": change.result,
                    "items": change.n,
                    "changed_labels": change.changed,
                    "share_before": change.shares[0],
                    "share_now": change.shares[1],
                    "difference": change.difference.value,
                    "ci": [ends.low, ends.high] if (ends := change.difference.interval) else None,
                    "p": change.adjusted.p,
                }
                for change in self.changes
            ],
        }


def stored(labels: LabelTable) -> dict[str, Any]:
    """What a later `--against` needs of these labels, as a part of `--json`; no id of a person."""
    return {
        "version": _VERSION,
        "items": {
            item: {
                "right": kept.right,
                "about": kept.about,
                "people": sorted(kept.people),
                "judges": dict(kept.judges),
            }
            for item, kept in _kept(labels).items()
        },
    }


def compared(labels: LabelTable, options: Namespace) -> ChangeSince:
    """The labels against those of `--against`. Raises `BadTable` if these cannot be read."""
    return between(labels, _earlier(options), options)


def between(labels: LabelTable, earlier: EarlierFile, options: Namespace) -> ChangeSince:
    """What changed from the earlier file to these labels."""
    items = [item for item in labels.items if item in earlier.items]
    left_out = list(_only_in_one(len(labels.items), len(earlier.items), len(items)))
    if any(item.startswith(_NAMELESS) for item in (*labels.items, *earlier.items)):
        why = "items have no ids. Name their column with --item."
    elif not items:
        why = "they have no item in common."
    elif not (why := _other_labels(_words(labels), earlier.words, options)):
        return _compared(labels, earlier, items, left_out, options)
    return ChangeSince(earlier.name, (), left_out, why=why)


def _kept(labels: LabelTable) -> dict[str, EarlierItem]:
    people: dict[str, set[str]] = {}
    judges: dict[str, dict[str, str]] = {}
    for label in labels.labels:
        if label.is_judge:
            judges.setdefault(label.item, {})[label.rater] = label.value
        else:
            people.setdefault(label.item, set()).add(_hash_of(label))
    return {
        item: EarlierItem(
            right=labels.gold.get(item, ""),
            about=_hash(labels.persona.get(item, ""), labels.question.get(item, "")),
            people=frozenset(people.get(item, ())),
            judges=judges.get(item, {}),
        )
        for item in labels.items
    }


def _hash_of(label: Label) -> str:
    return _hash(label.item, label.rater, same_label(label.value))


def _hash(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _words(labels: LabelTable) -> dict[str, str]:
    """All labels, normalised, with a spelling of each."""
    values = [*(label.value for label in labels.labels), *labels.gold.values()]
    return {same_label(value): value for value in values}


def _earlier(options: Namespace) -> EarlierFile:
    files: Sequence[Path] = options.against
    if len(files) == 1 and (stored_before := _stored_in(files[0])):
        return stored_before
    before = copy(options)
    before.files, before.name = list(files), listed([file.name for file in files], 3)
    before.gold_file = None
    try:
        labels = read_labels(before)
    except BadTable as error:
        raise BadTable(f"--against: {error}") from error
    return EarlierFile.of(labels, before.name)


def _stored_in(file: Path) -> EarlierFile | None:
    """The part of a `--json` that was kept; None for any other file."""
    if file.suffix.lower() != ".json":
        return None
    try:
        result = json_value(file.read_bytes())
    except (OSError, NotJson):
        return None
    if not (isinstance(result, dict) and {"verdict", "exit_code"} <= result.keys()):
        return None
    kept = result.get("stored")
    if not isinstance(kept, dict) or kept.get("version") != _VERSION:
        raise BadTable(
            f"--against {file}: this result was stored by another version of the program, without "
            "the labels that a comparison needs. Name the table that was checked instead."
        )
    try:
        items = {
            item: EarlierItem(
                right=str(one["right"]),
                about=str(one["about"]),
                people=frozenset(map(str, one["people"])),
                judges={str(name): str(label) for name, label in one["judges"].items()},
            )
            for item, one in kept["items"].items()
        }
    except (AttributeError, KeyError, TypeError):
        raise BadTable(
            f"--against {file}: the part “stored” of this result was changed and cannot be read. "
            "Name the table that was checked instead."
        ) from None
    values = [
        value for one in items.values() for value in (one.right, *one.judges.values()) if value
    ]
    return EarlierFile(file.name, items, {same_label(value): value for value in values})


def _only_in_one(now: int, before: int, both: int) -> Iterator[str]:
    if now > both:
        yield f"{number_of(now - both, 'item')} only in today’s file"
    if before > both:
        yield f"{number_of(before - both, 'item')} only in the earlier file"


def _other_labels(now: Mapping[str, str], before: Mapping[str, str], options: Namespace) -> str:
    """Why the labels are on another scale; empty if they are on one."""
    ranges = [
        [value for name in words if (value := number(name)) is not None] for words in (now, before)
    ]
    if options.level in ("ordinal", "score") and all(ranges):
        widths = [max(values) - min(values) for values in ranges]
        if 2 * min(widths) >= max(widths) or not max(widths):
            return ""
        spans = [f"{min(values):g} to {max(values):g}" for values in ranges]
        return f"labels are {spans[0]} now and were {spans[1]}, which looks like another scale."
    if now.keys() <= before.keys() or before.keys() <= now.keys():
        return ""
    lists = [listed(sorted(words.values())) for words in (now, before)]
    return f"labels are {lists[0]} now and were {lists[1]}."


def _new_labels(now: Mapping[str, str], before: Mapping[str, str]) -> str:
    for words, others, where in ((now, before, "today’s"), (before, now, "the earlier")):
        if only := [spelling for word, spelling in words.items() if word not in others]:
            count = "counts as a label like any other" if len(only) == 1 else "count as labels"
            return f"Only {where} file has “{listed(sorted(only))}”, which {count}."
    return ""


def _compared(
    labels: LabelTable,
    file: EarlierFile,
    items: Sequence[str],
    left_out: list[str],
    options: Namespace,
) -> ChangeSince:
    now, earlier = _kept(labels), file.items
    same = [item for item in items if now[item].about == earlier[item].about]
    if len(same) < len(items):
        n = number_of(len(items) - len(same), "item")
        left_out.append(f"{n} with another persona or question than then")
    both_right = [item for item in same if now[item].right and earlier[item].right]
    right = [
        item
        for item in both_right
        if same_label(now[item].right) == same_label(earlier[item].right)
    ]
    if len(right) < len(both_right):
        left_out.append(
            f"{number_of(len(both_right) - len(right), 'item')} with another right label than then"
        )
    if right and len(both_right) < len(same):
        n = number_of(len(same) - len(both_right), "item")
        left_out.append(f"{n} without a right label in one of the files or both")
    kept = {item: now[item].people & earlier[item].people for item in same}
    total = sum(len(now[item].people | earlier[item].people) for item in same)
    shared = sum(map(len, kept.values()))
    if not right and shared < total:
        left_out.append(f"{number_of(total - shared, 'label')} of people only in one of the files")
    pairs = _pairs(labels, earlier)
    if not same:
        why = "every item that both have has another persona or question."
    elif not right and not shared:
        why = "no person gave the same label to an item in both, and no right label is the same."
    elif not pairs:
        why = "no judge is in both. Name the columns of one with --judge."
    else:
        table = _table(labels, earlier, right or same, pairs, kept, options)
        return _changes(
            file.name,
            table,
            pairs,
            left_out,
            options,
            has_right_labels=bool(right),
            new_labels="" if table.scale.is_graded else _new_labels(_words(labels), file.words),
        )
    return ChangeSince(file.name, (), left_out, why=why)


def _pairs(labels: LabelTable, earlier: Mapping[str, EarlierItem]) -> list[tuple[str, str]]:
    """Judges now with their names then: those of one name, or the only one of each file."""
    now = labels.raters(is_judge=True)
    before = sorted({judge for item in earlier.values() for judge in item.judges})
    if len(now) == len(before) == 1:
        return [(now[0], before[0])]
    return [(judge, judge) for judge in now if judge in before]


def _table(
    labels: LabelTable,
    earlier: Mapping[str, EarlierItem],
    items: Sequence[str],
    pairs: Sequence[tuple[str, str]],
    kept: Mapping[str, frozenset[str]],
    options: Namespace,
) -> ScaleTable:
    """What both files have, on one scale: judges are numbered, now first and then."""
    wanted = set(items)
    number_now = {judge: str(2 * place) for place, (judge, _) in enumerate(pairs)}
    joined = [
        replace(label, rater=number_now.get(label.rater, label.rater))
        for label in labels.labels
        if label.item in wanted
        and (label.rater in number_now if label.is_judge else _hash_of(label) in kept[label.item])
    ]
    joined += [
        Label(item, item, str(2 * place + 1), True, earlier[item].judges[before])
        for item in items
        for place, (_, before) in enumerate(pairs)
        if before in earlier[item].judges
    ]

    def part(store: Mapping[str, str]) -> dict[str, str]:
        return {item: value for item, value in store.items() if item in wanted}

    both = LabelTable(joined, part(labels.gold), part(labels.persona), part(labels.question))
    # The scale is that of all labels, since a part of them may lack one.
    then = [
        Label(item, item, judge, True, value)
        for item, one in earlier.items()
        for judge, value in one.judges.items()
    ]
    return ScaleTable(both, _scale(replace(labels, labels=[*labels.labels, *then]), options))


def _scale(labels: LabelTable, options: Namespace) -> LabelScale:
    if scale := scale_of(labels, options):
        return scale
    choices = choices_of(labels, pair=options.labels, tie=options.tie, positive=options.positive)
    names = (choices.first, choices.second, choices.tie or "tie")
    return LabelScale("nominal", names, (0.0, 1.0, 2.0), choices.codes)


def _changes(
    name: str,
    table: ScaleTable,
    pairs: Sequence[tuple[str, str]],
    left_out: list[str],
    options: Namespace,
    *,
    has_right_labels: bool,
    new_labels: str,
) -> ChangeSince:
    sharing = table.sharing(these_people=True)
    only = sharing.short
    sharing = sharing.without(*only)
    is_distance = table.scale.is_graded
    measured = []
    for place, (judge, before) in enumerate(pairs):
        now, then = table.judges[str(2 * place)], table.judges.get(str(2 * place + 1))
        if then is None:
            continue
        known = (now >= 0) & (then >= 0)
        scores, usable = _scores(table, has_right_labels=has_right_labels)
        known &= usable
        if not known.any():
            continue
        own, its = (np.take_along_axis(scores, c[:, None], axis=1)[:, 0] for c in (now, then))
        gain = own - its
        if has_right_labels and is_distance:
            gain = np.sign(gain)
        difference = general_difference(
            np.where(known, gain, np.nan), sharing, margin=options.margin
        )
        shares = (float(its[known].mean()), float(own[known].mean()))
        changed = int((now != then)[known].sum())
        measured.append((judge, before, int(known.sum()), changed, shares, difference))
    adjusted = adjusted_states([difference for *_, difference in measured])
    changes = [JudgeChange(*one, state) for one, state in zip(measured, adjusted, strict=True)]
    return ChangeSince(
        name,
        changes,
        left_out,
        [plural(kind) for kind in only],
        has_right_labels,
        is_distance,
        "" if changes else "no judge labelled an item of both at both times.",
        new_labels,
    )


def _scores(table: ScaleTable, *, has_right_labels: bool) -> tuple[FloatArray, BoolArray]:
    """How near each label is, shape (items, labels), and which items can be measured."""
    if has_right_labels:
        if not table.scale.is_graded:
            return np.eye(len(table.scale.names))[table.gold], table.gold >= 0
        values = np.asarray(table.scale.values)
        away = np.abs(values - values[table.gold, None]).round(9)
        return -away, table.gold >= 0
    counts = table.votes.counts()
    n = counts.sum(axis=1)
    return counts @ table.answers.agreement / np.maximum(n, 1)[:, None], n > 0
