"""MENAValues (Zahraei and Asgari 2025): the most common answer of a country to a question.

The release is a workbook with a column for each question and a row for each country. A CSV with a
row for each question and country is read too.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from extras.datasets.pairs import REMEDY, is_usable, language_code, text_of
from studies.importers.files.faults import ImportRow, refused
from studies.importers.files.lines import BadLine, filled_rows
from studies.importers.items.item_fields import PAIRED_BY, SET_SIZES
from studies.importers.sets.data_set import (
    ALL,
    DataSet,
    Files,
    Option,
    Raw,
    Role,
    SetFile,
    Sides,
    Tally,
    chosen,
    csv_rows,
    fact,
    for_id,
    item,
    rank,
)
from studies.texts.cells import literal
from studies.texts.normalisation import digest, storable

_PERSPECTIVES = ("neutral", "persona", "observer")
_COLUMNS = ("question", "option_1", "option_2", "share_1", "share_2", "country")


# Rows of the workbook: about questions, and the others that are no country.
_ABOUT_QUESTIONS = ("Min", "MAX", "Category", "Full Question")
_NO_COUNTRY = {*_ABOUT_QUESTIONS, "Source", "Sub Question", "Scale", "Sub Category"}
_NO_DATA = ("(No data", "(No values")
# How a question names its answers: '1' being 'Yes'; or 1: Yes, 2. No, 1) Yes.
_BEING = re.compile(r"'(\d+)' (?:being|for) '([^']+(?:'\w[^']*)*)'")
_LEAD = re.compile(r",? *(?:With|Please answer with) '\d+'", re.IGNORECASE)
_NUMBERED = re.compile(
    r"(?<![\d.])(\d)\s*[:.)]\s+(.+?)"
    r"(?=(?:[,.;]| or)*\s*\d\s*[:.)]\s|\.?\s*Provide a number|\.?\s*$)"
)


@dataclass(frozen=True)
class _SurveyQuestion:
    """A question to people of a country, with the shares of its answers."""

    question: str
    texts: Sequence[str]
    shares: Sequence[float]
    country: str
    language: str
    perspective: str | None
    topic: str


def _read(files: Files, options: Mapping[str, Any], seed: int, tally: Tally) -> Iterator[Raw]:
    sides = Sides(seed, "mena")
    read: Iterator[tuple[str, int, _SurveyQuestion]]
    if workbook := files.find("workbook"):
        read = _of_workbook(workbook, options["most_answers"], tally)
    else:
        read = _of_rows(files.need("questions"), tally)
    for name, line, asked in read:
        first, second = sorted(
            range(len(asked.shares)), key=lambda place: asked.shares[place], reverse=True
        )[:2]
        difference = round(asked.shares[first] - asked.shares[second], 6)
        if asked.perspective and asked.perspective != options["perspective"]:
            tally.drop("rows of another perspective")
        elif not chosen(options["countries"], asked.country):
            tally.drop("rows of another country")
        elif difference <= options["tie_margin"]:
            tally.ties += 1
            tally.drop("questions that divide a country")
        elif is_usable(asked.question, "", asked.texts, tally):
            parts = [asked.question, *asked.texts, asked.country, asked.language]
            key = f"mena-{digest(parts)[:16]}"
            other = (first + 1 + rank(seed, "mena", key) % (len(asked.texts) - 1)) % len(
                asked.texts
            )
            own_is_first = sides.own_is_first(key)
            places = (first, other) if own_is_first else (other, first)
            yield (
                name,
                line,
                item(
                    key=key,
                    task="survey_answer",
                    persona=_persona(asked.country),
                    own=_option(asked.texts[first]),
                    other=_option(asked.texts[other]),
                    own_is_first=own_is_first,
                    margin=difference,
                    source="derived",
                    question=asked.question,
                    group=f"mena-{digest(asked.question)[:16]}",
                    topic=asked.topic[:120] or None,
                    metadata={
                        "shares": list(asked.shares),
                        "perspective": asked.perspective,
                        "survey_shares": {
                            side: asked.shares[place]
                            for side, place in zip(("r1", "r2"), places, strict=True)
                        },
                    },
                )
                | {"language": asked.language}
                | _set_of(key, asked, places, first),
            )


def _set_of(
    key: str, asked: _SurveyQuestion, places: tuple[int, int], first: int
) -> dict[str, Any]:
    """The answers of a question with more than two, of which an item has those at `places`."""
    if len(asked.texts) not in SET_SIZES:
        return {}
    others = [
        {"place": place + 1, **_option(text)}
        for place, text in enumerate(asked.texts)
        if place not in places
    ]
    return {
        "option_set": {
            "id": key,
            "rule": PAIRED_BY[2],
            "place": {"r1": places[0] + 1, "r2": places[1] + 1},
            "chosen": first + 1,
            "others": others,
        }
    }


def _of_rows(part: SetFile, tally: Tally) -> Iterator[tuple[str, int, _SurveyQuestion]]:
    """The rows of a CSV with a row for each question and country."""
    for line, cells in csv_rows(part, tally):
        row = ImportRow(line, part.name)
        question, *texts, country = (
            text_of(row, cells, name) for name in ("question", "option_1", "option_2", "country")
        )
        shares = _shares(row, cells)
        perspective = row.one_of(cells, "perspective", _PERSPECTIVES)
        language = language_code(cells.get("language") or "english")
        if language is None:
            problem = f"language “{cells.get('language')}” is not known."
            row.fault("language", "unknown language", problem, "Use its English name or its code.")
        tally.faults += row.faults
        if not row.faults and language is not None:
            topic = cells.get("topic", "")
            yield (
                part.name,
                line,
                _SurveyQuestion(question, texts, shares, country, language, perspective, topic),
            )


def _of_workbook(
    part: SetFile, most: int, tally: Tally
) -> Iterator[tuple[str, int, _SurveyQuestion]]:
    """The questions with two to `most` answers, for each country that was asked."""
    table = _rows_of(part, tally)
    if not table:
        return
    labels = {_at(cells, 0): cells for _, cells in table}
    if lacks := [name for name in _ABOUT_QUESTIONS if name not in labels]:
        message = f"the workbook has no row {', '.join(lacks)}."
        raise refused(part.name, message, REMEDY)
    lowest, highest, topics, questions = (labels[name] for name in _ABOUT_QUESTIONS)
    for place, question in enumerate(questions[1:], start=1):
        scale = [_at(cells, place).removesuffix(".0") for cells in (lowest, highest)]
        if not question.strip():
            continue
        if question in questions[1:place]:  # asks for a second and a third choice
            tally.drop("columns that repeat a question")
            continue
        if scale[0] != "1" or scale[1] not in map(str, range(2, most + 1)):
            few = "two" if most == 2 else f"two to {most}"
            tally.drop(f"questions with other than {few} answers")
            continue
        count = int(scale[1])
        asked, texts = _stem(question, count)
        if not texts:
            tally.drop("questions whose answers have no text")
            continue
        for line, cells in table:
            country = _at(cells, 0)
            if not country or country in _NO_COUNTRY or not _at(cells, place):
                continue
            if _at(cells, place).startswith(_NO_DATA):
                tally.drop("questions without data of a country")
                continue
            row = ImportRow(line, part.name)
            shares = _distribution(row, _at(cells, place), count)
            tally.faults += row.faults
            if not row.faults:
                texts_of_country = [text.replace("(country)", country) for text in (asked, *texts)]
                topic = _at(topics, place)
                yield (
                    part.name,
                    line,
                    _SurveyQuestion(
                        texts_of_country[0],
                        texts_of_country[1:],
                        shares,
                        country,
                        "en",
                        None,
                        topic,
                    ),
                )


def _rows_of(part: SetFile, tally: Tally) -> list[tuple[int, list[str]]]:
    """The rows of the sheet with their lines; none if it cannot be read, which is a fault."""
    with part.open() as stream:
        try:
            table = [*filled_rows(stream, part.name, changes=tally.notes)]
        except BadLine as bad:
            tally.faults.append(bad.fault)
            return []
    for _ in table:
        tally.row(part.name)
    return table


def _at(cells: Sequence[str], place: int) -> str:
    return cells[place].strip() if place < len(cells) else ""


def _stem(question: str, count: int) -> tuple[str, list[str]]:
    """The question without its codes, and the texts of `count` answers; [] if one has none."""
    for pattern, lead in ((_BEING, _LEAD), (_NUMBERED, None)):
        matches = pattern.findall(question)
        if [code for code, _ in matches] == _codes(count):
            at = (lead or pattern).search(question)
            asked = question[: at.start() if at else None].strip(" ,:")
            return storable(asked), [storable(text.strip(" ,")) for _, text in matches]
    return "", []


def _codes(count: int) -> list[str]:
    return [str(code) for code in range(1, count + 1)]


def _distribution(row: ImportRow, cell: str, count: int) -> list[float]:
    """The shares of the answers 1 to `count` from a cell such as (1.04, {'1': '96.25%', …})."""
    stated = literal(cell)
    counts = stated[1] if isinstance(stated, list | tuple) and len(stated) == 2 else None
    codes = _codes(count)
    shares = dict.fromkeys(codes, 0.0)
    try:
        for code, share in (counts or {}).items():
            shares[str(code).removesuffix(".0")] = float(str(share).rstrip("%")) / 100
    except (AttributeError, ValueError):
        counts = None
    if not counts or len(shares) > count:
        problem = f"“{cell[:80]}” is no mean with the shares of the answers 1 to {count}."
        row.fault("", "not a distribution", problem, REMEDY)
    return [round(shares[code], 6) for code in codes]


def _shares(row: ImportRow, cells: Mapping[str, str]) -> list[float]:
    """Shares of both options from 0 to 1; read as percentages if one is above 1."""
    shares = []
    for name in ("share_1", "share_2"):
        try:
            share = float(cells.get(name) or "")
        except ValueError:
            share = -1.0
        if not 0 <= share <= 100:
            problem = f"{name} must be a share from 0 to 1, or a percentage."
            row.fault(name, "not a share", problem, "Write a number.")
        shares.append(share)
    return [share / 100 for share in shares] if max(shares) > 1 else shares


def _persona(country: str) -> dict[str, Any]:
    sentence = f"The person lives in {country}."
    features = [fact("residence_country", "Lives in", country, sentence)]
    return {"id": f"mena-{for_id(country)}"[:120], "features": features}


def _option(text: str) -> dict[str, Any]:
    return {"text": text, "generated_by": {"kind": "survey_option", "name": None}}


MENA_VALUES = DataSet(
    name="mena",
    title="MENAValues",
    about="Questions about values, and the majority answers of 16 countries.",
    task="survey_answer",
    files=f"MenaValues Benchmark.xlsx, or a CSV with {', '.join(_COLUMNS)}",
    source={
        "name": "MENAValues",
        "url": "https://github.com/llm-lab-org/MENA-Values-Benchmark-Evaluating-Cultural-"
        "Alignment-and-Multilingual-Bias-in-Large-Language-Models",
        "licence": "see the repository; the surveys (World Values Survey, Arab Opinion Index) have "
        "their own terms",
        "citation": "Zahraei and Asgari 2025, I Am Aligned, But With Whom?",
        "redistribution": "unknown",
    },
    roles=(
        Role("questions", _COLUMNS, "a row for each question and country (CSV)"),
        Role(
            "workbook",
            ("Source", "WVS 7", "The 2022 Arab Opinion Index"),
            "a column for each question (MenaValues Benchmark.xlsx)",
        ),
    ),
    options=(
        Option("perspective", "neutral", "Rows to read.", _PERSPECTIVES),
        Option("countries", ALL, "Countries, named as in the file."),
        Option(
            "tie_margin",
            0.0,
            "Questions whose two largest shares differ by at most this are left out.",
            high=1,
        ),
        Option(
            "most_answers",
            2,
            "Questions of the workbook with at most this many answers. Of three to five, an item "
            "has the most common one and another, which is drawn.",
            low=2,
            high=5,
        ),
    ),
    read=_read,
)
