"""Find what each column contains, from options or by guessing from names and values."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from studies.importers.columns.mapping import plain_name
from studies.importers.files.faults import same_id
from thirdperson.check.labels import (
    NO_LABEL,
    WRITTEN_BY_PROGRAMS,
    BadTable,
    is_label,
    listed,
    same_label,
)

CheckedRows = Sequence[tuple[str, Mapping[str, str]]]

_ITEM = (
    "item item_id id idx uid uuid example example_id row_id sample_id case_id task_id pair_id "
    "question_id prompt_id"
).split()
_ANNOTATOR = (
    "annotator annotator_id annotator_name rater rater_id rater_name worker worker_id user user_id "
    "labeler labeler_id labeller coder coder_id reviewer reviewer_id participant participant_id "
    "respondent person_id"
).split()
_LABEL = (
    "label human_label answer choice vote rating annotation preference verdict winner value"
).split()
_SCORE = "score grade points".split()
_ONE_PERSON = "human human_label label annotation human_answer human_choice expert".split()
_JUDGE = (
    "judge judge_label judge_answer judge_choice judge_verdict llm llm_label llm_judge model "
    "model_label model_choice ai_label prediction predicted predicted_label auto_label autolabel"
).split()
_GOLD = (
    "gold gold_label truth ground_truth correct_answer correct_label first_person own_answer target"
).split()
_PERSONA = "persona persona_id profile profile_id".split()
_QUESTION = "question prompt question_text input query".split()
_KIND = "kind source rater_type annotator_type rater_kind label_source".split()
_PEOPLE_KINDS = set("human person people annotator crowd expert worker".split())
_JUDGE_KINDS = set("judge model llm ai machine llm_judge".split())
_PERSON = re.compile(
    r"(?:(?:winner|label|choice|vote|answer|rating|preference|pref|verdict|annotation|score)_)?"
    r"(human|annotator|rater|coder|labell?er|worker|expert|reviewer|crowd|person|participant|label"
    r"|annotation)_(\w+)"
)
_JUDGE_NAME = re.compile(r"(judge|llm|model)_(?P<after>\w+)|(?P<before>\w+)_(judge|llm)")
_NO_LABEL_WORDS = set(
    "id name names text reason reasons reasoning explanation rationale comment comments response "
    "output outputs completion time seconds date cost tokens type kind version model prompt "
    "raw".split()
)
_CERTAINTY = re.compile(r"(?:(\w+)_)?(?:certainty|confidence)(?:_(\w+))?")
# Of the judge's label, or of the one that the name ends in.
_PROBABILITY = re.compile(r"(?:(?P<of>\w+)_)?(?:probability|prob)")
_PROBABILITY_OF = re.compile(r"(?:(?P<of>\w+?)_)?(?:probability|prob|p)_(?P<label>\w+)")
# Families of models, whose names mark a column as a judge's.
_MODEL = re.compile(
    r"(?:\w+_)?(?:gpt|chatgpt|claude|gemini|gemma|llama|mistral|mixtral|qwen|deepseek|command|phi|"
    r"grok|palm|prometheus|pandalm|auto_?j|o_[134]|yi|falcon|vicuna)(?:_\w+)?"
)
# Public data sets that lack labels by people or by a judge, with their columns.
_SHAPES = (
    (
        {"input", "output_1", "output_2", "label"},
        "LLMBar",
        "one right label per item, but no labels by single people. Add columns human_1, "
        "human_2 and judge, and name the right label: --gold label",
    ),
    (
        {"response1", "response2", "annotator1", "annotator2"},
        "PandaLM",
        "labels by people, but none by a judge. Add the judge's label to each entry as “judge”; "
        "if 0 is a tie, add --tie 0",
    ),
    (
        {"hard_label", "annotator", "label"},
        "LeWiDi",
        "labels by people, but none by a judge. Add the judge's label to each item as “judge”",
    ),
)
_ELSEWHERE = "If they are in another file, give both: check FILE FILE --on COLUMN."
MOST_LABELS = 10  # most distinct values in a guessed column of labels


@dataclass(frozen=True)
class Columns:
    """The role of each column. People have either one column each, or one row per label.

    `people`: columns of labels, one per annotator. `annotator` and `label`: who and what, in a
    table with one row per label. `judges`: columns of judges' labels. `kind`: a column that says
    whether the row is by a person or a judge; `judge_raters`: annotators that are judges.
    `certainty`: the column of certainties by column of labels; `unowned`: one whose column of
    labels is unclear. `probability`: columns of native probabilities by column of a judge's labels,
    each by its label; one without a label is of the judge's. `missing`: the words for no label,
    None to guess them; `named_labels`: labels in an option, which are never missing. `scales`:
    lowest and highest certainty of people or of a judge. `skip_faulty`: faulty rows are left out.
    `has_numbers`: labels are numbers, of any number of values.
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
    probability: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    missing: tuple[str, ...] | None = None
    named_labels: frozenset[str] = frozenset()
    scales: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    skip_faulty: bool = False
    has_numbers: bool = False

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
        found = {
            "item": self.item or "each row",
            "people": people,
            "judge": judges,
            "certainty": certainty,
            "right label": self.gold,
            "persona": self.persona,
            "question": self.question,
        }
        return [f"{name}: {value or 'none'}" for name, value in found.items()]


def columns_of(names: Sequence[str], rows: CheckedRows, given: Columns, *, name: str) -> Columns:
    """The columns as given by options, the rest guessed. Raises `BadTable`."""
    given = replace(given, probability=_probabilities(given, names))
    for column in given.named():
        if column not in names:
            raise BadTable(
                f"{name} has no column “{column}”. It has: {listed(names, 40)}. Name one of these."
            )
    found = _guessed(names, rows, given)
    if not (found.people or (found.annotator and found.label)):
        scores = "" if given.has_numbers else _score_hint(names, rows, given)
        raise BadTable(
            f"{name}: no column with labels by people was found. It has: {listed(names, 40)}."
            f"{_shape(names)} Name "
            "them: --people COLUMN,COLUMN if each annotator has a column, or --annotator COLUMN "
            f"--label COLUMN if each label has a row. {_ELSEWHERE}{scores}"
        )
    if not (found.judges or found.judge_raters or found.kind):
        raise BadTable(
            f"{name}: no column with labels by a judge was found. It has: {listed(names, 40)}."
            f"{_shape(names)} Name it: --judge COLUMN; or --judge-raters NAME if its labels are "
            f"rows of the annotator NAME. {_ELSEWHERE}"
        )
    labelled = {*found.people, found.label, *found.judges}
    options = {**dict.fromkeys(given.certainty, "certainty")}
    options |= dict.fromkeys(given.probability, "probability")
    if stray := [label for label in options if label not in labelled]:
        raise BadTable(
            f"--{options[stray[0]]} {stray[0]}: this is not a column of labels. These are:  "
            f"{listed(sorted(labelled - {''}))}."
        )
    if found.judge_raters and not found.is_long:
        raise BadTable(
            "--judge-raters names annotators, and each annotator of this table has a column. Name "
            "the columns of judges: --judge COLUMN,COLUMN."
        )
    if unknown := _unknown_raters(found, rows):
        raters = sorted({same_id(row.get(found.annotator, "").strip()) for _, row in rows} - {""})
        raise BadTable(
            f"--judge-raters {unknown[0]}: {found.annotator} has no such name. It has: "
            f"{listed(raters, 40)}. Name one of these."
        )
    if found.is_long and not found.item:
        raise BadTable(
            f"{name}: each row is one label, but no column names its item. It has: "
            f"{listed(names, 40)}. Name it: --item COLUMN."
        )
    return found


_ROLES = {
    "item": _ITEM,
    "annotator": _ANNOTATOR,
    "label": [*_LABEL, *_SCORE, *_ONE_PERSON, *_JUDGE],
    "gold": _GOLD,
}


def guessed_column(role: str, names: Sequence[str]) -> str:
    """The column whose name has a role, by its name alone; empty without one."""
    plain = {plain_name(name): name for name in reversed(names)}
    return next((plain[name] for name in _ROLES[role] if name in plain), "")


def certainty_column(names: Sequence[str]) -> str:
    """The only column of certainties; empty without one."""
    found = [name for name in names if _CERTAINTY.fullmatch(plain_name(name))]
    return found[0] if len(found) == 1 else ""


def people_columns(names: Sequence[str]) -> list[str]:
    """Columns whose names are those of labels by single people."""
    found = {name: _PERSON.fullmatch(plain_name(name)) for name in names}
    return [
        name
        for name, match in found.items()
        if match
        and not set(match[2].split("_")) & _NO_LABEL_WORDS
        and not _CERTAINTY.fullmatch(plain_name(name))
    ]


def names_judge(name: str) -> bool:
    """Whether a rater's name is that of a judge or of a model."""
    plain = plain_name(name)
    return any((plain in _JUDGE, bool(_JUDGE_NAME.fullmatch(plain)), bool(_MODEL.fullmatch(plain))))


def _score_hint(names: Sequence[str], rows: CheckedRows, given: Columns) -> str:
    """A way out if columns of numbers would be labels."""
    found = _guessed(names, rows, replace(given, has_numbers=True))
    columns = found.people or (found.label,)
    if not any(columns):
        return ""
    return f" If the numbers of {listed([*columns])} are the labels, add --level score."


def _probabilities(given: Columns, names: Sequence[str]) -> dict[str, dict[str, str]]:
    """The columns of probabilities that an option names: COLUMN, or COLUMN:LABEL."""
    found: dict[str, dict[str, str]] = {}
    for of, columns in given.probability.items():
        for column in columns:
            name, colon, label = column.rpartition(":")
            is_whole = column in names or not colon
            found.setdefault(of, {})["" if is_whole else same_label(label)] = (
                column if is_whole else name
            )
    return found


def _unknown_raters(columns: Columns, rows: CheckedRows) -> list[str]:
    """Judges named among annotators that gave no label."""
    raters = {same_id(row.get(columns.annotator, "").strip()) for _, row in rows}
    return [name for name in columns.judge_raters if name not in raters]


def _shape(names: Sequence[str]) -> str:
    """What a known data set has and lacks; empty for other files."""
    for columns, title, what in _SHAPES:
        if columns <= set(names):
            return f" This looks like {title}: {what}."
    return ""


def _guessed(names: Sequence[str], rows: CheckedRows, given: Columns) -> Columns:
    table = _Guesses(names, rows, given)
    # With two outputs in the table, a label says which one is right.
    golds = [*_GOLD, *(["label"] if {"output_1", "output_2"} <= set(names) else [])]
    found = replace(
        given,
        item=given.item or table.named(_ITEM),
        gold=given.gold or table.named(golds, has_labels=True),
        persona=given.persona or table.named(_PERSONA, is_filled=True),
        question=given.question or table.named(_QUESTION, is_filled=True),
    )
    judges = given.judges
    if not (judges or given.judge_raters or given.kind):
        judges = table.judges()
    found = replace(found, judges=judges)
    if not given.people:
        annotator = given.annotator or table.named(_ANNOTATOR)
        wanted = [*_LABEL, *(_SCORE if given.has_numbers else [])]
        label = given.label or (table.named(wanted, has_labels=True) if annotator else "")
        if annotator and label:
            found = replace(found, annotator=annotator, label=label)
            kind = "" if judges or given.judge_raters else given.kind or table.kind()
            found = replace(found, kind=kind)
        else:
            alone = table.named(_ONE_PERSON, has_labels=True)
            found = replace(found, people=table.people() or ((alone,) if alone else ()))
    if not (given.judges or given.judge_raters or found.kind):
        models = table.models([*found.people, *filter(None, [found.label])])
        found = replace(found, judges=(*found.judges, *models))
    certainty, unowned = table.certainties(found)
    found = replace(found, certainty={**certainty, **given.certainty}, unowned=unowned)
    return found if given.probability else replace(found, probability=table.probabilities(found))


class _Guesses:
    """Guesses over the columns that no option has named; a column is guessed once."""

    def __init__(self, names: Sequence[str], rows: CheckedRows, given: Columns) -> None:
        self._rows, self._names, self._has_numbers = rows, names, given.has_numbers
        taken = set(given.named())
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

    def judges(self) -> tuple[str, ...]:
        found = tuple(
            column
            for column, plain in self._free.items()
            if (plain in _JUDGE or self._names_judge(plain))
            and self._has_labels(column)
            and not self._probability(column, plain)
        )
        return self._take(found)

    def models(self, people: Sequence[str]) -> tuple[str, ...]:
        """Columns named like a model that have only labels that people use too."""
        given = set().union(*map(self._labels, people))
        found = tuple(
            column
            for column, plain in self._free.items()
            if _MODEL.fullmatch(plain)
            and not _CERTAINTY.fullmatch(plain)
            and set() < self._labels(column) <= given
        )
        return self._take(found)

    def people(self) -> tuple[str, ...]:
        found = tuple(
            column
            for column, plain in self._free.items()
            if (match := _PERSON.fullmatch(plain))
            and not set(match[2].split("_")) & _NO_LABEL_WORDS
            and not _CERTAINTY.fullmatch(plain)
            and not (match[1] in ("label", "annotation") and _MODEL.fullmatch(match[2]))
            and self._has_labels(column)
        )
        return self._take(found)

    def kind(self) -> str:
        """The column that says for every row whether a person or a judge gave the label."""
        for column, plain in self._free.items():
            if plain in _KIND:
                values = {plain_name(row.get(column, "")) for _, row in self._rows}
                if values <= _PEOPLE_KINDS | _JUDGE_KINDS and values & _JUDGE_KINDS:
                    return column
        return ""

    def certainties(self, columns: Columns) -> tuple[dict[str, str], str]:
        """The columns of certainties by column of labels, and one that belongs to none."""
        found: dict[str, str] = {}
        unowned = ""
        for column, plain in self._free.items():
            if match := _CERTAINTY.fullmatch(plain):
                of = match[1] or match[2]
                owner = self._owner(of, columns) if of else self._next_to(column, columns)
                if owner and owner not in found:
                    found[owner] = column
                elif not of:
                    unowned = column
        return found, unowned

    def probabilities(self, columns: Columns) -> dict[str, dict[str, str]]:
        """The columns of probabilities by that of a judge's labels, where it has no certainty."""
        found: dict[str, dict[str, str]] = {}
        free = [judge for judge in columns.judges if judge not in columns.certainty]
        for column, plain in self._free.items():
            if (match := self._probability(column, plain)) is None:
                continue
            of, label = match["of"], match.groupdict().get("label", "")
            owner = self._owner(of, columns) if of else free[0] if len(free) == 1 else ""
            own = {plain_name(each): each for each in self._labels(owner)} if owner in free else {}
            if owner in free and (not label or label in own):
                found.setdefault(owner, {})[own[label] if label else ""] = column
        return found

    def _probability(self, column: str, plain: str) -> re.Match[str] | None:
        """What the name of a column says, if it is one of probabilities and its values are."""
        match = _PROBABILITY.fullmatch(plain) or _PROBABILITY_OF.fullmatch(plain)
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
        return columns.label if _PERSON.fullmatch(f"{of}_") or of in _ONE_PERSON else ""

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
        match = _JUDGE_NAME.fullmatch(plain)
        if match is None or _CERTAINTY.fullmatch(plain):
            return False
        return not set((match["after"] or match["before"]).split("_")) & _NO_LABEL_WORDS

    def _is_filled(self, column: str) -> bool:
        filled = sum(is_label(row.get(column, "")) for _, row in self._rows)
        return 2 * filled >= len(self._rows)

    def _has_labels(self, column: str) -> bool:
        labels = self._labels(column)
        if self._has_numbers and all(number(value) is not None for value in labels - NO_LABEL):
            return bool(labels)
        return 0 < len(labels) <= MOST_LABELS

    def _labels(self, column: str) -> set[str]:
        values = {row.get(column, "") for _, row in self._rows}
        return {same_label(value) for value in values} - WRITTEN_BY_PROGRAMS

    def _take(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        for column in columns:
            del self._free[column]
        return columns


def number(value: str) -> float | None:
    """A finite number; None if the value is none."""
    try:
        found = float(value)
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def share(value: str) -> float | None:
    """A probability; None if the value is none."""
    found = number(value)
    return found if found is not None and 0 <= found <= 1 else None


def kind_is_judge(value: str, where: str, column: str) -> bool:
    """Whether a row's kind is a judge's. Raises `BadTable` for an unknown word."""
    plain = plain_name(value)
    if plain not in _PEOPLE_KINDS | _JUDGE_KINDS:
        raise BadTable(
            f"{where}: {column} is “{value}”. Use human or judge, or name the annotators that "
            "are judges: --judge-raters NAME,NAME."
        )
    return plain in _JUDGE_KINDS
