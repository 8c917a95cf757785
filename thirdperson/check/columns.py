"""Find what each column contains, from options or by guessing from names and values."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from studies.importers.columns.mapping import plain_name
from studies.importers.files.faults import same_id
from studies.texts.cells import WRITTEN_BY_PROGRAMS
from thirdperson.check import refusals
from thirdperson.check.column_names import (
    ANNOTATOR,
    CERTAINTY,
    COMPARED,
    GOLD,
    ITEM,
    JUDGE,
    JUDGE_KINDS,
    JUDGE_NAME,
    KIND,
    LABEL,
    MODEL,
    NOT_A_LABEL,
    ONE_PERSON,
    PEOPLE_KINDS,
    PERSON,
    PERSONA,
    PROBABILITY,
    PROBABILITY_OF,
    QUESTION,
    SCORE,
    guessed_column,
    names_judge,
    names_model,
    person_match,
)
from thirdperson.check.labels import (
    NO_LABEL,
    BadTable,
    NoLabels,
    UnclearPeople,
    is_label,
    listed,
    same_label,
)

CheckedRows = Sequence[tuple[str, Mapping[str, str]]]

MOST_LABELS = 10  # most distinct values in a guessed column of labels


@dataclass(frozen=True)
class Columns:
    """The role of each column. People have either one column each, or one row per label.

    `people`: columns of labels, one per annotator. `annotator` and `label`: who and what, in a
    table with one row per label. `judges`: columns of judges' labels. `kind`: a column that says
    whether the row is by a person or a judge; `judge_raters`: annotators that are judges.
    `certainty`: the column of certainties by column of labels; `unowned`: one whose column of
    labels is unclear; `worded`: one without numbers, which is not used. `probability`: columns of
    native probabilities by column of a judge's labels, each by its label; one without a label is of
    the judge's. `missing`: the words for no label, None to guess them; `named_labels`: labels in an
    option, which are never missing. `scales`: lowest and highest certainty of people or of a judge.
    `skip_faulty`: faulty rows are left out. `has_numbers`: labels are numbers, of any number of
    values. `needs` is “people”, or what is enough: “right labels” instead of these, or “nothing”
    besides items.
    """

    item: str = ""
    people: tuple[str, ...] = ()
    annotator: str = ""
    label: str = ""
    judges: tuple[str, ...] = ()
    judge_raters: tuple[str, ...] = ()
    kind: str = ""
    gold: str = ""
    persona: str = ""
    question: str = ""
    certainty: Mapping[str, str] = field(default_factory=dict)
    unowned: str = ""
    worded: str = ""
    probability: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    missing: tuple[str, ...] | None = None
    named_labels: frozenset[str] = frozenset()
    scales: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    skip_faulty: bool = False
    has_numbers: bool = False
    needs: Literal["people", "right labels", "nothing"] = "people"

    @property
    def is_long(self) -> bool:
        return bool(self.annotator)

    def named(self) -> Iterable[str]:
        """Every column that has a role."""
        single = (self.item, self.annotator, self.label, self.kind, self.gold, self.persona)
        named = (*single, self.question, *self.people, *self.judges, *self.certainty.values())
        native = (column for columns in self.probability.values() for column in columns.values())
        return filter(None, (*named, *native))

    def words(self) -> list[str]:
        """How each role was read, for the terminal."""
        if self.is_long:
            people = f"{self.label} by {self.annotator}"
        else:
            people = listed(self.people)
        judges = listed([*self.judges, *self.judge_raters]) or f"by {self.kind}"
        stated = [f"{own} of {of}" for of, own in self.certainty.items()]
        native = [
            f"{listed([*columns.values()])} of {of} (native: the probability of its label)"
            for of, columns in self.probability.items()
        ]
        certainty = listed([*stated, *native])
        if self.unowned:
            certainty = (
                f"{certainty or 'none'} (whose is {self.unowned}? Name it: --certainty "
                f"LABEL_COLUMN={self.unowned})"
            )
        elif self.worded and not certainty:
            certainty = f"none ({self.worded} has no numbers)"
        roles = {
            "item": self.item or "each row",
            "people": people,
            "judge": judges,
            "certainty": certainty,
            "right label": self.gold,
            "persona": self.persona,
            "question": self.question,
        }
        return [f"{name}: {value or 'none'}" for name, value in roles.items()]


def columns_of(names: Sequence[str], rows: CheckedRows, wanted: Columns, *, name: str) -> Columns:
    """The columns as given by options, the rest guessed. Raises `BadTable`."""
    wanted = replace(wanted, probability=_probabilities(wanted, names))
    for column in wanted.named():
        if column not in names:
            raise BadTable(
                f"{name} has no column “{column}”. It has: {listed(names, 40)}. Name one of these."
            )
    columns = _guessed(names, rows, wanted)
    has_people = columns.people or (columns.annotator and columns.label)
    is_enough = wanted.needs == "nothing" or (
        wanted.needs == "right labels" and columns.gold and columns.judges
    )
    if not has_people and not is_enough:
        unclear = _Guesses(names, rows, columns).alike_columns(columns.judges)
        if unclear and not guessed_column("annotator", names):
            raise UnclearPeople(refusals.unclear_people(name, *unclear), unclear[0])
        scored = _guessed(names, rows, replace(wanted, has_numbers=True))
        like = _like_labels(names, rows, columns.judges)
        unfit = _unfit_people(names, rows, columns)
        raise NoLabels(refusals.no_people(name, like, columns, scored, unfit))
    if not (columns.judges or columns.judge_raters or columns.kind) and wanted.needs != "nothing":
        raise NoLabels(refusals.no_judge(name, names, columns, _unfit_judges(names, rows, columns)))
    if not (wanted.people or wanted.judges) and (pairs := _criteria(columns)):
        raise BadTable(refusals.several_criteria(name, pairs))
    labelled = {*columns.people, columns.label, *columns.judges}
    options = {**dict.fromkeys(wanted.certainty, "certainty")}
    options |= dict.fromkeys(wanted.probability, "probability")
    if stray := [label for label in options if label not in labelled]:
        raise BadTable(
            f"--{options[stray[0]]} {stray[0]}: this is not a column of labels. These are:  "
            f"{listed(sorted(labelled - {''}))}."
        )
    if columns.judge_raters and not columns.is_long:
        raise BadTable(
            "--judge-raters names annotators, and each annotator of this table has a column. Name "
            "the columns of judges: --judge COLUMN,COLUMN."
        )
    if unknown := _unknown_raters(columns, rows):
        raters = sorted({same_id(row.get(columns.annotator, "").strip()) for _, row in rows} - {""})
        raise BadTable(
            f"--judge-raters {unknown[0]}: {columns.annotator} has no such name. It has: "
            f"{listed(raters, 40)}. Name one of these."
        )
    if columns.is_long and not columns.item:
        raise BadTable(
            f"{name}: each row is one label, but no column names its item. It has: "
            f"{listed(names, 40)}. Name it: --item COLUMN."
        )
    return columns


def _like_labels(names: Sequence[str], rows: CheckedRows, judges: Sequence[str]) -> dict[str, bool]:
    """Whether each column has as few values as labels have, and shares one with a judge."""
    table = _Guesses(names, rows, Columns())
    of_judges = set().union(*map(table.labels, judges))
    labels_by_name = {name: table.labels(name) for name in names}
    return {
        name: 1 < len(labels) <= MOST_LABELS and (not of_judges or bool(labels & of_judges))
        for name, labels in labels_by_name.items()
    }


def _unfit_people(names: Sequence[str], rows: CheckedRows, columns: Columns) -> dict[str, str]:
    """Columns with the name of a person that no guess takes, and why."""
    table = _Guesses(names, rows, columns)
    unfit = {}
    for name in filter(lambda name: person_match(plain_name(name)), names):
        labels = table.labels(name) - NO_LABEL
        words = [" ".join(label.split())[:30] for label in sorted(labels) if number(label) is None]
        if words and columns.has_numbers:
            unfit[name] = f"has values that are no numbers ({listed(words, 4)})"
        elif words and len(labels) > MOST_LABELS:
            unfit[name] = f"has {len(labels):,} different values, such as “{words[0]}”"
    return unfit


def _unfit_judges(names: Sequence[str], rows: CheckedRows, columns: Columns) -> dict[str, str]:
    """Columns with the name of a judge or a model that no guess takes, and why."""
    table = _Guesses(names, rows, columns)
    people = set().union(*map(table.labels, filter(None, (*columns.people, columns.label))))
    unfit = {}
    for name in names:
        labels = table.labels(name)
        if not names_judge(name) or table.holds_models(name) or not labels & people:
            continue
        other = [" ".join(label.split())[:30] for label in sorted(labels - people)]
        if len(labels) > MOST_LABELS:
            unfit[name] = f"has {len(labels):,} different values"
        elif other:
            unfit[name] = f"has labels that people do not use ({listed(other, 4)})"
    return unfit


def _criteria(columns: Columns) -> dict[str, tuple[str, str]]:
    """Two or more things that a column of people and one of a judge are both named after."""
    people = {
        match[2]: name for name in columns.people if (match := person_match(plain_name(name)))
    }
    judges = {
        match["after"] or match["before"]: name
        for name in columns.judges
        if (match := JUDGE_NAME.fullmatch(plain_name(name)))
    }
    both = {
        what: (people[what], judges[what])
        for what in people
        if what in judges and not what.isdecimal()
    }
    return both if len(both) > 1 else {}


def _probabilities(wanted: Columns, names: Sequence[str]) -> dict[str, dict[str, str]]:
    """The columns of probabilities that an option names: COLUMN, or COLUMN:LABEL."""
    by_owner: dict[str, dict[str, str]] = {}
    for of, columns in wanted.probability.items():
        for column in columns:
            name, colon, label = column.rpartition(":")
            is_whole = column in names or not colon
            by_owner.setdefault(of, {})["" if is_whole else same_label(label)] = (
                column if is_whole else name
            )
    return by_owner


def _unknown_raters(columns: Columns, rows: CheckedRows) -> list[str]:
    """Judges named among annotators that gave no label."""
    raters = {same_id(row.get(columns.annotator, "").strip()) for _, row in rows}
    return [name for name in columns.judge_raters if name not in raters]


def _guessed(names: Sequence[str], rows: CheckedRows, options: Columns) -> Columns:
    table = _Guesses(names, rows, options)
    # With two outputs in the table, a label says which one is right.
    golds = [*GOLD, *(["label"] if {"output_1", "output_2"} <= set(names) else [])]
    columns = replace(
        options,
        item=options.item or table.named(ITEM),
        gold=options.gold or table.named(golds, has_labels=True),
        persona=options.persona or table.named(PERSONA, is_filled=True),
        question=options.question or table.named(QUESTION, is_filled=True),
    )
    judges, is_open = options.judges, not (options.judges or options.judge_raters or options.kind)
    raters = table.raters() if is_open and not (options.people or options.annotator) else ""
    if is_open:
        judges = table.judges()
    columns = replace(columns, judges=judges)
    if not options.people:
        annotator = options.annotator or raters or table.named(ANNOTATOR)
        wanted = [*LABEL, *(SCORE if options.has_numbers else [])]
        label = options.label or (table.named(wanted, has_labels=True) if annotator else "")
        if annotator and label:
            columns = replace(columns, annotator=annotator, label=label)
            kind = "" if judges or options.judge_raters else options.kind or table.kind()
            models = () if judges or kind or not is_open else table.model_raters(annotator)
            columns = replace(columns, kind=kind, judge_raters=models or options.judge_raters)
        else:
            alone = table.named(ONE_PERSON, has_labels=True)
            people = table.people() or ((alone,) if alone else ()) or table.taking_turns(judges)
            columns = replace(columns, people=people)
    if is_open and not (columns.kind or columns.judge_raters):
        labelled = [*columns.people, *filter(None, [columns.label])]
        labelled = labelled or [*filter(None, [columns.gold])]
        judges = (*columns.judges, *table.models(labelled, has_judges=bool(columns.judges)))
        columns = replace(columns, judges=table.alike(judges, labelled))
    certainty, unowned, worded = table.certainties(columns)
    columns = replace(
        columns, certainty={**certainty, **options.certainty}, unowned=unowned, worded=worded
    )
    return (
        columns
        if options.probability
        else replace(columns, probability=table.probabilities(columns))
    )


class _Guesses:
    """Guesses over the columns that no option has named; a column is guessed once."""

    def __init__(self, names: Sequence[str], rows: CheckedRows, wanted: Columns) -> None:
        self._rows, self._names, self._has_numbers = rows, names, wanted.has_numbers
        taken = set(wanted.named())
        self._free = {column: plain_name(column) for column in names if column not in taken}

    def named(
        self, wanted: Sequence[str], *, has_labels: bool = False, is_filled: bool = False
    ) -> str:
        """The column with the first of these names; empty without one.

        `is_filled`: at least half of its rows have a value.
        """
        for name in wanted:
            for column, plain in self._free.items():
                if (
                    plain == name
                    and (not has_labels or self._has_labels(column))
                    and (not is_filled or self._is_filled(column))
                ):
                    del self._free[column]
                    return column
        return ""

    def raters(self) -> str:
        """A column “judge” that says who judged, a model or a person, next to their labels."""
        names = [name for name, plain in self._free.items() if plain == "judge"]
        columns = [name for name in names if self.model_raters(name)]
        return self._take(tuple(columns[:1]))[0] if columns else ""

    def model_raters(self, annotator: str) -> tuple[str, ...]:
        """The models among those who gave labels; none if nobody else did."""
        names = {same_id(row.get(annotator, "").strip()) for _, row in self._rows} - {""}
        models = sorted(filter(names_model, names))
        return tuple(models) if len(models) < len(names) else ()

    def judges(self) -> tuple[str, ...]:
        columns = tuple(
            column
            for column, plain in self._free.items()
            if (plain in JUDGE or self._names_judge(plain))
            and self._has_labels(column)
            and not self._probability(column, plain)
            and not self.holds_models(column)
        )
        return self._take(columns)

    def holds_models(self, column: str) -> bool:
        """Whether the values are names of models, such as those of two that are compared."""
        values = self.labels(column)
        return bool(values) and all(MODEL.fullmatch(plain_name(value)) for value in values)

    def models(self, people: Sequence[str], *, has_judges: bool) -> tuple[str, ...]:
        """Columns named like a model that have only labels that people use too.

        One that is just called AI can say who wrote a text, so it is a judge only without others.
        """
        labels_of_people = set().union(*map(self.labels, people))
        columns = tuple(
            column
            for column, plain in self._free.items()
            if (MODEL.fullmatch(plain) or (plain in JUDGE_KINDS and not has_judges))
            and not CERTAINTY.fullmatch(plain)
            and set() < self.labels(column) <= labels_of_people
        )
        return self._take(columns)

    def alike(self, judges: tuple[str, ...], people: Sequence[str]) -> tuple[str, ...]:
        """The judges that use a label of people, or all if none does.

        Of scores, they are the judges most of whose scores people could have given.
        """
        labels_of_people = set().union(*map(self.labels, people))
        if self._has_numbers:
            scores = [value for label in labels_of_people if (value := number(label)) is not None]
            low, high = min(scores, default=-math.inf), max(scores, default=math.inf)
            return tuple(j for j in judges if self._is_mostly(j, low, high)) or judges
        alike = tuple(judge for judge in judges if self.labels(judge) & labels_of_people)
        others = tuple(judge for judge in judges if not COMPARED.fullmatch(plain_name(judge)))
        return alike or others

    def _is_mostly(self, column: str, low: float, high: float) -> bool:
        """Whether at least half of the numbers of a column are in a range."""
        values = (number(row.get(column, "")) for _, row in self._rows)
        inside = [low <= value <= high for value in values if value is not None]
        return 2 * sum(inside) >= len(inside)

    def people(self) -> tuple[str, ...]:
        columns = tuple(
            column
            for column, plain in self._free.items()
            if (match := person_match(plain))
            and not (match[1] in ("label", "annotation") and MODEL.fullmatch(match[2]))
            and self._has_labels(column)
        )
        return self._take(columns)

    def taking_turns(self, judges: Sequence[str]) -> tuple[str, ...]:
        """Columns of labels of which every row fills as many, but not all, as of people in turn."""
        columns, _ = self.alike_columns(judges) or ((), "")
        filled = [
            tuple(is_label(row.get(column, "")) for column in columns) for _, row in self._rows
        ]
        numbers = {sum(row) for row in filled}
        is_in_turn = len(numbers) == 1 and 1 < min(numbers) < len(columns) and len({*filled}) > 1
        return self._take(columns) if is_in_turn else ()

    def alike_columns(self, judges: Sequence[str]) -> tuple[tuple[str, ...], str] | None:
        """Free columns that have the same labels as each other and as a judge, and that judge.

        They can be of people with any names, or of several things; None if there are no two.
        """
        named = [column for column, plain in self._free.items() if MODEL.fullmatch(plain)]
        for judge in (*judges, *named):
            of_judge = self.labels(judge)
            sets = {
                column: labels
                for column in self._free
                if column != judge
                and column not in named
                and 1 < len(labels := self.labels(column)) <= MOST_LABELS
                and labels & of_judge
            }
            for alike, n in Counter(map(frozenset, sets.values())).most_common(1):
                if n > 1:
                    return tuple(column for column, own in sets.items() if own <= alike), judge
        return None

    def kind(self) -> str:
        """The column that says for every row whether a person or a judge gave the label."""
        for column, plain in self._free.items():
            if plain in KIND:
                values = {plain_name(row.get(column, "")) for _, row in self._rows}
                if values <= PEOPLE_KINDS | JUDGE_KINDS and values & JUDGE_KINDS:
                    return column
        return ""

    def certainties(self, columns: Columns) -> tuple[dict[str, str], str, str]:
        """The columns of certainties by column of labels, one of none, one without numbers."""
        by_owner: dict[str, str] = {}
        unowned = worded = ""
        for column, plain in self._free.items():
            if (match := CERTAINTY.fullmatch(plain)) is None:
                continue
            if not self._has_a_number(column):
                worded = column if self._is_filled(column) else worded
            else:
                of = match[1] or match[2]
                owner = self._owner(of, columns) if of else self._next_to(column, columns)
                if owner and owner not in by_owner:
                    by_owner[owner] = column
                elif not of:
                    unowned = column
        return by_owner, unowned, worded

    def probabilities(self, columns: Columns) -> dict[str, dict[str, str]]:
        """The columns of probabilities by that of a judge's labels, where it has no certainty."""
        by_owner: dict[str, dict[str, str]] = {}
        free = [judge for judge in columns.judges if judge not in columns.certainty]
        for column, plain in self._free.items():
            if (match := self._probability(column, plain)) is None:
                continue
            of, label = match["of"], match.groupdict().get("label", "")
            owner = self._owner(of, columns) if of else free[0] if len(free) == 1 else ""
            own = (
                {
                    plain_name(label_of_owner): label_of_owner
                    for label_of_owner in self.labels(owner)
                }
                if owner in free
                else {}
            )
            if owner in free and (not label or label in own):
                by_owner.setdefault(owner, {})[own[label] if label else ""] = column
        return by_owner

    def _probability(self, column: str, plain: str) -> re.Match[str] | None:
        """What the name of a column says, if it is one of probabilities and its values are."""
        match = PROBABILITY.fullmatch(plain) or PROBABILITY_OF.fullmatch(plain)
        values = [value for _, row in self._rows if is_label(value := row.get(column, ""))]
        are_shares = bool(values) and all(share(value) is not None for value in values)
        return match if are_shares else None

    def _owner(self, of: str, columns: Columns) -> str:
        """The column of labels in the name of a certainty; empty if there is none."""
        labelled = [*columns.people, *filter(None, [columns.label]), *columns.judges]
        own = {label: plain_name(label) for label in labelled}
        for is_named in (
            lambda name: of in (name, name.removesuffix("_label"), name.removesuffix("_choice")),
            lambda name: name.endswith(f"_{of}"),
        ):
            if len(matching := [label for label, name in own.items() if is_named(name)]) == 1:
                return matching[0]
        if of in ("judge", "llm", "model") and len(columns.judges) == 1:
            return columns.judges[0]
        return columns.label if PERSON.fullmatch(f"{of}_") or of in ONE_PERSON else ""

    def _next_to(self, column: str, columns: Columns) -> str:
        """The column of labels that an unnamed certainty belongs to.

        In a row with one label it is that label, unless all rows of an item repeat it as for a
        judge. In a row with several labels it belongs to the only judge, or remains unclear.
        """
        before = self._names[max(0, self._names.index(column) - 1)]
        if before in (columns.label, *columns.judges):
            return before
        judge = columns.judges[0] if len(columns.judges) == 1 else ""
        if not columns.is_long:
            return "" if before in columns.people else judge
        values: dict[str, set[str]] = {}
        for _, row in self._rows:
            values.setdefault(row.get(columns.item, ""), set()).add(row.get(column, ""))
        is_repeated = len(values) < len(self._rows) and all(len(v) == 1 for v in values.values())
        return judge if judge and is_repeated else columns.label

    def _names_judge(self, plain: str) -> bool:
        match = JUDGE_NAME.fullmatch(plain)
        if match is None or CERTAINTY.fullmatch(plain):
            return False
        return not set((match["after"] or match["before"]).split("_")) & NOT_A_LABEL

    def _is_filled(self, column: str) -> bool:
        filled = sum(is_label(row.get(column, "")) for _, row in self._rows)
        return 2 * filled >= len(self._rows)

    def _has_a_number(self, column: str) -> bool:
        values = (row.get(column, "").strip().removesuffix("%") for _, row in self._rows)
        return any(number(value) is not None for value in values)

    def _has_labels(self, column: str) -> bool:
        labels = self.labels(column)
        if self._has_numbers and all(number(value) is not None for value in labels - NO_LABEL):
            return bool(labels)
        return 0 < len(labels) <= MOST_LABELS

    def labels(self, column: str) -> set[str]:
        values = {row.get(column, "") for _, row in self._rows}
        return {same_label(value) for value in values} - WRITTEN_BY_PROGRAMS

    def _take(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        for column in columns:
            del self._free[column]
        return columns


def number(value: str) -> float | None:
    """A finite number; None if the value is none."""
    try:
        parsed = float(value)
    except ValueError:
        return None
    return parsed if math.isfinite(parsed) else None


def share(value: str) -> float | None:
    """A probability; None if the value is none."""
    parsed = number(value)
    return parsed if parsed is not None and 0 <= parsed <= 1 else None
