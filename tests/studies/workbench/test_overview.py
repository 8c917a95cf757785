"""The overview of a study: set-up, launch checks, monitor."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from annotation.models import ProlificStudy
from judging.models import JudgeRun
from judging.runs.spec import RunSpec
from judging.runs.start import start_run
from studies.models import Item, Membership, Study
from studies.pages.listing import study_figures
from studies.pages.overview_views import monitor, setup
from studies.services.studies import OPENED_DESPITE
from tests.factories import make_item, make_items, make_persona, make_study
from tests.judging.conftest import make_judge

FACTS = {
    "contact": "ada@example.org",
    "researchers": "Ada Lovelace, University of Exampleton",
    "storage": "on servers of the university, for ten years",
    "ethics": "Ethics Committee 2026/17",
    "source": {"licence": "CC BY 4.0"},
}


@pytest.fixture
def draft(db):
    return make_study(slug="one", state="draft", entry="link")


def sign_in(client, study, role="editor"):
    user = User.objects.create_user(role)
    Membership.objects.create(user=user, study=study, role=role)
    client.force_login(user)
    return client


def post_state(client, **data):
    return client.post(
        reverse("studies:detail", args=["one"]), {"action": "state"} | data, follow=True
    )


def states(study):
    return {task.key: str(task.state) for task in setup(study).tasks}


def test_a_new_draft_shows_every_task_and_the_next_one(client, draft):
    page = sign_in(client, draft).get(reverse("studies:detail", args=["one"])).text

    # Optional tasks are those of extras.
    assert [task.key for task in setup(draft).tasks if not task.is_optional] == [
        "items",
        "profile",
        "question",
        "checks",
        "texts",
        "annotators",
        "judges",
        "launch",
    ]
    assert "Next: Items" in page
    assert "of 8 done" in page
    assert "Not started" in page
    assert "Pause updates" not in page


def test_tasks_follow_what_is_set_up(draft):
    make_items(draft, 3)
    Study.objects.filter(pk=draft.pk).update(**FACTS)

    found = states(Study.objects.get(pk=draft.pk))

    assert found["items"] == "done"
    assert found["texts"] == "done"
    assert found["annotators"] == "done"
    assert found["judges"] == "not_started"


def test_the_next_step_leads_to_what_is_not_done_from_every_page_of_a_draft(client, draft):
    editor, step = sign_in(client, draft), reverse("studies:next-step", args=["one"])
    page = reverse("studies:settings", args=["one"])
    assert f'href="{step}"' in editor.get(page).text
    assert editor.get(step).url == reverse("studies:import", args=["one"])

    make_items(draft, 3)
    Study.objects.filter(pk=draft.pk).update(**FACTS)
    draft.comprehension_questions.create(text="?", options=["a", "b"], right=0, position=1)
    assert editor.get(step).url == reverse("judging:add-judge", args=["one"])
    make_judge(name="one")
    assert editor.get(step).url == reverse("studies:launch", args=["one"])

    Study.objects.update(state="open")
    assert f'href="{step}"' not in editor.get(page).text
    assert editor.get(step).url == reverse("studies:detail", args=["one"])


def test_items_without_an_own_answer_need_attention(draft):
    make_items(draft, 2)
    Item.objects.update(first_person="")

    assert states(draft)["items"] == "attention"


def test_half_of_the_consent_facts_need_attention(draft):
    draft.contact = "ada@example.org"
    draft.save()

    (task,) = [task for task in setup(draft).tasks if task.key == "texts"]

    assert task.state == "attention"
    assert "who runs the study" in task.summary
    assert task.address.endswith("#id_researchers")


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("entry", ["prolific", "link", "list"])
def test_a_draft_without_items_cannot_be_opened(client, draft, entry):
    Study.objects.update(entry=entry)

    response = post_state(sign_in(client, draft), state="open", reason="I want to.")

    assert "The study cannot be opened yet." in response.text
    assert response.text.count("No item needs an answer.") == 1
    assert f'href="{reverse("studies:import", args=["one"])}?back=launch">Fix' in response.text
    assert Study.objects.get().state == "draft"


def test_a_list_without_ids_is_not_opened(client, draft):
    make_items(draft, 2)
    Study.objects.update(entry="list")

    response = post_state(sign_in(client, draft), state="open", reason="I want to.")

    assert "Nobody is invited." in response.text
    assert Study.objects.get().state == "draft"


def test_advice_is_passed_with_a_reason_that_is_kept_and_shown(client, draft):
    make_items(draft, 2)
    sign_in(client, draft)

    without = post_state(client, state="open")
    opened = post_state(client, state="open", reason="A pilot <b>among</b> friends.")

    assert "Say why you open the study despite the advice." in without.text
    assert "The study is open." in opened.text
    assert "A pilot &lt;b&gt;among&lt;/b&gt; friends." in opened.text
    entry = draft.log.get(event=OPENED_DESPITE)
    assert entry.user.username == "editor"
    assert any("contact address" in words for words in entry.detail["advice"])


def test_a_draft_without_open_checks_opens_at_once(client, draft, settings):
    settings.PUBLIC_BASE_URL = "https://judge.example.org"
    make_items(draft, 2)
    Study.objects.update(**FACTS)

    response = post_state(sign_in(client, draft), state="open")

    assert "The study is open." in response.text
    assert not draft.log.filter(event=OPENED_DESPITE).exists()


def test_a_viewer_reads_the_checks_and_cannot_open(client, draft):
    make_items(draft, 2)
    sign_in(client, draft, "viewer")

    page = client.get(reverse("studies:launch", args=["one"]))

    assert ">Advice<" in page.text
    assert ">Open study<" not in page.text
    assert post_state(client, state="open", reason="x").status_code == 404


def test_a_paused_study_opens_again_without_checks(client, draft):
    Study.objects.update(state="paused")

    assert "The study is open." in post_state(sign_in(client, draft), state="open").text


def test_the_monitor_names_a_stopped_run_with_its_reason(draft):
    make_items(draft, 2)
    judge = make_judge(name="llama", base_url="http://127.0.0.1:9/v1")
    run = start_run(RunSpec(study_id=draft.pk, judge_id=judge.pk), enqueue=False)
    JudgeRun.objects.filter(pk=run.pk).update(state="stopped_outage", sentence="The server is off.")

    found = monitor(draft, may_edit=True)

    (need,) = found.needs
    assert need.sentence == "llama (standard) is stopped. The server is off."
    assert need.address == reverse("judging:run", args=["one", run.public_id])
    main = ["answers", "quota", "funnel", "coverage", "judges"]
    assert [group.key for group in found.main] == main
    assert [group.key for group in found.side] == ["money"]


def test_viewers_are_not_asked_to_do_what_only_editors_may(draft):
    make_items(draft, 2)
    for n in range(2):
        judge = make_judge(name=f"j{n}", base_url="http://127.0.0.1:9/v1")
        run = start_run(RunSpec(study_id=draft.pk, judge_id=judge.pk), enqueue=False)
        JudgeRun.objects.filter(pk=run.pk).update(state="stopped_budget", sentence="Spent.")

    assert monitor(draft, may_edit=True).number == 1
    assert monitor(draft, may_edit=False).number == 0


def test_an_open_study_that_nobody_can_find_says_so(draft):
    Study.objects.update(state="open", entry="prolific")
    study = Study.objects.get()
    row = ProlificStudy.objects.create(study=study, status="UNPUBLISHED")

    (need,) = monitor(study, may_edit=True).needs
    assert (need.sentence.split(":")[0], need.button) == (
        "Nobody can find the study yet",
        "Recruit on Prolific",
    )
    row.status = "ACTIVE"
    row.save()
    assert not monitor(Study.objects.get(), may_edit=True).needs


@pytest.mark.django_db
def test_personas_of_practice_items_are_not_counted():
    study = make_study()
    for split in (Item.Split.MAIN, Item.Split.MAIN, Item.Split.PRACTICE):
        make_item(study=study, split=split, persona=make_persona(study=study))

    assert study_figures(study).personas == 2
