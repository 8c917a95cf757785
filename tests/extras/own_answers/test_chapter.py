"""Forty simulated people answer for themselves, twice, with planted slips; others predict them."""

import json
import random
from datetime import date, timedelta

import pytest
from django.utils import timezone

from analysis.exports.study_export import export_study
from analysis.report.render import render_html
from annotation.models import Annotator
from annotation.services import withdraw
from extras.own_answers.answers_twice import retests_of
from extras.own_answers.chapter import CHAPTER
from extras.own_answers.linked_studies import LinkRule, link_study
from extras.own_answers.models import RetestAnswer, RetestVisit
from studies.models import Item
from tests.analysis.builders import answer, judge_item, make_rater, make_run
from tests.analysis.partial import computed, report_of
from tests.extras.own_answers.people import make_own_study, make_person
from tests.factories import make_study, stored_at_once

pytestmark = pytest.mark.django_db

PEOPLE, ITEMS, SLIP, KNOWS = 40, 12, 0.12, 0.8
OTHER = {"r1": "r2", "r2": "r1"}


def slipped(rng, meant):
    return OTHER[meant] if rng.random() < SLIP else meant


def ask_again(annotator, choices):
    """A finished second visit with these answers to the items by key."""
    now = timezone.now()
    visit = RetestVisit.objects.create(
        annotator=annotator, due_at=now - timedelta(days=1), finished_at=now
    )
    items = list(Item.objects.filter(study=annotator.study).order_by("key"))
    RetestAnswer.objects.bulk_create(
        RetestAnswer(
            visit=visit, item=item, position=n, shown_first="r1", choice=choice, answered_at=now
        )
        for n, (item, choice) in enumerate(zip(items, choices, strict=True), start=1)
    )


@pytest.fixture(scope="module")
def planted():
    """What each person means, and what they answer the first time and the second."""
    rng = random.Random(20)
    people = []
    for _ in range(PEOPLE):
        meant = [rng.choice(["r1", "r2"]) for _ in range(ITEMS)]
        people.append((meant, *([slipped(rng, each) for each in meant] for _ in range(2))))
    return people


@pytest.fixture(scope="module")
def first(module_db, planted):
    first = make_own_study(items=ITEMS, show_history=0)
    for _, once, twice in planted:
        ask_again(make_person(first, once), twice)
    return first


@pytest.fixture(scope="module")
@stored_at_once()
def linked(first, planted):
    """Three people and a judge predict: the judge knows what is meant four times out of five."""
    study = link_study(first_id=first.pk, slug="linked", rule=LinkRule())
    rng = random.Random(4)
    meant = {
        person.own_profile.persona_key: dict(
            zip([f"q{n:02}" for n in range(ITEMS)], means, strict=True)
        )
        for person, (means, _, _) in zip(first.annotators.order_by("pk"), planted, strict=True)
    }
    run, shaky = make_run(study=study), make_run(study=study, judge="unstable", samples=2)
    raters = [make_rater(study=study) for _ in range(3)]
    # By person: the keys of personas are random, so their order is another one each time.
    places = {persona: n for n, persona in enumerate(meant)}
    items = Item.objects.filter(study=study).select_related("persona")
    for item in sorted(items, key=lambda item: (places[item.persona.key], item.key)):
        key, _, persona = item.key.partition(":")
        means = meant[persona][key]
        judge_item(run, item, means if rng.random() < KNOWS else OTHER[means], 70)
        for sample, choice in ((1, means), (2, means if rng.random() < 0.75 else OTHER[means])):
            judge_item(shaky, item, choice, sample=sample)
        for rater in raters:
            answer(rater, item, means if rng.random() < 0.7 else OTHER[means], 60)
    return study


@pytest.mark.nightly
def test_the_first_study_shows_how_often_its_people_repeat_their_answers(first, planted):
    found = computed(first, "retest")["retest"]

    same = sum(a == b for _, once, twice in planted for a, b in zip(once, twice, strict=True))
    assert found["people"] == PEOPLE
    assert (found["all"]["agreement"]["n"], found["all"]["agreement"]["count"]) == (480, same)
    low, high = found["all"]["ceiling"]["ci"]
    assert low <= 1 - SLIP <= high
    assert high - low < 0.12
    assert found["high"]["agreement"]["n"] + found["low"]["agreement"]["n"] == 480
    assert "share_of_people" not in found
    words = [str(sentence.text) for sentence in CHAPTER.sentences({"retest": found})]
    assert words[0].startswith(
        f"40 people answered again, and chose the same in {same / 480:.1%}"[:-1]
    )
    assert " of 480 answers (95 % CI " in words[0]
    assert words[1].startswith("If slips are independent and as likely either way, nobody can")


def test_one_answer_given_twice_is_no_best_accuracy(db):
    study = make_own_study(items=1, show_history=0)
    ask_again(make_person(study, ["r1"]), ["r1"])

    words = [str(one.text) for one in CHAPTER.sentences(computed(study, "retest"))]

    assert words == [
        "1 person answered again, and chose the same in 1 of 1 answer (no interval: too few items)."
    ]


@pytest.mark.nightly
def test_the_linked_study_gives_accuracy_as_a_share_of_the_ceiling(linked):
    report = report_of(linked)

    found = report["retest"]
    judge, _ = found["share_of_judges"]
    low, high = judge["share"]["ci"]
    # Of what is meant the judge knows 80 %, which is 60 % of the way from chance to the ceiling.
    assert low <= 2 * KNOWS - 1 <= high
    assert judge["accuracy"]["value"] < KNOWS < 2 * judge["share"]["value"]
    assert found["share_of_people"]["share"]["value"] > 0
    page = render_html(report, date=date(2026, 11, 23))
    assert "Own answers given twice" in page
    assert "Share of the ceiling" in page
    # The run that read every item twice stands next to people, the other one does not.
    (unstable,) = found["changed_by_judges"]
    low, high = unstable["ci"]
    assert (unstable["judge"], unstable["items"]) == ("unstable", 480)
    assert low <= 0.25 <= high
    same = found["all"]["agreement"]
    assert found["changed_by_people"]["value"] == pytest.approx(1 - same["value"])
    assert found["changed_by_people"]["ci"] == pytest.approx([1 - e for e in same["ci"][::-1]])
    assert "How often people and judges change their choice" in page


@pytest.mark.nightly
def test_only_the_people_of_the_linked_study_count_there(first):
    some = link_study(first_id=first.pk, slug="some", rule=LinkRule(persons=10))

    data = retests_of(some, None, {})

    assert len(data.people) == 10
    assert data.first.size == 10 * ITEMS
    assert data.is_linked


@pytest.mark.nightly
def test_who_withdraws_leaves_the_ceiling_too(first, linked):
    withdraw(annotator_id=first.annotators.first().pk)

    for study in (first, linked):
        assert computed(study, "retest")["retest"]["people"] == PEOPLE - 1


@pytest.mark.nightly
def test_second_answers_are_exported_under_the_names_of_the_other_tables(first, tmp_path):
    gone, *_ = first.annotators.order_by("pk")
    withdraw(annotator_id=gone.pk)

    for what in ("second-visits", "annotations"):
        export_study(first, what=what, out=tmp_path / f"{what}.jsonl")

    again, once = (
        [json.loads(line) for line in (tmp_path / f"{what}.jsonl").read_text().splitlines()]
        for what in ("second-visits", "annotations")
    )
    assert len(again) == (PEOPLE - 1) * ITEMS
    assert {row["rater_id"] for row in again} == {row["rater_id"] for row in once}
    assert {row["choice"] for row in again} == {"r1", "r2"}


@pytest.mark.parametrize("what", ["annotations", "annotators", "second-visits"])
def test_an_export_with_new_names_has_no_times_of_people(first, tmp_path, what):
    """Two such exports could be matched by them."""
    for renewed in (False, True):
        out = tmp_path / f"{renewed}.jsonl"
        export_study(first, what=what, out=out, fresh_pseudonyms=renewed)

        rows = [json.loads(line) for line in out.read_text().splitlines()]
        times = {name for row in rows for name in row if name.endswith("_at") and row[name]}
        assert rows
        assert bool(times) is not renewed


@pytest.mark.nightly
def test_after_a_withdrawal_no_export_has_the_person(first, linked, tmp_path):
    person = first.annotators.order_by("pk").first()
    key, pseudonym = person.own_profile.persona_key, person.pseudonym
    export_study(linked, what="all", out=tmp_path / "before")
    assert key in _everything(tmp_path / "before")

    withdraw(annotator_id=person.pk)

    for study in (first, linked):
        for what in ("all", "study"):
            out = tmp_path / f"{study.slug}-{what}"
            export_study(study, what=what, out=out)
            assert key not in _everything(out)
            assert pseudonym not in _everything(out)
    assert "I sail." in _everything(tmp_path / "linked-all")  # the others


def _everything(folder):
    files = [path for path in folder.rglob("*") if path.is_file()]
    return "".join(path.read_bytes().decode("utf-8", "replace") for path in files)


def test_excluded_people_and_other_studies_have_none(first):
    first.annotators.update(excluded_at=timezone.now(), exclusion_reason="bots")

    assert retests_of(first, None, {}) is None
    assert retests_of(make_study(), None, {}) is None


def test_only_people_who_completed_the_study_have_any(first):
    kept = retests_of(first, None, {})
    gone = first.annotators.order_by("pk").first()
    first.annotators.filter(pk=gone.pk).update(state=Annotator.State.TIMED_OUT)

    assert set(kept.people) - set(retests_of(first, None, {}).people) == {gone.pseudonym}


def test_with_ties_there_is_an_agreement_but_no_ceiling(first):
    type(first).objects.filter(pk=first.pk).update(allow_tie=True)

    found = computed(first, "retest")["retest"]["all"]

    assert found["agreement"]["value"] is not None
    assert (found["ceiling"]["value"], found["ceiling"]["value_reason"]) == (None, "not_identified")


def test_other_reports_have_no_such_chapter():
    study = make_study()
    from tests.factories import make_item

    answer(make_rater(study=study), make_item(study=study), "r1", 60)
    report = report_of(study)

    assert "retest" not in report
    assert "Own answers given twice" not in render_html(report, date=date(2026, 11, 23))


def test_names_of_people_who_were_asked_twice_change_nothing(module_db):
    study = make_own_study(items=4)
    rng = random.Random(8)
    for _ in range(9):
        once, twice = (rng.choices(["r1", "r2"], k=4) for _ in range(2))
        ask_again(make_person(study, once), twice)
    before = retests_of(study, None, {})

    people = list(study.annotators.order_by("pseudonym"))
    for n, person in enumerate(people):
        Annotator.objects.filter(pk=person.pk).update(pseudonym=f"Z-{len(people) - n:04}")
    after = retests_of(study, None, {})

    assert after.people != before.people
    assert after.digest == before.digest
    assert (after.person == before.person).all()
