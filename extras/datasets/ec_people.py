"""The people and the essays of Empathic Conversations, in both of its editions."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from studies.importers.sets.data_set import fact
from studies.importers.sets.files import Files, csv_rows
from studies.importers.sets.tally import Tally
from studies.texts.normalisation import storable

# A quote inside a cell has a backslash before it.
ESCAPE = "\\"
_GENDER = {1: "Male", 2: "Female", 5: "Other"}
_RACE = {
    1: "White",
    2: "Hispanic or Latino",
    3: "Black or African American",
    4: "Native American",
    5: "Asian or Pacific Islander",
    6: "Other",
}
_EDUCATION = {
    1: "less than high school",
    2: "high school",
    3: "technical or vocational school",
    4: "some college",
    5: "two-year degree",
    6: "college or university degree",
    7: "postgraduate degree",
}
# Key, and the columns that may hold it: the release spells openness with one n.
_TRAITS = (
    ("conscientiousness", ("personality_conscientiousness", "personality_conscientiousess")),
    ("openness", ("personality_openess", "personality_openness")),
    ("extraversion", ("personality_extraversion",)),
    ("agreeableness", ("personality_agreeableness",)),
    ("stability", ("personality_stability",)),
)
_TRAITS_HIGH = 7


@dataclass(frozen=True)
class Essay:
    """A person's essay about an article; `number` counts the essays about it."""

    file: str
    line: int
    article: str
    number: int
    writer: str
    text: str
    empathy: float
    distress: float


def read_essays(
    files: Files, tally: Tally
) -> tuple[dict[str, list[Essay]], dict[str, dict[str, Any]]]:
    """The essays about each article, and their writers; 2023 has both in one file."""
    combined = files.all("essays and people")
    parts = combined or files.all("essays")
    if not parts:
        raise files.missing("essays")
    text, writer, empathy, distress = (
        ("essay", "speaker_id", "empathy", "distress")
        if combined
        else ("person_essay", "person_id", "person_empathy", "person_distress")
    )
    people: dict[str, dict[str, Any]] = {}
    if not combined:
        people = {
            row["person_id"]: persona(row["person_id"], row)
            for _, row in csv_rows(files.need("people"), tally, escape=ESCAPE)
        }
    essays: dict[str, list[Essay]] = {}
    for part in parts:
        for line, row in csv_rows(part, tally, escape=ESCAPE):
            if combined:
                people.setdefault(row[writer], persona(row[writer], row))
            about = essays.setdefault(row["article_id"], [])
            scores = _number(row[empathy]), _number(row[distress])
            words = storable(row[text])
            if not words:
                tally.drop("essays without a text")
            elif scores[0] is None or scores[1] is None:
                tally.drop("essays without a score of empathy or distress")
            else:
                about.append(
                    Essay(
                        part.name,
                        line,
                        row["article_id"],
                        len(about) + 1,
                        row[writer],
                        words,
                        scores[0],
                        scores[1],
                    )
                )
    return essays, people


def persona(person: str, row: Mapping[str, str]) -> dict[str, Any]:
    """The features of a writer; blank values and values without a meaning are left out."""
    return {"id": f"ec-{person}", "features": list(_features(row))}


def _features(row: Mapping[str, str]) -> Iterator[dict[str, str]]:
    gender = _code(row, "gender", _GENDER)
    if gender == "Other":
        yield fact("sex", "Gender", "Other", "The person's gender is neither male nor female.")
    elif gender:
        yield fact("sex", "Gender", gender, f"The person is {gender.lower()}.")
    if education := _code(row, "education", _EDUCATION):
        sentence = f"The person's highest level of education is: {education}."
        yield fact("education", "Education", education, sentence)
    if race := _code(row, "race", _RACE):
        yield fact("ethnicity", "Ethnicity", race, f"The person's ethnicity is: {race}.")
    if (age := _number(row.get("age", ""))) is not None:
        yield fact("age", "Age", f"{age:g}", f"The person is {age:g} years old.")
    if (income := _number(row.get("income", ""))) is not None:
        sentence = f"The person earns {income:,.0f} dollars a year."
        yield fact("income", "Income", f"{income:,.0f} dollars a year", sentence)
    for key, columns in _TRAITS:
        score = next((_number(row[column]) for column in columns if column in row), None)
        if score is not None:
            value = f"{score:g} out of {_TRAITS_HIGH}"
            sentence = f"In a test of personality the person scored {value} for {key}."
            yield fact(key, key.capitalize(), value, sentence)


def _code(row: Mapping[str, str], column: str, words: Mapping[int, str]) -> str:
    number = _number(row.get(column, ""))
    return words.get(int(number), "") if number is not None and number == int(number) else ""


def _number(text: str) -> float | None:
    """A number; None if the cell is blank or states that it is unknown."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if abs(number) < float("inf") else None
