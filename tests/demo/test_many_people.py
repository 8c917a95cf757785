"""The demo's larger study: its judge is certified, labels, is rechecked, as the documents say."""

import re
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from demo import many_people
from demo.many_people import AGAIN, DRIFTED, SLUG, SURE, item_rows, judgment_rows
from studies.models import Item, Study

pytestmark = [pytest.mark.slow, pytest.mark.django_db]
DOCS = Path(__file__).parents[2] / "docs/certificates.md"


def in_docs(words: str) -> bool:
    return re.sub(r"\s+", " ", words.strip()) in re.sub(r"\s+", " ", DOCS.read_text("utf-8"))


def run(name, *arguments, **options) -> str:
    out = StringIO()
    call_command(name, *map(str, arguments), stdout=out, **options)
    return out.getvalue()


def test_no_two_items_share_a_person_or_a_question():
    rows = list(item_rows())

    assert len(rows) == 1_500
    assert len({row["question"] for row in rows}) == len({row["persona"]["id"] for row in rows})
    assert len({row["question"] for row in rows}) == 1_500


def test_the_drifted_judge_answers_every_fifth_item_the_other_way_round():
    keys = [row["id"] for row in item_rows()]

    sure, again, drifted = (
        [row["choice"] for row in judgment_rows(judge, keys)] for judge in (SURE, AGAIN, DRIFTED)
    )

    assert sure == again
    changed = sum(one != two for one, two in zip(sure, drifted, strict=True))
    assert changed / 1_500 == pytest.approx(0.2, abs=0.03)


def test_every_command_says_what_the_documents_say(tmp_path):
    many_people.create()
    passport, labels = tmp_path / "passport.json", tmp_path / "labels.csv"
    certify = ("certify", SLUG, "--judge", SURE, "--out", passport)

    with pytest.raises(CommandError) as refused:
        run(*certify, "--error", "0.1")
    assert "About 13,071 labelled items" in str(refused.value)
    certified = run(*certify, "--error", "0.15", "--anchors", "500")
    with_passport = (SLUG, "--judge", SURE, "--passport", passport)
    labelled = run("label", *with_passport, "--out", labels)
    routed = run("route", *with_passport, "--to", "many-people-rest")
    trusted = run("recheck", passport, "--answers-of", AGAIN)
    with pytest.raises(SystemExit) as code:
        run("recheck", passport, "--answers-of", DRIFTED)

    assert code.value.code == 1
    assert in_docs(certified.partition(" Wrote ")[0])
    assert in_docs(labelled.partition(" With 90 %")[0])
    assert in_docs(routed)
    assert in_docs(trusted)
    assert labels.read_text("utf-8").count(",labelled,") == 564
    assert Item.objects.filter(study__slug="many-people-rest").count() == 936
    assert many_people.create().pk == Study.objects.get(slug=SLUG).pk
