"""Empathic Conversations (Omitaomu et al. 2022): which essay about an article a person wrote."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

from studies.importers.files.faults import LIMITS, MAX_PAIRS, refused
from studies.importers.sets.data_set import (
    ALL,
    FIRST,
    DataSet,
    Files,
    Option,
    Raw,
    Role,
    Sides,
    Tally,
    chosen,
    csv_rows,
    draw,
    draw_or_first,
    fact,
    for_id,
    item,
    rank,
)
from studies.texts.normalisation import fold, storable

# Quotes inside a cell are escaped with a backslash.
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
# Key and its possible columns: the release spells openness with one n.
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
    """The essays about each article, and their writers; the 2023 edition has both in one file."""
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
                tally.drop("essays without an empathy or distress score")
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
    """The features of a writer, without blank or meaningless values."""
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
    """A number; None if blank or marked unknown."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if abs(number) < float("inf") else None


class EmpathicPair(NamedTuple):
    """Two essays about an article; the item asks which one the writer of `own` wrote."""

    own: Essay
    other: Essay
    is_tie: bool

    @property
    def key(self) -> str:
        numbers = sorted((self.own.number, self.other.number))
        return f"ec-{for_id(self.own.article)}-{numbers[0]}-{numbers[1]}"


def _read(files: Files, options: Mapping[str, Any], seed: int, tally: Tally) -> Iterator[Raw]:
    essays, people = read_essays(files, tally)
    articles = {
        row["article_id"]: storable(row["text"])
        for _, row in csv_rows(files.need("articles"), tally, escape=ESCAPE)
    }
    _check_number_of_pairs(files, essays)
    pairs: list[EmpathicPair] = []
    for article, about in essays.items():
        if not chosen(options["articles"], article):
            tally.drop("essays about other articles", len(about))
        elif not 0 < len(articles.get(article, "")) <= LIMITS["context"]:
            tally.drop("essays about an article without a text", len(about))
        else:
            usable = [essay for essay in about if _is_usable(essay, people, tally)]
            pairs += _pairs(usable, options, seed, tally)
    clear = _some_of_each([pair for pair in pairs if not pair.is_tie], options, seed, tally)
    ties = _ties([pair for pair in pairs if pair.is_tie], len(clear), options, seed, tally)
    sides = {is_tie: Sides(seed, f"ec {is_tie}") for is_tie in (False, True)}
    keep = {pair.key for pair in clear + ties}
    for pair in pairs:
        if pair.key in keep:
            own_is_first = sides[pair.is_tie].own_is_first(pair.key)
            yield _item(pair, people[pair.own.writer], articles[pair.own.article], own_is_first)


def _check_number_of_pairs(files: Files, essays: Mapping[str, list[Essay]]) -> None:
    """Raise `Refused` if the essays make too many pairs to compare."""
    total = sum(math.comb(len(about), 2) for about in essays.values())
    if total > MAX_PAIRS:
        most = max(essays, key=lambda article: len(essays[article]))
        parts = files.all("essays and people") or files.all("essays")
        raise refused(
            parts[0].name,
            f"The essays make {total:,} pairs; at most {MAX_PAIRS:,} can be compared. Article "
            f"{most[:100]} has the most essays, {len(essays[most]):,}.",
            "Remove some essays.",
        )


def _is_usable(essay: Essay, people: Mapping[str, dict[str, Any]], tally: Tally) -> bool:
    if essay.writer not in people:
        tally.drop("essays by people without a row")
    elif not people[essay.writer]["features"]:
        tally.drop("essays by people without a persona")
    elif len(essay.text) > LIMITS["response"]:
        tally.drop("essays longer than 8,000 characters")
    else:
        return True
    return False


def _pairs(
    essays: list[Essay], options: Mapping[str, Any], seed: int, tally: Tally
) -> Iterator[EmpathicPair]:
    """All pairs of essays on an article by two people; a draw decides whose is asked about."""
    for pair in combinations(essays, 2):
        first, second = pair
        if first.writer == second.writer:
            tally.drop("pairs by the same writer")
        elif fold(first.text) == fold(second.text):
            tally.drop("pairs of identical texts")
        else:
            near = [
                abs(getattr(first, name) - getattr(second, name)) < options["tie_margin"]
                for name in ("empathy", "distress")
            ]
            is_tie = any(near) if options["tie_rule"] == "either" else all(near)
            tally.ties += is_tie
            is_drawn = options["target"] != FIRST
            if is_drawn and rank(seed, "ec own", first.article, first.number, second.number) % 2:
                first, second = second, first
            yield EmpathicPair(first, second, is_tie)


def _some_of_each(
    pairs: list[EmpathicPair], options: Mapping[str, Any], seed: int, tally: Tally
) -> list[EmpathicPair]:
    """The requested number of pairs from each article."""
    size = options["pairs_per_article"]
    by_article: dict[str, list[EmpathicPair]] = {}
    for pair in pairs:
        by_article.setdefault(pair.own.article, []).append(pair)
    drawn = [
        pair
        for of_one in by_article.values()
        for pair in draw_or_first(
            of_one, size, rule=options["sample"], by=lambda pair: rank(seed, "ec", pair.key)
        )
    ]
    tally.drop(f"pairs beyond {size:,} per article", len(pairs) - len(drawn))
    return drawn


def _ties(
    pairs: list[EmpathicPair], others: int, options: Mapping[str, Any], seed: int, tally: Tally
) -> list[EmpathicPair]:
    """Ties, drawn by seed, for the requested share of all items."""
    if not options["include_ties"]:
        tally.drop("ties", len(pairs))
        return []
    share = options["tie_share"]
    size = round(others * share / (1 - share))
    drawn = draw(pairs, size, by=lambda pair: rank(seed, "ec tie", pair.key))
    tally.drop("ties beyond the requested share", len(pairs) - len(drawn))
    return drawn


def _item(pair: EmpathicPair, persona: dict[str, Any], article: str, own_is_first: bool) -> Raw:
    first, second = (pair.own, pair.other) if own_is_first else (pair.other, pair.own)
    raw = item(
        key=pair.key,
        task="authorship",
        persona=persona,
        own=_response(pair.own),
        other=_response(pair.other),
        own_is_first=own_is_first,
        tie=pair.is_tie,
        group=f"article {pair.own.article}",
        context=article,
        context_title="Article",
        metadata={
            "article": pair.own.article,
            "empathy": {"r1": first.empathy, "r2": second.empathy},
            "distress": {"r1": first.distress, "r2": second.distress},
        },
    )
    return pair.own.file, pair.own.line, raw


def _response(essay: Essay) -> dict[str, Any]:
    return {"text": essay.text, "generated_by": {"kind": "human"}}


_PERSON = ("gender", "education", "race", "age", "income")
EC = DataSet(
    name="ec",
    title="Empathic Conversations",
    about="Essays on news articles by people who scored their empathy and their distress.",
    task="authorship",
    files=(
        "trac3_EMP_train.csv, trac4_PER_train.csv and articles_adobe_AMT.csv; or the single "
        "table of 2023 and the articles"
    ),
    source={
        "name": "Empathic Conversations",
        "licence": "not stated in the public copies",
        "citation": "Omitaomu et al. 2022, Empathic Conversations",
        "redistribution": "forbidden",
    },
    roles=(
        Role(
            "essays and people",
            ("article_id", "essay", "speaker_id", "empathy", "distress", *_PERSON),
            "a row for each essay with its writer (edition of 2023)",
            is_mark=True,
        ),
        Role(
            "essays",
            ("article_id", "person_id", "person_essay", "person_empathy", "person_distress"),
            "a row for each essay (trac3_EMP_train.csv)",
            is_mark=True,
        ),
        Role("people", ("person_id", *_PERSON), "a row for each writer (trac4_PER_train.csv)"),
        Role("articles", ("article_id", "text"), "a row for each article (articles_adobe_AMT.csv)"),
    ),
    options=(
        Option("articles", ALL, "Article numbers, separated by commas."),
        Option("pairs_per_article", 5, "Pairs per article that are not ties.", low=1),
        Option("sample", "random", "Draw pairs by seed, or take the first.", ("random", FIRST)),
        Option(
            "target",
            "random",
            "Whose essay is asked about: drawn by seed, or always the first.",
            ("random", FIRST),
        ),
        Option("tie_margin", 2.0, "Scores that differ by less count as similar.", high=7),
        Option(
            "tie_rule",
            "either",
            "A tie is similar in either score, or in both.",
            ("either", "both"),
        ),
        Option("include_ties", False, "Keep ties as items with the answer “tie”."),
        Option("tie_share", 0.2, "Share of kept items that are ties.", high=0.9),
    ),
    read=_read,
)
