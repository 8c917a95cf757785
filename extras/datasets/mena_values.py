"""MENAValues (Zahraei and Asgari 2025): the most common answer of a country to a question."""

from collections.abc import Iterator, Mapping
from typing import Any

from extras.datasets.pairs import is_usable, language_code, text_of
from studies.importers.files.faults import ImportRow
from studies.importers.sets.data_set import (
    ALL,
    DataSet,
    Files,
    Option,
    Raw,
    Role,
    Sides,
    Tally,
    chosen,
    csv_rows,
    fact,
    for_id,
    item,
)
from studies.texts.normalisation import digest

_PERSPECTIVES = ("neutral", "persona", "observer")
_COLUMNS = ("question", "option_1", "option_2", "share_1", "share_2", "country")


def _read(files: Files, options: Mapping[str, Any], seed: int, tally: Tally) -> Iterator[Raw]:
    part = files.need("questions")
    sides = Sides(seed, "mena")
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
        if row.faults:
            continue
        difference = round(shares[0] - shares[1], 6)
        if perspective and perspective != options["perspective"]:
            tally.drop("rows of another perspective")
        elif not chosen(options["countries"], country):
            tally.drop("rows of another country")
        elif abs(difference) <= options["tie_margin"]:
            tally.ties += 1
            tally.drop("questions that divide a country")
        elif is_usable(question, "", texts, tally):
            first = difference < 0
            key = f"mena-{digest([question, texts, country, language])[:16]}"
            yield (
                part.name,
                line,
                item(
                    key=key,
                    task="survey_answer",
                    persona=_persona(country),
                    own=_option(texts[first]),
                    other=_option(texts[not first]),
                    own_is_first=sides.own_is_first(key),
                    margin=abs(difference),
                    source="derived",
                    question=question,
                    group=f"mena-{digest(question)[:16]}",
                    topic=cells.get("topic", "")[:120] or None,
                    metadata={"shares": shares, "perspective": perspective},
                )
                | {"language": language},
            )


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
    files=f"a CSV of the workbook's questions with two options: {', '.join(_COLUMNS)}",
    source={
        "name": "MENAValues",
        "url": "https://github.com/llm-lab-org/MENA-Values-Benchmark-Evaluating-Cultural-"
        "Alignment-and-Multilingual-Bias-in-Large-Language-Models",
        "licence": "see the repository; the surveys (World Values Survey, Arab Opinion Index) have "
        "their own terms",
        "citation": "Zahraei and Asgari 2025, I Am Aligned, But With Whom?",
        "redistribution": "unknown",
    },
    roles=(Role("questions", _COLUMNS, "a row for each question and country (CSV)"),),
    options=(
        Option("perspective", "neutral", "Rows to read.", _PERSPECTIVES),
        Option("countries", ALL, "Countries, named as in the file."),
        Option(
            "tie_margin", 0.0, "Questions whose shares differ by at most this are left out.", high=1
        ),
    ),
    read=_read,
)
