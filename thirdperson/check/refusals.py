"""Why a table without labels of people, or of a judge, cannot be checked, and the way out."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from thirdperson.check.column_names import guessed_column, names_judge
from thirdperson.check.labels import listed

if TYPE_CHECKING:
    from thirdperson.check.columns import Columns

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
    (
        {"dataset", "dataset_url", "id"},
        "JUDGE-BENCH",
        "lists of labels by people without their names, and none by a judge. Write a row for each "
        "label, with the columns item, annotator, label and judge",
    ),
)
_ELSEWHERE = "If they are in another file, give both: check FILE FILE --on COLUMN."


def no_people(
    name: str,
    names: Mapping[str, bool],
    guessed: "Columns",
    scored: "Columns",
    unfit: Mapping[str, str],
) -> str:
    """`names` are the columns, and whether each has as few values as labels have.

    `scored` is how the table would be read if its labels were numbers of any kind. `unfit` are
    columns with the name of a person, and why they are not taken for one.
    """
    named = [column for column, is_like in names.items() if is_like and names_judge(column)]
    judges = listed(guessed.judges or named)
    if guessed.gold and judges:
        judge = (*guessed.judges, *named)[0]
        return (
            f"{name}: it has labels by a judge ({judges}) and right labels ({guessed.gold}), but "
            "none by people, and a verdict compares the judge with people. Add a column for each "
            f"annotator, such as human_1 and human_2. If {guessed.gold} is what one person said, "
            f"compare with that person: --people {guessed.gold} --judge {judge}."
        )
    missing = f"{name}: no column with labels by people was found. It has: {listed([*names], 40)}."
    if unfit:
        column, why = next(iter(unfit.items()))
        return (
            f"{missing} Is it {column}? It {why}. Write labels of a few kinds, such as A and B for "
            "the first and the second response, or numbers with a point (3.5) and without a sign."
        )
    if annotator := guessed_column("annotator", [*names]):
        known = {annotator, *guessed.judges, *named, guessed.gold, guessed.item}
        likely = [column for column, is_like in names.items() if is_like and column not in known]
        return (
            f"{missing} Each row seems to be by one annotator ({annotator}). Name the column of "
            f"the label: --annotator {annotator} --label COLUMN, such as "
            f"{listed(likely, 4) or 'none that has few values'}."
        )
    if lists := [of for of in _lists([*names]) if of.endswith("s")]:
        return f"{missing} {_nameless(lists[0])}"
    columns = listed([*(scored.people or filter(None, [scored.label]))])
    hint = f" If the numbers of {columns} are the labels, add --level score." if columns else ""
    if judges:
        hint += f" If no person has labelled the items of {judges} yet, ask people first."
    return (
        f"{missing}{_shape([*names])} Name them: --people COLUMN,COLUMN if each annotator has a "
        "column, or --annotator COLUMN --label COLUMN if each label has a row. "
        f"{_ELSEWHERE}{hint}"
    )


def unclear_people(name: str, columns: Sequence[str], judge: str) -> str:
    if lists := _lists(columns):
        return f"{name}: {_nameless(lists[0])}"
    return (
        f"{name}: {listed(columns, 40)} have the same labels as {judge}, but their names do not "
        f"say what they are. If each is a person, add --people {','.join(columns)}. If they are "
        f"several things that were labelled, name the one that {judge} is about, such as --people "
        f"{columns[0]}."
    )


def _lists(columns: Sequence[str]) -> list[str]:
    """The names of lists of numbers or labels, which have a column for each place."""
    places = [column.rpartition(".") for column in columns]
    return list(dict.fromkeys(of for of, dot, place in places if dot and place.isdecimal()))


def _nameless(lists: str) -> str:
    return (
        f"{lists} is a list, which does not say who gave each label. Add a list of the annotators "
        "to each row, such as annotator_ids; or give each label a row of its own, with the columns "
        f"item, annotator, label and judge. If each place of the list is always the same person: "
        f"--people {lists}.0,{lists}.1"
    )


def no_judge(name: str, names: Sequence[str], columns: "Columns", unfit: Mapping[str, str]) -> str:
    """`unfit` are columns with the name of a judge, and why they are not taken for one."""
    missing = f"{name}: no column with labels by a judge was found. It has: {listed(names, 40)}."
    if unfit:
        known = [*unfit.items()][:2]
        return missing + "".join(
            f" Is it {column}? It {why}: correct these, or add --judge {column}."
            for column, why in known
        )
    people = (
        f"{columns.label} by {columns.annotator}" if columns.is_long else listed(columns.people)
    )
    return (
        f"{missing}{_shape(names)} Name it: --judge COLUMN; or --judge-raters NAME if its labels "
        f"are rows of the annotator NAME. {_ELSEWHERE} If no judge has labelled these items yet, "
        f"let one do what people did ({people}), and add its labels as the column “judge”."
    )


def several_criteria(name: str, pairs: Mapping[str, tuple[str, str]]) -> str:
    (people, judge), *_ = pairs.values()
    return (
        f"{name}: people and judges labelled several things: {listed([*pairs])}. Check one of them "
        f"at a time: --people {people} --judge {judge}."
    )


def _shape(names: Sequence[str]) -> str:
    """What a known data set has and lacks; empty for other files."""
    for columns, title, what in _SHAPES:
        if columns <= set(names):
            return f" This looks like {title}: {what}."
    return ""
