"""CSV files of answers that PostgreSQL makes are, byte for byte, those that Python makes."""

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analysis.exports.rows import exported_id, exported_id_sql
from annotation import services
from annotation.models import Annotation, AnnotationRevision, Annotator, Assignment
from studies.exporters.tables import CsvWriter, quoted_cell, spreadsheet_text, text_cell
from studies.models import Item, Persona
from tests.analysis.builders import random_study
from tests.analysis.exports.helpers import export
from tests.studies.hostile import HOSTILE

pytestmark = [pytest.mark.postgres, pytest.mark.django_db]
# PostgreSQL has no texts with the character 0.
TEXTS = [text for text in HOSTILE if "\0" not in text]


@pytest.fixture
def hostile(db):
    """Hostile texts wherever somebody chooses one, and everything that an answer can be."""
    study = random_study(5, n_items=2 * len(TEXTS), allow_tie=True)
    for item, text in zip(Item.objects.filter(study=study), TEXTS, strict=False):
        item.key = text or "-1"
        item.save(update_fields=["key"])
    for number, persona in enumerate(Persona.objects.filter(study=study)):
        keys = [*TEXTS[number::5], '"', "ключ\x01\x1f\x7f\\"] if number else []
        persona.features = [{"key": key, "label": "", "value": "", "text": ""} for key in keys]
        persona.save(update_fields=["features"])
    for person, text in zip(Annotator.objects.filter(study=study), TEXTS[::5], strict=False):
        services.exclude(annotator_id=person.pk, reason=text or "too fast")
        Annotator.objects.filter(pk=person.pk).update(failed_attention=person.pk % 2 == 0)
    answers = list(Annotation.objects.filter(assignment__annotator__study=study))
    controls = ["slider", "number", "levels", ""]
    for number, answer in enumerate(answers):
        if answer.certainty is not None:
            answer.certainty = 1 + number % 100
            answer.certainty_control = controls[number % 4]
        answer.wording_sha256 = TEXTS[number % len(TEXTS)]
        answer.standing = Annotation.Standing.values[number % 5]
        if number % 5 == 0:
            answer.ranking = {"shown": [2, 3, 1], "ranking": [3, 1, 2]}
        answer.elapsed_ms, answer.active_ms = [(None, 7), (2**40, None)][number % 2]
        if answer.standing == "imported":
            answer.shown_at = answer.answered_at = None
        if number % 3:
            answer.revision = 2
            earlier = ["r1", "r2", "tie"][number % 3]
            AnnotationRevision.objects.create(
                annotation=answer, number=7, choice=earlier, answered_at=answer.created_at
            )
        answer.save()
    Assignment.objects.filter(annotation__in=answers[::7]).update(
        shown_first="", is_surplus=True, state="answered"
    )
    return study


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("options", [{}, {"free_text": True}, {"fresh_pseudonyms": True}], ids=str)
def test_both_write_the_same_bytes(hostile, tmp_path, monkeypatch, options):
    by_postgres = export(hostile, "annotations", tmp_path / "a.csv", format="csv", **options)
    if "fresh_pseudonyms" in options:  # the names are renewed by each export
        monkeypatch.setattr("analysis.exports.study_export.renew_export_key", lambda **_: None)
    monkeypatch.setattr("analysis.exports.catalogue.annotation_lines", lambda *_, **__: None)
    by_python = export(hostile, "annotations", tmp_path / "b.csv", format="csv", **options)

    assert by_postgres.read_bytes() == by_python.read_bytes()
    assert len(by_python.read_bytes().splitlines()) > 100


def test_python_makes_no_row(hostile, tmp_path, monkeypatch):
    monkeypatch.setattr("analysis.exports.catalogue.annotation_table", lambda *_, **__: 1 / 0)

    export(hostile, "annotations", tmp_path / "a.csv", format="csv")


def in_postgres(expression: str, **parameters: object) -> str:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {expression}", parameters)
        return cursor.fetchone()[0]


class Lines(list):
    write = list.append


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.one_of(
        st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
        st.text("'=-@+＋﹫ \t\r\n\x0b\x85\xa0\u2003\u2028\ufeff\u200b,\"a1", max_size=6),
        st.sampled_from(TEXTS),
    )
)
def test_a_cell_of_postgres_is_the_cell_of_python(db, text):
    def cell(value: str) -> str:
        CsvWriter(lines := Lines()).columns([[value, "-"], ["", ""]])
        return "".join(lines).removesuffix(",\n-,\n")

    assert in_postgres(quoted_cell("%(text)s::text"), text=text) == cell(text)
    assert in_postgres(text_cell("%(text)s::text"), text=text) == cell(spreadsheet_text(text))


@pytest.mark.parametrize("key", ["k", "k" * 64, "k" * 65, "ключ"])
def test_names_of_annotators_are_the_same(db, key):
    expression, keys = exported_id_sql(key, "%(person)s::text")

    assert in_postgres(expression, person="P-ü1", **keys) == exported_id(key, "P-ü1")
