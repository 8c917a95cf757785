"""Rechecks of a passport in the demo's larger study, as the page on watched judges has them."""

import re
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from demo import many_people
from demo.many_people import AGAIN, DRIFTED, SLUG, SURE

pytest.importorskip("extras.certificates.certifying")
DOCS = Path(__file__).parents[3] / "extras/watching/docs/watching.md"


def in_docs(words: str) -> bool:
    return re.sub(r"\s+", " ", words.strip()) in re.sub(r"\s+", " ", DOCS.read_text("utf-8"))


@pytest.mark.nightly  # With --all: 13 s for a study of 1,500 items, whose commands have tests.
@pytest.mark.django_db
def test_rechecks_say_what_the_documents_say(tmp_path):
    many_people.create()
    passport = tmp_path / "passport.json"
    wish = ("--error", "0.15", "--anchors", "500", "--out", str(passport))
    call_command("certify", SLUG, "--judge", SURE, *wish, stdout=StringIO())
    trusted, lost = StringIO(), StringIO()

    call_command("recheck", str(passport), "--answers-of", AGAIN, stdout=trusted)
    with pytest.raises(SystemExit) as code:
        call_command("recheck", str(passport), "--answers-of", DRIFTED, stdout=lost)

    assert code.value.code == 1
    assert in_docs(trusted.getvalue()), trusted.getvalue()
    assert in_docs(lost.getvalue()), lost.getvalue()
