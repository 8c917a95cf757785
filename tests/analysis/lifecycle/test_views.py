"""Another view of a study: what it keeps, by recount; as of a moment; refused input; its page."""

import json
import random
from contextlib import suppress

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone

from analysis.data.arrays import Answers
from analysis.data.dataset import load_dataset
from analysis.data.verdicts import people_verdicts, run_verdicts
from analysis.data.views import View
from analysis.errors import BadParameters
from analysis.lifecycle.build_job import build_queued
from analysis.lifecycle.requests import read_view, written_view
from analysis.models import Report
from analysis.report.build import build_report
from analysis.report.report_json import without_people
from annotation import services
from annotation.errors import AnnotationError
from annotation.machine_signs import COUNTED as SIGNALS
from annotation.models import Annotator
from annotation.services.faulty_items import put_back, take_out
from judging.models import JudgeRun
from judging.runs.lifecycle import pause_run, resume_run
from studies.models import Item, Study
from studies.services.settings import save_settings
from studies.statements import clock
from tests.analysis.builders import (
    answer,
    assert_verified,
    judge_item,
    make_rater,
    make_run,
    random_study,
)
from tests.annotation.test_histories import happen
from tests.factories import (
    answer_all,
    answer_item,
    make_item,
    make_items,
    make_study,
    sign_in,
    walk_in,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    return random_study(5, n_items=12, n_raters=6)


def accuracy(study: Study, view: View) -> float:
    verdicts = people_verdicts(load_dataset(study.slug, view))
    return float(verdicts.correct[verdicts.scored].mean())


def test_without_people_and_items_it_counts_what_is_left(study):
    """Against a study from whose tables these were removed."""
    data = load_dataset(study.slug)
    people, items = data.raters[:2], [item.key for item in data.items[:4]]
    view = View.of({"without_people": [*people], "without_items": items})

    found = load_dataset(study.slug, view)

    Annotator.objects.filter(pseudonym__in=people).update(
        excluded_at=timezone.now(), exclusion_reason="x"
    )
    Item.objects.filter(study=study, key__in=items).update(split="left_out")
    other = load_dataset(study.slug)
    assert [item.key for item in found.items] == [item.key for item in other.items]
    assert people_verdicts(found).answer.tolist() == people_verdicts(other).answer.tolist()
    for one, two in zip(found.runs, other.runs, strict=True):
        assert one.run == two.run
        assert run_verdicts(found, one).answer.tolist() == run_verdicts(other, two).answer.tolist()
    assert sorted(found.raters) == sorted(other.raters)
    assert len(found.answers) == len(other.answers)


def test_ties_can_go_to_the_more_certain():
    study = make_study()
    item = make_item(study=study, key="a")
    for choice, certainty in (("r1", 60), ("r2", 90)):
        answer(make_rater(study=study), item, choice, certainty=certainty)

    found = [
        people_verdicts(load_dataset(study.slug, View.of({"ties": ties}))).answer.tolist()
        for ties in ("exclude", "certainty")
    ]

    assert found == [[-1], [1]]


def test_as_of_a_moment_it_has_what_counted_then():
    study = make_study(items_per_annotator=4, annotations_per_item=3)
    make_items(study, 4)
    first, second, late = walk_in(study), walk_in(study), walk_in(study)
    answer_all(first)
    services.complete(annotator_id=first.pk)
    answer_all(second)
    services.complete(annotator_id=second.pk)
    services.exclude(annotator_id=second.pk, reason="Too fast.")
    taken = Item.objects.filter(study=study).order_by("key")
    take_out(study_id=study.pk, key=taken[0].key, reason="Equal responses.")
    half = late.assignments.exclude(item__split="left_out").order_by("position")
    answer_item(half[0], certainty=60)
    before, then = load_dataset(study.slug), clock.now()

    services.include(annotator_id=second.pk)
    put_back(study_id=study.pk, key=taken[0].key)
    take_out(study_id=study.pk, key=taken[1].key, reason="Also equal.")
    answer_item(half[0], choice="r2", certainty=90)
    services.time_out(annotator_id=late.pk)
    make_items(study, 1)
    found = load_dataset(study.slug, View.of({"as_of": then.isoformat()}))

    assert [item.key for item in found.items] == [item.key for item in before.items]
    for name in ("item", "rater", "choice", "certainty"):
        ours, theirs = getattr(found.answers, name), getattr(before.answers, name)
        assert ours.tolist() == theirs.tolist()
    assert found.raters == before.raters
    assert found.set_aside_raters == before.set_aside_raters
    now = load_dataset(study.slug)
    assert [item.key for item in now.items] != [item.key for item in before.items]


def test_as_of_a_moment_runs_signs_and_settings_are_those_of_then():
    study = make_study(items_per_annotator=12, annotations_per_item=3)
    items = make_items(study, 12)
    rater = make_rater(study=study)
    answer(rater, items[0], "r1")
    run = make_run(study=study, state="queued", sentence="")
    judge_item(run, items[0], "r1", 80)
    moments = [clock.now()]
    pause_run(run_id=run.pk)
    moments.append(clock.now())
    resume_run(run_id=run.pk)
    run.started_at = clock.now()
    run.save(update_fields=["started_at"])
    moments.append(clock.now())
    for item in items[1:]:
        answer(rater, item, "r1", signals=dict.fromkeys(SIGNALS, 0) | {"driven": 1})
    study.certainty_threshold = 60
    save_settings(study, changed=["certainty_threshold"])
    JudgeRun.objects.update(
        state="done", sentence="Every item has an answer.", ended_at=clock.now()
    )

    then = [load_dataset(study.slug, View.of({"as_of": at.isoformat()})) for at in moments]
    now = load_dataset(study.slug)

    assert [each.runs[0].state for each in then] == ["queued", "paused", "running"]
    assert [each.flagged for each in (then[-1], now)] == [(), (True,)]
    assert [each.study.certainty_threshold for each in (then[-1], now)] == [80, 60]


# Of everybody who ever came, for pooling.
_NOT_THEN = {"identities", "departures", "recruiting"}
_EVENTS = (
    *("arrive", "answer", "answer_all", "complete", "mark_returned", "time_out", "resume"),
    *("exclude", "exclude_and_reopen", "include", "skip", "revise", "raise", "item"),
)


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.nightly) for n in range(1, 6))]
)
def test_as_of_any_moment_of_a_history_it_is_the_report_of_that_moment(seed):
    """Value by value, whoever took, lost and retook seats before and after it."""
    rng = random.Random(seed)
    study = make_study(items_per_annotator=3, annotations_per_item=2)
    make_items(study, 6)
    make_item(study=study, key="check", split="attention_check", check_answer="r1")
    for _ in range(4):
        answer_all(walk_in(study))
    then = {}
    for n in range(24):
        event = rng.choice(_EVENTS)
        with suppress(AnnotationError):
            if event == "item":
                key = rng.choice(Item.everything.filter(study=study).values_list("key"))[0]
                if rng.random() < 0.5:
                    put_back(study_id=study.pk, key=key)
                else:
                    take_out(study_id=study.pk, key=key, reason=f"Reason {n}.")
            else:
                happen(study, event, "woman" if event == "arrive" else rng.randrange(9))
        if n % 8 == 5:
            then[clock.now()] = load_dataset(study.slug)

    for moment, before in then.items():
        found = load_dataset(study.slug, View.of({"as_of": moment.isoformat()}))
        for name, value in vars(before).items():
            if name in _NOT_THEN:
                continue
            ours = getattr(found, name)
            if isinstance(value, Answers):
                for column, numbers in vars(value).items():
                    np.testing.assert_array_equal(getattr(ours, column), numbers, err_msg=column)
            else:
                assert ours == value, name


@pytest.mark.nightly
def test_a_report_of_a_view_is_explored_and_says_what_changes(study, tmp_path):
    item = load_dataset(study.slug).items[0].key
    path = tmp_path / "view.json"
    path.write_text(json.dumps({"name": "Reviewer 2", "without_items": [item], "threshold": 70}))

    call_command("report", study.slug, out=tmp_path / "r", bootstrap=100, view=str(path))

    found = json.loads((tmp_path / "r" / "report.json").read_text())
    assert found["view"]["filters"]["without_items"] == [item]
    rows = {row["what"]: row for row in found["view"]["what_changes"]}
    assert (rows["Items"]["registered"], rows["Items"]["view"]) == ("12", "11")
    assert rows["High-certainty threshold"]["view"] == "70"
    assert {entry["mark"] for entry in found["registration"]["analyses"]} == {"explored"}
    assert "Not the study’s own report" in (tmp_path / "r" / "report.html").read_text()
    assert_verified(tmp_path / "r")


@pytest.mark.nightly
def test_a_file_names_runs_as_reports_do_and_nothing_that_the_study_lacks(study, tmp_path):
    path, out = tmp_path / "view.json", tmp_path / "r"
    name = "steady (standard, no persona)"

    def build(content: object) -> dict:
        path.write_text(json.dumps(content))
        call_command("report", study.slug, out=out, bootstrap=100, view=str(path))
        return json.loads((out / "report.json").read_text())

    found = build({"without_runs": [name]})
    [key] = found["view"]["filters"]["without_runs"]
    assert name in found["view"]["changes"][0]
    assert key == study.judge_runs.get(setting="standard").key
    assert written_view(study, View.of(found["view"]["filters"])) == {"without_runs": [name]}
    for other, n in ((key, 1), (study.judge_runs.first().public_id, 1), ("steady", 2)):
        assert len(read_view(study, {"without_runs": [other]}).without_runs) == n
    for content, words in (
        ({"without_items": ["nope"]}, "no item “nope”"),
        ({"topics": ["nope"]}, "no topic “nope”"),
        ({"without_people": ["nope"]}, "no annotator “nope”"),
        ({"without_runs": ["nope"]}, "no run “nope”. Use one of: both ways, steady .certainty"),
    ):
        with pytest.raises(CommandError, match=words) as refused:
            build(content)
        assert refused.value.returncode == 2


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"tie": "half"}, "has no “tie”"),
        ({"ties": "half"}, "Use one of"),
        ({"threshold": 0}, "from 1 to 100"),
        ({"threshold": True}, "from 1 to 100"),
        ({"without_items": "a"}, "a list of texts"),
        ({"people": ["a"]}, "an object with texts"),
        ({"as_of": "yesterday"}, "is not a moment"),
        ({"as_of": "2999-01-01"}, "in the future"),
        (["a"], "is an object"),
    ],
)
def test_what_is_no_view_is_refused(content, words):
    with pytest.raises(BadParameters, match=words):
        View.of(content)


@pytest.mark.nightly
def test_the_page_builds_a_view_and_its_address_fills_the_form(study):
    client = sign_in(study)
    address = reverse("analysis:view", args=[study.slug])
    name = load_dataset(study.slug).raters[0]
    item = load_dataset(study.slug).items[0].key

    refused = client.post(address, {"without_people": "nobody\r\n"})
    assert refused.status_code == 422
    assert "has no annotator “nobody”" in refused.content.decode()
    wrong = client.post(address, {"without_items": "nothing"})
    assert "has no item “nothing”" in wrong.content.decode()
    sent = {"name": "One <less>", "without_people": name, "without_items": item}
    for _ in range(2):
        assert client.post(address, sent).status_code == 302
    right = Report.objects.get()
    right.bootstrap = 100
    right.save()
    assert build_queued(report_id=right.pk).state == "done"
    page = client.get(reverse("analysis:report", args=[study.slug, right.public_id]))
    shown = page.content.decode()
    assert "One &lt;less&gt;" in shown
    assert "without 1 of the people who count" in shown
    filled = client.get(address, sent).content.decode()
    assert f">\n{item}</textarea>" in filled
    assert client.get(address, {**sent, "file": "1"}).json()["without_people"] == [name]
    right.refresh_from_db()
    assert without_people(right.result)["view"]["filters"]["without_people"] == []
    assert client.post(address, {}).status_code == 422
    assert client.get(address, {"as_of": "<x>"}).status_code == 422
    assert not Report.own.exists()


def test_what_a_part_of_the_answers_costs_is_not_known(study):
    def money(view: View) -> list[object]:
        report = build_report(load_dataset(study.slug, view), seed=1, bootstrap=20)
        pay, judges = report["human"]["pay"], report["judges"]
        return [pay["per_correct"], *(judge["cost"]["usd_per_correct"] for judge in judges)]

    assert all(money(View()))
    assert not any(money(View(topics=("food",))))
