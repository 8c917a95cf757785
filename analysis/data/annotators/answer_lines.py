"""Answers as lines of a CSV file that PostgreSQL makes, with the rows and columns of an export."""

from collections.abc import Iterator, Mapping, Sequence

from django.db import connection

from annotation.content.wording import setting_of
from annotation.files.answers_out import INPUTS, TO_THE_MINUTE
from studies.exporters.csv_sql import doubled, quote_of, quoted_cell, text_cell
from studies.models import Study
from studies.prompts import BANDS

_BATCH = 2_000


def answer_lines(
    study: Study, *, columns: Sequence[str], rater: tuple[str, Mapping[str, bytes]]
) -> Iterator[list[str]]:
    """Every answer to the items that count, by item key; withdrawn answers are left out.

    A column without a name is empty. `rater` is the expression that makes the exported name of a
    pseudonym, with its parameters.
    """
    expression, parameters = rater
    cells = ", ',', ".join(_CELLS.get(name, "NULL") for name in columns)
    values: dict[str, int | str | bytes] = {"study": study.pk, "slug": study.slug}
    values |= {"setting": setting_of(study), **parameters}
    with connection.chunked_cursor() as cursor:
        cursor.execute(_STATEMENT.format(rater=expression, line=cells), values)
        while rows := cursor.fetchmany(_BATCH):
            yield [line for (line,) in rows]


def _cases(cases: Mapping[str, str]) -> str:
    return " ".join(f"WHEN {condition} THEN '{value}'" for condition, value in cases.items())


_BAND_CASES = _cases(
    {f"a.certainty <= {band.high}": band.slug for band in sorted(BANDS, key=lambda band: band.high)}
)
_INPUT_CASES = _cases({f"'{control}'": name for control, name in INPUTS.items()})


def _named(part: str, between: str) -> str:
    """The responses of a set by their keys; null where a pair was shown."""
    numbers = (
        f"jsonb_array_elements_text(a.ranking -> '{part}') WITH ORDINALITY AS o (number, place)"
    )
    return f"(SELECT string_agg('r' || number, '{between}' ORDER BY place) FROM {numbers})"  # noqa: S608


_CHANGED = """
    a.revision > 1 AND EXISTS (
        SELECT FROM annotation_annotationrevision r
        WHERE r.annotation_id = a.id AND r.choice <> a.choice
    )
"""
_CELLS = {
    "answer_id": "i.quote, p.name, ':', i.doubled, i.quote",
    "study": text_cell("%(slug)s::text"),
    "item_id": "i.cell",
    "rater_kind": "'human'",
    "rater_id": "p.name",
    "slot": "row_number() OVER (PARTITION BY i.key ORDER BY p.pseudonym)",
    "shown_first": "s.shown_first",
    "choice": "a.choice",
    "choice_side": """CASE WHEN a.choice = 'tie' THEN 'C' WHEN s.shown_first = '' THEN NULL
        WHEN a.choice = s.shown_first THEN 'A' ELSE 'B' END""",
    "certainty": "a.certainty",
    "certainty_band": f"CASE {_BAND_CASES} END",
    "certainty_input": f"CASE a.certainty_control {_INPUT_CASES} END",
    "setting": "%(setting)s::text",
    "persona_features_shown": "i.features",
    "parse_status": "'ok'",
    "started_at": TO_THE_MINUTE % {"expressions": "a.shown_at"},
    "answered_at": TO_THE_MINUTE % {"expressions": "a.answered_at"},
    "active_ms": "a.active_ms",
    "changed_choice": f"({_CHANGED})::text",
    "checks_passed": "(NOT p.failed_attention)::text",
    "excluded": "p.excluded::text",
    "exclude_reason": "p.reason",
    "standing": "a.standing",
    "elapsed_ms": "a.elapsed_ms",
    "revision": "a.revision",
    "media_missing": "a.media_missing::text",
    "wording_sha256": text_cell("a.wording_sha256"),
    "initial_choice": "b.choice",
    "initial_certainty": "b.certainty",
    "initial_media_missing": "b.media_missing::text",
    "ranking": _named("ranking", ">"),
    "options_shown": _named("shown", " "),
}
# What is the same in many lines is made once. Spreadsheet rules apply to texts that people chose;
# everything else is one of a few words or a number.
_STATEMENT = f"""
    WITH people AS MATERIALIZED (
        SELECT id, pseudonym, {{rater}} AS name, failed_attention,
            excluded_at IS NOT NULL AS excluded, {text_cell("exclusion_reason")} AS reason
        FROM annotation_annotator
        WHERE study_id = %(study)s
    ),
    personas AS MATERIALIZED (
        SELECT id, {quoted_cell("features")} AS features
        FROM (
            SELECT id, (
                SELECT coalesce(jsonb_agg(feature -> 'key' ORDER BY place)::text, '[]')
                FROM jsonb_array_elements(features) WITH ORDINALITY AS f (feature, place)
            ) AS features
            FROM studies_persona
            WHERE study_id = %(study)s
            OFFSET 0
        ) AS keys
    ),
    items AS MATERIALIZED (
        SELECT i.id, key, {text_cell("key")} AS cell, {quote_of("key")} AS quote,
            {doubled("key")} AS doubled, personas.features
        FROM studies_item i
        JOIN personas ON personas.id = persona_id
        WHERE study_id = %(study)s AND split = 'main'
    )
    SELECT concat({{line}}, E'\\n')
    FROM annotation_annotation a
    JOIN annotation_assignment s ON s.id = a.assignment_id
    JOIN people p ON p.id = s.annotator_id
    JOIN items i ON i.id = s.item_id
    LEFT JOIN annotation_initialanswer b ON b.assignment_id = s.id
    WHERE a.standing <> 'withdrawn'
    ORDER BY i.key, p.pseudonym
"""  # noqa: S608 - expressions of this module and of studies/exporters
