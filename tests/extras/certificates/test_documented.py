"""The commands on the demo's larger study and the examples of methods, as the page has them."""

import doctest
import re
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from demo import many_people
from demo.many_people import SLUG, SURE
from studies.models import Item, Study

DOCS = Path(__file__).parents[3] / "extras/certificates/docs/certificates.md"


def in_docs(words: str) -> bool:
    return re.sub(r"\s+", " ", words.strip()) in re.sub(r"\s+", " ", DOCS.read_text("utf-8"))


def run(name, *arguments, **options) -> str:
    out = StringIO()
    call_command(name, *map(str, arguments), stdout=out, **options)
    return out.getvalue()


def test_every_example_of_the_methods_gives_what_it_shows():
    result = doctest.testfile(str(DOCS), module_relative=False)

    assert result.attempted > 5
    assert result.failed == 0


@pytest.mark.nightly  # With --all: 13 s for a study of 1,500 items, whose commands have tests.
@pytest.mark.django_db
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
    routed = run("label", *with_passport, "--new", "many-people-rest")

    assert in_docs(certified.partition(" Wrote ")[0])
    assert in_docs(labelled.partition(" With 90 %")[0])
    assert in_docs(routed)
    assert labels.read_text("utf-8").count(",labelled,") == 564
    assert Item.objects.filter(study__slug="many-people-rest").count() == 936
    assert many_people.create().pk == Study.objects.get(slug=SLUG).pk
