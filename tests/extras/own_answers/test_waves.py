"""Waves: the same people again, named alike, invited from here, and compared with themselves."""

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from analysis.data.answer_rows import removed_own_answers
from analysis.data.dataset import load_dataset
from analysis.exports.rows import exported_id
from analysis.report.build import build_report
from analysis.stats.core.shared_variance import Sharing
from annotation import services
from annotation.errors import EntryRefused
from annotation.models import Annotator, Invitation
from extras.own_answers.models import LaterWave, WavePerson
from extras.own_answers.wave_answers import WaveAnswers
from extras.own_answers.wave_chapter import CHAPTER
from extras.own_answers.wave_statistics import mean_change, return_difference, return_table
from extras.own_answers.waves import invite_people, next_wave
from studies.errors import StudyError
from studies.models import Item, Study
from studies.services.whole_studies import delete_study
from tests.analysis.partial import report_of
from tests.annotation.prolific.conftest import prolific  # noqa: F401  a fixture
from tests.factories import answer_all, make_items, make_study, sign_in, walk_in

pytestmark = pytest.mark.django_db


def opened(study: Study) -> Study:
    Study.objects.filter(pk=study.pk).update(state=Study.State.OPEN)
    study.refresh_from_db()
    return study


@pytest.fixture(scope="module")
def waves(module_db: None) -> tuple[int, int]:
    """Twelve people of a list answered two of six items each; one withdrew, one is at work."""
    study = make_study(slug="one", entry="list", items_per_annotator=2, annotations_per_item=9)
    make_items(study, 6)
    study.demographic_questions.create(
        key="sex",
        label="Sex",
        options=[{"value": "f", "label": "Woman"}, {"value": "m", "label": "Man"}],
    )
    for n in range(14):
        Invitation.objects.create(study=study, key=f"id{n}")
        annotator = walk_in(study, f"id{n}", sex="f" if n % 2 else "m")
        if n == 13:
            continue
        answer_all(annotator, choice="r1", certainty=50 + n)
        services.complete(annotator_id=annotator.pk)
        if n == 12:
            services.withdraw(annotator_id=annotator.pk)
    later = next_wave(study_id=study.pk, slug="two")
    invite_people(wave_id=later.wave.pk)
    return study.pk, opened(later).pk


@pytest.fixture
def first(waves) -> Study:
    return Study.objects.get(pk=waves[0])


@pytest.fixture
def second(waves) -> Study:
    return Study.objects.get(pk=waves[1])


def come_back(study: Study, numbers, *, certainty: int = 80) -> None:
    for n in numbers:
        annotator = walk_in(study, f"id{n}", sex="f" if n % 2 else "m")
        answer_all(annotator, choice="r1", certainty=certainty)
        services.complete(annotator_id=annotator.pk)


@pytest.mark.nightly
def test_only_those_who_completed_come_and_each_gets_the_items_that_they_answered(first, second):
    come_back(second, range(8))

    assert WavePerson.objects.count() == 12
    with pytest.raises(EntryRefused):
        services.enter(study=second, pid="id12", session_id="s")
    for again in Annotator.objects.filter(study=second):
        before = Annotator.objects.get(study=first, pseudonym=again.pseudonym)
        assert again.identity_hash == before.identity_hash
        keys = [
            sorted(each.assignments.values_list("item__key", flat=True)) for each in (before, again)
        ]
        assert keys[0] == keys[1]
        assert not again.assignments.filter(is_surplus=True).exists()
    names = {exported_id(each.export_key, "P-A") for each in (first, second)}
    assert len(names) == 1


def test_a_repeat_invites_those_who_completed_since_and_leaves_out_the_deleted(first, second):
    delete = pytest.importorskip("extras.privacy.personal_data").delete
    late = Annotator.objects.get(study=first, state="annotating")
    answer_all(late)
    services.complete(annotator_id=late.pk)
    gone = Annotator.objects.filter(study=first, state="completed").first()
    delete(annotator_id=gone.pk, user=User.objects.create_user("ada"))

    found = invite_people(wave_id=second.wave.pk)

    assert (found.added, found.known) == (1, 11)
    # Nor are they on its list any more.
    assert Invitation.objects.filter(study=second).count() == 12
    assert not WavePerson.objects.filter(annotator=gone).exists()
    # Reports of the later wave compared answers of the person.
    assert removed_own_answers(second) > 0


def test_who_withdraws_from_the_first_wave_is_no_longer_invited_to_the_second(first, second):
    gone = Annotator.objects.filter(study=first, state="completed").first()

    services.withdraw(annotator_id=gone.pk)

    assert Invitation.objects.filter(study=second).count() == 11
    assert removed_own_answers(second) > 0


@pytest.mark.nightly
def test_the_report_shows_who_came_back_and_what_changed(second):
    come_back(second, range(1, 12, 2))
    come_back(second, [0, 2])

    report = build_report(load_dataset("two"), seed=1, bootstrap=100)
    wave = report["wave"]

    assert (wave["people"], wave["came"], wave["completed"]) == (12, 8, 8)
    [sex] = wave["attrition"]["by_group"]
    rows = {each["answer"]: (each["n"], each["count"]) for each in sex["answers"]}
    assert rows == {"Woman": (6, 6), "Man": (6, 2)}
    assert sex["p"] == pytest.approx(0.0606, abs=1e-4)
    change = wave["change"]
    assert (change["answers"], change["people"]) == (16, 8)
    assert change["repeated"]["value"] == 1
    back = [50 + n for n in (0, 1, 2, 3, 5, 7, 9, 11)]
    assert change["certainty"]["value"] == pytest.approx(80 - np.mean(back))
    assert "of_people" not in change


def test_who_is_excluded_from_the_later_wave_has_completed_it_without_answers(first, second):
    come_back(second, (0, 1, 2, 4, 5, 7, 8, 10, 11))
    gone = Annotator.objects.filter(study=second).order_by("pk").first()
    services.exclude(annotator_id=gone.pk, reason="Too fast.", reopen_seats=False)

    report = report_of(second)

    assert (report["wave"]["completed"], report["wave"]["change"]["people"]) == (9, 8)
    words = [str(sentence.text) for sentence in CHAPTER.sentences(report)]
    assert words[0] == ("9 of 12 people counted in the first wave completed wave 2 (75.0 %).")
    kinds = {kind["kind"]: kind["tested"] for kind in report["claims_tested"]["kinds"]}
    attrition = report["wave"]["attrition"]
    # Which items people got by chance decides whether their shares of right answers differ at all,
    # and whether a test says so.
    tested = [*attrition["by_group"], *attrition["by_answers"]]
    n = sum(test["p_adjusted"] is not None for test in tested)
    assert kinds["who completed a later wave"] == n >= 2
    differs = any((test["p_adjusted"] or 1) <= 0.05 for test in tested)
    assert words[1].startswith("Who completed" if differs else "We cannot tell whether those who")


def test_the_same_people_are_one_person_when_pooled(first, second):
    pooling = pytest.importorskip("extras.report_readers.several.pooling")
    come_back(second, range(5))

    pooled = pooling.pool([load_dataset("one"), load_dataset("two")])

    people = {
        annotator.identity_hash
        for annotator in Annotator.objects.filter(state=Annotator.State.COMPLETED)
    }
    assert len(pooled.raters) == len(people) == 12
    assert pooled.study.source["pooled_people"]["in_several"] == 5
    assert pooled.study.source["pooled_people"]["repeated_answers"] == 10
    assert not pooled.of(WaveAnswers)


def test_the_page_and_the_command_create_a_wave_and_refuse_what_cannot_be(first, second, settings):
    Study.objects.update(state=Study.State.CLOSED, archived_at=timezone.now())
    delete_study(study_id=second.pk, by=None)
    Study.objects.update(state=Study.State.OPEN, archived_at=None)
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    address = reverse("own_people:waves", args=["one"])
    sent = {"title": "Two", "slug": "two", "items": "some", "keys": "nothing"}

    wrong = client.post(address, sent)
    right = client.post(address, sent | {"keys": Item.objects.filter(study=first).first().key})
    client.post(reverse("own_people:waves", args=["two"]), {"action": "invite"})

    for slug, other in (("one", 2), ("two", 1)):
        seen = client.get(reverse("studies:detail", args=[slug])).content.decode()
        assert f"(wave {other}, " in seen
    assert wrong.status_code == 422
    assert "has no item “nothing”" in wrong.content.decode()
    assert right.status_code == 302
    assert LaterWave.objects.get().people.count() == 12
    call_command("link_study", "two", "--new", "three", wave="other", invite=True)
    assert LaterWave.objects.get(number=3).first == first
    with pytest.raises(CommandError, match="is wave 3 already"):
        call_command("link_study", "one", "--new", "three", wave="same")
    with pytest.raises(StudyError, match="already a study"):
        next_wave(study_id=first.pk, slug="two")


def test_a_first_wave_cannot_be_deleted_before_later_ones_have_left_the_series(first, second):
    come_back(second, range(3))
    client = sign_in(second, "owner")
    address = reverse("own_people:waves", args=["two"])
    Study.objects.update(state=Study.State.CLOSED, archived_at=timezone.now())
    with pytest.raises(StudyError, match="first wave of “two”"):
        delete_study(study_id=first.pk, by=None)

    assert "Leave the series" in client.get(reverse("own_people:waves", args=["two"])).text
    client.post(address, {"action": "leave"})
    assert LaterWave.objects.exists()
    Study.objects.filter(pk=second.pk).update(state=Study.State.PAUSED)
    client.post(address, {"action": "leave", "sure": "yes"})
    assert LaterWave.objects.exists()
    Study.objects.filter(pk=second.pk).update(state=Study.State.CLOSED)
    client.post(address, {"action": "leave", "sure": "yes"})

    assert second.log.get(event="left the series").detail == {"first": "one", "number": 2}
    delete_study(study_id=first.pk, by=None)
    report = build_report(load_dataset("two"), seed=1, bootstrap=100)
    assert "wave" not in report
    assert report["human"]["answers"] == 6
    assert client.post(address, {"action": "leave", "sure": "yes"}).status_code == 404


def test_planted_changes_are_recovered():
    """Of certainty, and of who comes back by it, in 200 waves of 40 people."""
    rng = np.random.default_rng(5)
    covered = gap = 0
    for _ in range(200):
        person, question = np.repeat(np.arange(40), 10), np.tile(np.arange(10), 40)
        change = 3 + rng.normal(0, 2, 40)[person] + rng.normal(0, 1, 10)[question]
        found = mean_change(
            change + rng.normal(0, 8, 400),
            Sharing.of_items(400, {"person": person, "question": question}),
        )
        covered += found.interval.low <= 3 <= found.interval.high
        before = rng.normal(60, 8, 40)
        back = rng.random(40) < np.where(rng.random(40) < 0.5, 0.8, 0.6)
        found_gap = return_difference(before + 5 * back, back).difference.interval
        gap += found_gap.low <= 5 <= found_gap.high

    assert 0.90 <= covered / 200 <= 0.99
    assert 0.90 <= gap / 200 <= 0.99


@pytest.mark.parametrize(
    ("values", "back", "reason"),
    [([], [], "empty_group"), ([1, 2], [1, 1], "empty_group"), ([5] * 4, [1, 1, 0, 0], None)],
)
def test_without_variation_or_people_there_is_a_reason(values, back, reason):
    found = return_difference(values, back)

    assert found.difference.reason == reason
    assert found.p is None
    assert found.difference.interval is None
    assert return_table(["a"] * len(back), back, seed=1).p is None
