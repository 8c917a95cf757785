"""A model that changes during a run: noticed at once, counted over time, shown everywhere."""

import json
import re
import threading
from collections import Counter
from datetime import UTC, datetime
from io import StringIO

import pytest
from django.core.management import call_command
from django.urls import reverse

from analysis.data.dataset import load_dataset
from analysis.exports.catalogue import Disclosure, make_table
from analysis.report.sections.methods import run_facts
from analysis.report.sections.record.section import _record
from judging.models import Judgment
from judging.runs.request_conditions import Reported, conditions_of
from judging.version_watch import VersionWatch
from tests.factories import make_items, make_study, sign_in
from tests.judging.conftest import make_judge
from tests.judging.llm_server import Answer, completion
from tests.judging.run_helpers import judge_all, start


def named(model, fingerprint, letter="A"):
    body = json.loads(completion(f"[[{letter}]]").body)
    body |= {"model": model, "system_fingerprint": fingerprint}
    return Answer(body=json.dumps(body).encode())


@pytest.fixture
def slow(llm, engine):
    """A judge that is asked one question at a time."""
    return make_judge(name="slow", base_url=llm.url, concurrency=1)


def study_of(count):
    study = make_study()
    make_items(study, count)
    return study


def answer(run, places, model, fingerprint, minute):
    """Store answers of one version at some places of a run."""
    ids = list(run.judgments.order_by("pk").values_list("pk", flat=True))
    Judgment.objects.filter(pk__in=[ids[place] for place in places]).update(
        state="done",
        choice="r1",
        model_snapshot=model,
        fingerprint=fingerprint,
        answered_at=datetime(2026, 5, 4, 12, minute, tzinfo=UTC),
    )


def test_each_new_version_is_noticed_once_and_the_first_is_none(db):
    run = start(study_of(6), make_judge(base_url="http://127.0.0.1:9/v1"))
    watch = VersionWatch(run.pk)
    assert watch.look() == []
    answer(run, [0, 1], "m-1", "fp_1", 0)
    assert watch.look() == watch.look() == []

    answer(run, [2], "m-1", "fp_2", 1)
    assert watch.look() == [
        "The model changed during this run. Since 12:01:00 UTC the server names “m-1” with the "
        "fingerprint “fp_2”; before, it named “m-1” with the fingerprint “fp_1”."
    ]
    answer(run, [3], "m-1", "fp_1", 2)  # another machine of the provider answers again
    assert watch.look() == []
    answer(run, [4], "m-2", "", 3)
    (sentence,) = watch.look()
    assert "names “m-2”; before, it named “m-1” with the fingerprint “fp_2”" in sentence


def test_a_server_that_names_nothing_is_no_version(db):
    run = start(study_of(2), make_judge(base_url="http://127.0.0.1:9/v1"))
    answer(run, [0, 1], "", "", 0)

    assert VersionWatch(run.pk).look() == []


def test_the_command_warns_while_the_run_goes_on(slow, llm):
    """The last request is not answered before the warning about an earlier one is out."""
    study = study_of(6)
    warned = threading.Event()

    class Errors(StringIO):
        def write(self, text):
            if "The model changed during this run" in text:
                warned.set()
            return super().write(text)

    def reply(body, number):
        if number == 6:
            warned.wait(30)
        return named("m", "fp_2" if number > 3 else "fp_1")

    llm.answer = reply
    out, errors = StringIO(), Errors()

    call_command("judge", study.slug, judge="slow", inline=True, stdout=out, stderr=errors)

    assert len(llm.requests) == 6
    assert warned.is_set()
    assert errors.getvalue().count("changed during this run") == 1
    assert "names “m” with the fingerprint “fp_2”" in errors.getvalue()


def test_versions_have_counts_and_times(db):
    run = start(study_of(5), make_judge(base_url="http://127.0.0.1:9/v1"))
    answer(run, [0, 2], "m", "fp_1", 1)
    answer(run, [1], "m", "fp_1", 9)
    answer(run, [3], "m", "fp_2", 4)

    def at(minute):
        return datetime(2026, 5, 4, 12, minute, tzinfo=UTC)

    assert conditions_of([run])[run.pk].reported == (
        Reported(3, "m", "fp_1", at(1), at(9)),
        Reported(1, "m", "fp_2", at(4), at(4)),
    )


@pytest.fixture
def drifted(slow, llm):
    """A run in which the version changed with its last question."""
    study = study_of(4)
    llm.answer = lambda body, n: named("m", "fp_1") if n <= 3 else named("m", "fp_2", "B")
    return judge_all(study, slow)


def test_the_page_of_a_run_shows_versions(drifted):
    client = sign_in(drifted.study)

    page = client.get(reverse("judging:run", args=[drifted.study.slug, drifted.public_id]))

    text = " ".join(re.sub(r"<[^>]+>", " ", page.content.decode()).split())
    assert "▲ The server named 2 versions of the model by its fingerprint: fp_1 (3 answers)" in text
    versions = text.partition("Versions of the model")[2]
    assert versions.index("m fp_1 3") < versions.index("m fp_2 1")


def test_a_report_names_versions(drifted):
    (run,) = load_dataset(drifted.study.slug).runs
    record = _record(run)

    assert [version["fingerprint"] for version in record["reported"]] == ["fp_1", "fp_2"]
    assert all(version["first"].endswith("UTC") for version in record["reported"])
    judge = {"record": record, "setting": "", "features": "", "judgments": {}, "replies": {}}
    facts = {name: text for name, text, _ in run_facts({"judges": [judge]}, 0)}
    assert facts["Answers of m, fingerprint fp_1"] == "3"


def test_a_run_with_one_version_has_no_times(judge, llm):
    study = study_of(2)
    judge_all(study, judge)
    (run,) = load_dataset(study.slug).runs

    assert run.reported == ({"judgments": 2, "model": "mock-2024-05-13", "fingerprint": "fp_1"},)


def test_exports_have_versions_by_the_hour_and_every_repeated_answer(drifted):
    def rows(what):
        return list(make_table(drifted.study, what, Disclosure()).rows())

    counts = Counter[str]()
    for row in rows("versions"):
        counts[row["fingerprint"]] += row["judgments"]
        assert row["hour"].endswith(":00Z")
    assert counts == {"fp_1": 3, "fp_2": 1}
    first = drifted.judgments.earliest("pk")
    again = {"run": drifted, "item": first.item, "shown_first": first.shown_first}
    Judgment.everything.create(**again, anchor="again", state="done", choice="r2", replies=1)
    [repeated] = rows("anchors")
    assert (repeated["anchor"], repeated["round"], repeated["choice"]) == ("again", 1, "r2")
    assert Counter(row["fingerprint"] for row in rows("judgments")) == counts
