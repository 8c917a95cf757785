"""The second round of a jury: each judge sees the reasons of the others and chooses again."""

import io
import re

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from extras.advice.discussions import start_discussion
from judging.errors import BadRun, ConflictingValue
from judging.models import Attempt, Campaign, JudgeRun, Judgment, Jury
from judging.runs.lifecycle import work_off
from tests.factories import make_item, make_study, sign_in
from tests.judging.conftest import make_judge
from tests.judging.llm_server import completion
from tests.judging.run_helpers import judge_all, start

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("engine")]


@pytest.fixture
def jury(llm):
    """Three judges; in the first round the third chooses response 2, the others response 1."""
    study = make_study()
    for n in range(2):
        make_item(study=study, key=f"i{n}")
    judges = [make_judge(name=f"j{n}", model=f"m{n}", base_url=llm.url) for n in range(3)]
    jury = Jury.objects.create(study=study, name="panel")
    jury.judges.set(judges)
    llm.answer = reply
    return jury


def reply(body, number):
    """Give a reason; in the second round follow what most of the others wrote."""
    messages = body["messages"]
    prompt = messages[0]["content"]
    side_of_r1 = "A" if prompt.index("First response") < prompt.index("Second response") else "B"
    other = "B" if side_of_r1 == "A" else "A"
    if len(messages) == 1:
        side = other if body["model"] == "m2" else side_of_r1
    else:
        words = messages[2]["content"].split("They wrote:")[1].split("Think again.")[0]
        side = max("AB", key=lambda letter: words.count(f"[[{letter}]]"))
    return completion(f"Because of {body['model']} in step {len(messages)}.\n[[{side}]]")


def first_round(jury, **options):
    for judge in jury.judges.order_by("pk"):
        judge_all(jury.study, judge, setting="reason-before", orders="both", **options)


def discuss(jury):
    runs = start_discussion(study_id=jury.study_id, jury=jury, enqueue=False)
    for run in runs:
        work_off(run_id=run.pk)
        run.refresh_from_db()
    return runs


@pytest.mark.nightly
def test_each_judge_sees_the_reasons_of_the_others_and_is_asked_once(jury, llm):
    first_round(jury)
    asked = len(llm.requests)

    runs = discuss(jury)

    assert {run.state for run in runs} == {"done"}
    second = llm.requests[asked:]
    assert len(second) == 3 * 2 * 2
    for body in second:
        roles = [message["role"] for message in body["messages"]]
        assert roles == ["user", "assistant", "user"]
        own, others = body["messages"][1]["content"], body["messages"][2]["content"]
        assert own.startswith(f"Because of {body['model']} in step 1.")
        names = {f"m{n}" for n in range(3)} - {body["model"]}
        assert {name for name in ("m0", "m1", "m2") if f"of {name} in" in others} == names
    # The third is outvoted by what it reads, and so is each of the others by nobody.
    choices = set(Judgment.objects.filter(run=runs[2]).values_list("choice", flat=True))
    assert choices == {"r1"}
    before = {row.details["before_discussion"]["choice"] for row in runs[2].judgments.all()}
    assert before == {"r2"}
    assert Attempt.objects.filter(judgment__run__in=runs).count() == 12


@pytest.mark.nightly
def test_the_same_again_asks_nothing_new(jury, llm):
    first_round(jury)
    discuss(jury)
    asked = len(llm.requests)

    again = discuss(jury)

    assert len(llm.requests) == asked
    assert JudgeRun.objects.filter(setting="discussion").count() == len(again) == 3


def test_an_item_that_somebody_did_not_answer_is_skipped(jury):
    first_round(jury)
    run = JudgeRun.objects.filter(setting="reason-before").last()
    run.judgments.filter(item__key="i0", shown_first="r1").update(
        state="unparseable", choice="", certainty=None
    )

    runs = discuss(jury)

    for second in runs:
        skipped = second.judgments.filter(state="skipped")
        assert {row.item.key for row in skipped} == {"i0"}
        assert "Some judges of the jury" in skipped.first().error


def test_a_jury_without_a_first_round_is_told_what_to_do(jury):
    judge_all(jury.study, jury.judges.first(), setting="reason-before")

    with pytest.raises(BadRun, match="no first round"):
        start_discussion(study_id=jury.study_id, jury=jury)


def test_the_setting_is_not_started_by_itself(jury):
    with pytest.raises(ConflictingValue, match="continues from the replies of a jury") as error:
        start(jury.study, jury.judges.first(), setting="discussion")

    assert "start it at the jury" in str(error.value)
    assert "command" not in str(error.value)


@pytest.mark.nightly
def test_the_command_starts_and_works_off_the_round(jury):
    first_round(jury)
    out = io.StringIO()

    call_command("debates", jury.study.slug, "--jury", "panel", stdout=io.StringIO())
    call_command("debates", jury.study.slug, "--jury", "panel", "--inline", stdout=out)

    assert out.getvalue().count("4 of 4 answered") == 3
    with pytest.raises(CommandError, match="no jury “court”"):
        call_command("debates", jury.study.slug, "--jury", "court")


def test_a_dry_run_says_what_the_round_costs_and_asks_nothing(jury, llm):
    with pytest.raises(CommandError, match="has no first round"):
        call_command("debates", jury.study.slug, "--jury", "panel", "--dry-run")
    first_round(jury)
    asked, runs, out = len(llm.requests), JudgeRun.objects.count(), io.StringIO()

    call_command("debates", jury.study.slug, "--jury", "panel", "--dry-run", stdout=out)

    assert re.fullmatch(
        r"12 questions, about [\d,]+ tokens: cost unknown\. Nothing was asked\.\n", out.getvalue()
    )
    assert (len(llm.requests), JudgeRun.objects.count()) == (asked, runs)


@pytest.mark.nightly
def test_the_page_of_the_campaign_starts_it_for_editors_within_its_budget(jury, client):
    first_round(jury)
    study = jury.study
    campaign = Campaign.objects.create(
        study=study, name="c", plan={"name": "c", "judges": [], "juries": {"panel": []}}
    )
    url = reverse("advice:discuss", args=[study.slug, campaign.public_id, jury.pk])
    page = reverse("judging:campaign", args=[study.slug, campaign.public_id])
    viewer, editor = sign_in(study, "viewer"), sign_in(study, "editor")

    assert "Start discussion" not in viewer.get(page).text
    assert viewer.post(url).status_code == 404
    assert "Start discussion" in editor.get(page).text
    assert editor.post(url, follow=True).text.count("Discussion started: 3 runs.") == 1
    assert set(campaign.runs.values_list("setting", flat=True)) == {"discussion"}
