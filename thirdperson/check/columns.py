"""Which column holds what: guessed from names and values, or as the options say."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from studies.importers.columns.guesses import plain_name
from thirdperson.check.errors import BadTable
from thirdperson.check.labels import is_label, listed, same_label

Rows = Sequence[tuple[str, Mapping[str, str]]]

_ITEM = (
    "item item_id id uid uuid example example_id row_id sample_id case_id task_id pair_id "
    "question_id prompt_id"
).split()
_ANNOTATOR = (
    "annotator annotator_id annotator_name rater rater_id rater_name worker worker_id user user_id "
    "labeler labeler_id labeller coder coder_id reviewer reviewer_id participant participant_id "
    "respondent person_id"
).split()
_LABEL = "label human_label answer choice vote rating annotation preference verdict value".split()
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
MOST_LABELS = 10  # a guessed column of labels has at most this many different values


@dataclass(frozen=True)
class Columns:
    """The part of each column. People are either one column each, or one row a label.

    `people`: columns of labels, one for each annotator. `annotator` and `label`: who and what, in a
    table with one row for each label. `judges`: columns of judges' labels. `kind`: a column that
    says whether the row is of a person or of a judge; `judge_raters`: annotators that are judges.
    `certainty`: the column of certainties by the column of labels.
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

    @property
    def is_long(self) -> bool:
        return bool(self.annotator)

    def named(self) -> Iterable[str]:
        """Every column that has a part."""
        single = (self.item, self.annotator, self.label, self.kind, self.gold, self.persona)
        named = (*single, self.question, *self.people, *self.judges, *self.certainty.values())
        return filter(None, named)

    def words(self) -> list[str]:
        """How each part was read, for the terminal."""
        if self.is_long:
            people = f"{self.label} by {self.annotator}"
        else:
            people = listed(self.people)
        judges = listed([*self.judges, *self.judge_raters]) or f"by {self.kind}"
        certainty = listed([f"{own} of {of}" for of, own in self.certainty.items()])
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


def columns_of(names: Sequence[str], rows: Rows, given: Columns, *, name: str) -> Columns:
    """The columns as given by options, the rest guessed. Raises `BadTable`."""
    for column in given.named():
        if column not in names:
            raise BadTable(
                f"{name} has no column “{column}”. It has: {listed(names, 40)}. Name one of these."
            )
    found = _guessed(names, rows, given)
    if not (found.people or (found.annotator and found.label)):
        raise BadTable(
            f"{name}: no column with labels of people was found. It has: {listed(names, 40)}. Name "
            "them: --people COLUMN,COLUMN if each annotator has a column, or --annotator COLUMN "
            "--label COLUMN if each label has a row."
        )
    if not (found.judges or found.judge_raters or found.kind):
        raise BadTable(
            f"{name}: no column with labels of a judge was found. It has: {listed(names, 40)}. "
            "Name it: --judge COLUMN; or --judge-raters NAME if its labels are rows of the "
            "annotator NAME."
        )
    if found.is_long and not found.item:
        raise BadTable(
            f"{name}: each row is one label, and no column says of which item. It has: "
            f"{listed(names, 40)}. Name it: --item COLUMN."
        )
    return found


def _guessed(names: Sequence[str], rows: Rows, given: Columns) -> Columns:
    table = _Guesses(names, rows, given)
    found = replace(
        given,
        item=given.item or table.named(_ITEM),
        gold=given.gold or table.named(_GOLD, has_labels=True),
        persona=given.persona or table.named(_PERSONA, is_filled=True),
        question=given.question or table.named(_QUESTION, is_filled=True),
    )
    judges = given.judges
    if not (judges or given.judge_raters or given.kind):
        judges = table.judges()
    found = replace(found, judges=judges)
    if not given.people:
        annotator = given.annotator or table.named(_ANNOTATOR)
        label = given.label or (table.named(_LABEL, has_labels=True) if annotator else "")
        if annotator and label:
            found = replace(found, annotator=annotator, label=label)
            if not (found.judges or found.judge_raters):
                found = replace(found, kind=given.kind or table.kind())
        else:
            alone = table.named(_ONE_PERSON, has_labels=True)
            found = replace(found, people=table.people() or ((alone,) if alone else ()))
    labelled = [*found.people, *filter(None, [found.label]), *found.judges]
    return replace(found, certainty={**table.certainties(labelled), **given.certainty})


class _Guesses:
    """Guesses over the columns that no option has named; a column is guessed once."""

    def __init__(self, names: Sequence[str], rows: Rows, given: Columns) -> None:
        self._rows = rows
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
                fits = not has_labels or self._has_labels(column)
                if plain == name and fits and (not is_filled or self._is_filled(column)):
                    del self._free[column]
                    return column
        return ""

    def judges(self) -> tuple[str, ...]:
        found = tuple(
            column
            for column, plain in self._free.items()
            if (plain in _JUDGE or self._names_judge(plain)) and self._has_labels(column)
        )
        return self._take(found)

    def people(self) -> tuple[str, ...]:
        found = tuple(
            column
            for column, plain in self._free.items()
            if (match := _PERSON.fullmatch(plain))
            and not set(match[2].split("_")) & _NO_LABEL_WORDS
            and not _CERTAINTY.fullmatch(plain)
            and self._has_labels(column)
        )
        return self._take(found)

    def kind(self) -> str:
        """The column whose values say of every row whether a person or a judge gave the label."""
        for column, plain in self._free.items():
            if plain in _KIND:
                values = {plain_name(row.get(column, "")) for _, row in self._rows}
                if values <= _PEOPLE_KINDS | _JUDGE_KINDS and values & _JUDGE_KINDS:
                    return column
        return ""

    def certainties(self, labelled: Sequence[str]) -> dict[str, str]:
        """The columns of certainties, each with the column of labels that its name belongs to."""
        found: dict[str, str] = {}
        for column, plain in self._free.items():
            if match := _CERTAINTY.fullmatch(plain):
                of = match[1] or match[2] or ""
                for label in labelled:
                    own = plain_name(label)
                    if of and of in (own, own.removesuffix("_label"), own.removesuffix("_choice")):
                        found[label] = column
                if not of and len(labelled) - len(found) >= 1 and labelled[0] not in found:
                    found[labelled[0]] = column
        return found

    def _names_judge(self, plain: str) -> bool:
        match = _JUDGE_NAME.fullmatch(plain)
        if match is None or _CERTAINTY.fullmatch(plain):
            return False
        return not set((match["after"] or match["before"]).split("_")) & _NO_LABEL_WORDS

    def _is_filled(self, column: str) -> bool:
        filled = sum(is_label(row.get(column, "")) for _, row in self._rows)
        return 2 * filled >= len(self._rows)

    def _has_labels(self, column: str) -> bool:
        values = {same_label(row.get(column, "")) for _, row in self._rows}
        found = {value for value in values if is_label(value)}
        return 0 < len(found) <= MOST_LABELS

    def _take(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        for column in columns:
            del self._free[column]
        return columns


def kind_is_judge(value: str, where: str, column: str) -> bool:
    """Whether a row's kind is a judge's. Raises `BadTable` for an unknown word."""
    plain = plain_name(value)
    if plain not in _PEOPLE_KINDS | _JUDGE_KINDS:
        raise BadTable(
            f"{where}: {column} is “{value}”. Write human or judge, or name the annotators that "
            "are judges: --judge-raters NAME,NAME."
        )
    return plain in _JUDGE_KINDS
