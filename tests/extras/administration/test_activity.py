"""The audit log of a study: its filters, and the file."""

import csv
import io

import pytest
from django.contrib.auth.models import User

from studies.services.studies import record
from tests.factories import make_study, sign_in

pytestmark = pytest.mark.django_db
LOG = "/studies/s/activity/"


@pytest.fixture
def study():
    study = make_study(slug="s")
    user = User.objects.create_user("<b>ada</b>")
    record(study, "settings changed", user=user, fields=["<i>title</i>"])
    record(study, "imported", created=3)
    return study


def test_everything_is_shown_escaped_newest_first(study):
    page = sign_in(study, "viewer").get(LOG).content.decode()

    assert page.index("Imported") < page.index("Settings changed")
    assert "&lt;b&gt;ada" in page
    assert "<b>ada" not in page
    assert "<i>title" not in page


def test_details_are_shown_in_words_whatever_their_names(study):
    read = [{"rows": {"a.csv": 3}, "left_out": {}, "limit": None, "first": True}]
    record(study, "items drawn", items=12, keys="k", values=[1, 2], read=read, total=774)

    page = sign_in(study, "viewer").get(LOG).content.decode()

    for words in (
        "items: 12",
        "keys: k",
        "values: 1, 2",
        "read: rows a.csv 3, first yes",
        "total: $7.74",
    ):
        assert words in page


@pytest.mark.parametrize(
    ("query", "events"),
    [
        ("event=imported", ["imported"]),
        ("user=%3Cb%3Eada%3C/b%3E", ["settings changed"]),
        ("since=2999-01-01", []),
        ("until=2000-01-01", []),
        ("since=2000-01-01&until=2999-01-01", ["imported", "settings changed"]),
        ("since=2000-13-45", ["imported", "settings changed"]),
    ],
)
def test_filters(study, query, events):
    page = sign_in(study, "viewer").get(f"{LOG}?{query}")

    assert [entry.event for entry, _ in page.context["entries"]] == events


def test_the_file_has_what_the_filters_leave(study):
    response = sign_in(study, "viewer").get(f"{LOG}?format=csv&event=settings+changed")

    header, row = csv.reader(io.StringIO(response.content.decode("utf-8-sig")))
    assert header == ["time", "user", "event", "detail"]
    assert row[1:] == ["<b>ada</b>", "settings changed", '{"fields": ["<i>title</i>"]}']


def test_a_deleted_account_keeps_its_name(study):
    User.objects.get(username="<b>ada</b>").delete()
    viewer = sign_in(study, "viewer")

    assert "&lt;b&gt;ada&lt;/b&gt; (deleted account)" in viewer.get(LOG).content.decode()
    assert "<b>ada</b> (deleted account)" in viewer.get(LOG + "?format=csv").content.decode()
