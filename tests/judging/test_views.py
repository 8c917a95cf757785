import re

import pytest
from django.test import TestCase
from django.urls import reverse
from django.utils import timezone

from judging.models import Attempt, JudgeRun, Judgment
from judging.runs.spec import RunSpec
from judging.runs.start import start_run
from tests.factories import make_item, make_study, sign_in
from tests.judging.conftest import make_judge


@pytest.fixture
def study(db):
    return make_study(slug="s")


@pytest.fixture
def run(study):
    make_item(study=study, key="one")
    make_item(study=study, key="two")
    judge = make_judge(base_url="http://127.0.0.1:9/v1", price_input=1, price_output=1)
    return start_run(RunSpec(study_id=study.pk, judge_id=judge.pk), enqueue=False)


def urls(run):
    return [
        reverse("judging:list-panel", args=["s"]),
        reverse("judging:run", args=["s", run.public_id]),
        reverse("judging:list", args=["s"]),
    ]


def change(client, run, action, **extra):
    return client.post(
        reverse("judging:run", args=["s", run.public_id]), {"action": action}, **extra
    )


def answer(run, key, **fields):
    judgment = run.judgments.get(item__key=key)
    defaults = {"state": "done", "choice": "r1", "replies": 1, "raw_text": "[[A]]"}
    Judgment.objects.filter(pk=judgment.pk).update(**defaults | fields)
    Attempt.objects.create(
        judgment=judgment,
        number=1,
        sent_at=timezone.now(),
        outcome="replied",
        latency_ms=1200,
        prompt_tokens=100,
        completion_tokens=8,
        cost_nano=108_000,
        text=fields.get("raw_text", ""),
    )
    return judgment


def test_an_editor_pauses_resumes_and_cancels(run, study):
    editor = sign_in(study, "editor")
    for action, state in (("pause", "paused"), ("resume", "queued"), ("cancel", "cancelled")):
        response = change(editor, run, action)

        run.refresh_from_db()
        assert (response.status_code, run.state) == (302, state)

    again = change(editor, run, "resume", follow=True)
    assert "the state of the run has changed" in again.text


def test_the_panel_is_a_fragment_with_the_state_of_every_run(run, study):
    answer(run, "one")
    JudgeRun.objects.filter(pk=run.pk).update(
        state="stopped_budget", sentence="The budget is used up.", spent_nano=108_000, tokens=108
    )

    page = sign_in(study, "editor").get(urls(run)[0]).text

    assert "<html" not in page
    assert "The budget is used up." in page
    assert "$0.0001" in page
    assert "Resume" not in page  # it would stop at once: the budget is given with the command


def test_a_run_that_an_outage_stopped_can_be_resumed_from_the_panel(run, study):
    JudgeRun.objects.filter(pk=run.pk).update(state="stopped_outage", sentence="It was down.")

    assert "Resume" in sign_in(study, "editor").get(urls(run)[0]).text


def test_an_empty_panel_says_what_to_do_first(study):
    page = sign_in(study, "viewer").get(reverse("judging:list-panel", args=["s"])).text

    assert "An editor of the study can add judges and start runs." in page


def test_a_run_shows_the_reply_beside_its_reading_and_every_request(run, study):
    answer(run, "one", raw_text="A]] surely", certainty=77)

    page = sign_in(study, "viewer").get(urls(run)[1]).text

    assert "A]] surely" in page
    assert "certainty 77" in page
    assert "1,200 ms" in page
    assert "Which response would this person prefer?" in page


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("", {"one", "two"}),
        ("?state=done", {"one"}),
        ("?state=open", {"two"}),
        ("?search=TW", {"two"}),
        ("?state=refused", set()),
        ("?state=nonsense", {"one", "two"}),
        ("?page=99", {"one", "two"}),
        ("?page=x", {"one", "two"}),
    ],
)
def test_judgments_are_filtered(run, study, query, shown):
    answer(run, "one")

    page = sign_in(study, "viewer").get(urls(run)[1] + query)

    assert {entry.judgment.item.key for entry in page.context["shown"]} == shown


def test_simulated_judges_are_labelled(run, study):
    study.is_simulated = True
    study.save()
    editor = sign_in(study, "editor")

    for name, arguments in (("run", [run.public_id]), ("new", [])):
        page = editor.get(reverse(f"judging:{name}", args=["s", *arguments])).text
        assert '<span class="simulated">Simulated data</span>' in page


def test_the_number_of_queries_does_not_grow_with_what_is_shown(
    study, django_assert_max_num_queries
):
    for n in range(20):
        make_item(study=study, key=f"i{n}")
    for n in range(4):
        judge = make_judge(name=f"j{n}", base_url="http://127.0.0.1:9/v1")
        run = start_run(RunSpec(study_id=study.pk, judge_id=judge.pk), enqueue=False)
    for n in range(20):
        answer(run, f"i{n}")
    viewer = sign_in(study, "viewer")

    with django_assert_max_num_queries(9):
        viewer.get(urls(run)[0])
    with django_assert_max_num_queries(25):
        viewer.get(urls(run)[1])


def test_a_run_that_goes_on_is_fetched_again_with_its_last_requests(run, study):
    answer(run, "one", raw_text="[[A]] I think", answered_at=timezone.now())
    viewer = sign_in(study, "viewer")
    panel = reverse("judging:run-panel", args=["s", run.public_id])

    page = viewer.get(reverse("judging:run", args=["s", run.public_id])).content.decode()
    part = viewer.get(panel).content.decode()

    assert f'data-src="{panel}"' in page
    assert "<html" not in part
    assert "Last judgments" in part
    assert "Last requests" in part
    assert "1 per minute" in part


def test_what_failed_is_asked_again_by_a_button(run, study, monkeypatch):
    queued: list[int] = []
    monkeypatch.setattr("judging.tasks.queue_chunk", queued.append)
    Judgment.objects.filter(run=run, item__key="one").update(state="error", error="HTTP 400")
    answer(run, "two")
    JudgeRun.objects.filter(pk=run.pk).update(state="done", sentence="1 of 2 answered.")
    editor = sign_in(study, "editor")
    page = editor.get(reverse("judging:run", args=["s", run.public_id])).content.decode()
    assert "Retry 1 failed" in page

    with TestCase.captureOnCommitCallbacks(execute=True):
        change(editor, run, "retry")

    run.refresh_from_db()
    assert (run.state, queued) == ("queued", [run.pk])
    assert set(run.judgments.values_list("state", flat=True)) == {"pending", "done"}


def test_the_cost_says_what_became_of_requests_without_a_reply(study, run):
    judgment = answer(run, "one")
    for number, outcome in enumerate(["lost", "lost", "rate_limited", "sent"], start=2):
        Attempt.objects.create(
            judgment=judgment,
            number=number,
            sent_at=timezone.now(),
            outcome=outcome,
            cost_nano=50_000_000,
            cost_is_estimate=True,
        )

    page = sign_in(study, "viewer").get(reverse("judging:run", args=["s", run.public_id]))

    text = " ".join(page.content.decode().split())
    assert "5, 3 of them without a reply" in text
    assert "1 rate limited, 2 lost with its worker" in text
    assert "an estimate of up to $0.1500 for requests" in text


def test_questions_that_failed_are_no_progress(study, run):
    """A bar at half next to “0 of 2” says that half is done: a failed question is asked again."""
    answer(run, "one", state="error", choice="", raw_text="")
    make_item(study=study, key="not in the run")
    editor = sign_in(study, "editor")

    page = editor.get(reverse("judging:run", args=["s", run.public_id])).text
    monitor = editor.get("/studies/s/monitor/").text

    assert '<progress max="2" value="0" aria-label="Finished judgments">0 of 2</progress>' in page
    assert "<dt>Done</dt><dd>0 of 2</dd>" in page
    assert '<progress class="bar" value="0" max="2" aria-label="Share">' in monitor


@pytest.fixture
def two_runs(study, run):
    """Runs of “judge” and “other”; the second was asked more."""
    answer(run, "one", raw_text="=1+1", certainty=70)
    other = make_judge(name="other", base_url="http://127.0.0.1:9/v1")
    second = start_run(RunSpec(study_id=study.pk, judge_id=other.pk, samples=2), enqueue=False)
    JudgeRun.objects.filter(pk=second.pk).update(state="paused", sentence="x", tokens=5000)
    return run, second


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("", ["judge", "other"]),
        ("sort=-judge", ["other", "judge"]),
        ("sort=-tokens", ["other", "judge"]),
        ("sort=done", ["other", "judge"]),
        ("sort=nonsense", ["judge", "other"]),
        ("state=paused", ["other"]),
        ("search=UDG", ["judge"]),
        ("search=UDG&state=paused", []),
        ("campaign=nothing", ["judge", "other"]),
    ],
)
def test_runs_are_filtered_and_sorted_and_a_file_holds_the_same(two_runs, study, query, shown):
    viewer = sign_in(study, "viewer")
    url = reverse("judging:list", args=["s"])

    page = viewer.get(f"{url}?{query}")
    lines = viewer.get(f"{url}?{query}&format=csv").text.splitlines()

    assert [row.run.judge.name for row in page.context["rows"]] == shown
    assert [line.split(",")[1] for line in lines[1:]] == shown
    assert lines[0].startswith("run,judge,model,setting,")


def test_sorting_keeps_the_filter_and_the_part_that_is_fetched_again_both(two_runs, study):
    page = sign_in(study, "viewer").get(reverse("judging:list", args=["s"]) + "?search=o&sort=left")

    columns = {column["label"]: column for column in page.context["columns"]}
    assert columns["Left"] == {"label": "Left", "now": "ascending", "then": "-left"}
    assert 'href="?search=o&amp;sort=-left"' in page.text
    assert 'href="?search=o&amp;sort=cost"' in page.text
    part = reverse("judging:list-panel", args=["s"])
    assert f'data-src="{part}?search=o&amp;sort=left"' in page.text


def test_what_no_run_matches_says_how_to_see_all(two_runs, study):
    page = sign_in(study, "viewer").get(reverse("judging:list", args=["s"]) + "?search=zzz").text

    assert "No runs match these filters." in page
    assert "No runs yet" not in page


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("role", ["viewer", "editor"])
@pytest.mark.parametrize("has_judges", [True, False])
def test_an_empty_list_has_a_button_for_the_next_step(study, role, has_judges):
    if has_judges:
        make_judge(base_url="http://127.0.0.1:9/v1")

    page = sign_in(study, role).get(reverse("judging:list", args=["s"])).text

    may_edit = role == "editor"
    assert (reverse("judging:add-judge", args=["s"]) in page) is (may_edit and not has_judges)
    assert (reverse("judging:new", args=["s"]) in page) is (may_edit and has_judges)
    assert "manage.py" not in page


@pytest.mark.nightly
def test_judgments_are_sorted_and_downloaded_as_they_are_filtered(run, study):
    answer(run, "one", raw_text="=1+1", certainty=30)
    answer(run, "two", certainty=90)
    viewer = sign_in(study, "viewer")

    def keys(query):
        page = viewer.get(urls(run)[1] + query)
        return [entry.judgment.item.key for entry in page.context["shown"]]

    assert keys("?sort=certain") == ["two", "one"]
    assert keys("?sort=uncertain") == keys("?sort=") == ["one", "two"]
    lines = viewer.get(urls(run)[1] + "?search=one&format=csv").text.splitlines()
    assert len(lines) == 2
    assert lines[1].startswith("one,")
    assert ",30,1,'=1+1," in lines[1]  # no spreadsheet takes a reply for a formula


def test_new_runs_show_what_every_campaign_chooses_and_fold_the_rest(study):
    make_judge(name="only", base_url="http://127.0.0.1:9/v1")
    editor, address = sign_in(study, "editor"), reverse("judging:new", args=["s"])

    page = editor.get(address).content.decode()
    unfolded = re.sub(r"<details.*?</details>", "", page, flags=re.DOTALL)

    assert re.findall(r"<legend>(.*?)</legend>", unfolded) == ["Judges", "Settings"]
    shown = re.findall(r'name="settings" value="([^"]+)"', unfolded)
    assert shown == ["standard", "certainty", "tie"]
    assert len(re.findall(r'name="settings"', page)) > 10
    assert re.findall(r'name="(\w+)"', unfolded.split("<form")[-1]).count("budget") == 1
    assert not re.findall("<details[^>]* open>", page)
    # The only judge there is needs no click.
    assert re.search(r'value="only"[^>]* checked', page)


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize(
    ("changed", "opened"),
    [
        ({}, []),
        ({"orders": "random"}, ["Persona, order and number of items"]),
        ({"settings": ["standard", "levels"]}, ["Scores and other certainties"]),
        ({"samples": "0"}, ["Samples"]),
        ({"name": "Mine", "reuse": "on"}, ["Name, token budget, batch service and reuse"]),
    ],
)
def test_a_group_of_new_runs_opens_if_something_in_it_is_chosen_or_wrong(study, changed, opened):
    make_item(study=study, key="one")
    make_judge(name="only", base_url="http://127.0.0.1:9/v1")
    usual = {
        "name": "Campaign 1",
        "judges": "only",
        "settings": "standard",
        "features": "all",
        "orders": "both",
        "samples": "1",
        "wordings": "-",
        "framings": "observer",
        "reading": "lenient",
        "estimate": "yes",
    }

    shown = sign_in(study, "editor").post(reverse("judging:new", args=["s"]), usual | changed)

    form = shown.context["form"]
    every = [*form.settings_by_family, *form.groups]
    assert [group.title for group in every if group.title and group.is_open] == opened
    assert len(re.findall("<details[^>]* open>", shown.content.decode())) == len(opened)


EVIL = "<script>alert(1)</script>"


def test_nothing_that_a_model_or_a_file_says_becomes_markup(study):
    make_item(study=study, key="x", question=EVIL, r1={"text": EVIL})
    judge = make_judge(name=EVIL, model=EVIL, base_url="http://127.0.0.1:9/v1")
    run = start_run(RunSpec(study_id=study.pk, judge_id=judge.pk), enqueue=False)
    judgment = answer(run, "x", raw_text=EVIL, model_snapshot=EVIL, error=EVIL)
    judgment.attempts.update(error=EVIL, text=EVIL)
    JudgeRun.objects.filter(pk=run.pk).update(sentence=EVIL, features=EVIL)
    owner = sign_in(study, "owner")

    for url in [*urls(run), urls(run)[1] + "?search=" + EVIL]:
        page = owner.get(url).text

        assert EVIL not in page
        assert "&lt;script&gt;" in page
