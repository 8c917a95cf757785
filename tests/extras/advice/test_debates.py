"""Debates written by models: sent once, within the budget, shown as data in the drawn arm."""

from collections import Counter, defaultdict

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotation.models import Assignment
from extras.advice import arguing
from extras.advice.arguing import (
    WantedArguments,
    continue_job,
    items_for,
    openings,
    request_arguments,
    rows_for,
    run_job,
    usable,
)
from extras.advice.arms import arms_study, item_and_arm
from extras.advice.models import Argument, ArgumentJob
from extras.advice.tasks import tidy
from judging.models import NANO
from studies.errors import StudyError
from studies.importers.items.storage import why_not
from studies.models import Item, Study
from tests.factories import answer_all, make_item, make_persona, make_study, sign_in, walk_in
from tests.judging.conftest import make_judge
from tests.judging.llm_server import completion, error

pytestmark = pytest.mark.django_db(transaction=True)


def study_of(n=4, **settings):
    study = make_study(slug="meals", state="draft", **settings)
    for number in range(n):
        make_item(
            study=study,
            key=f"i{number}",
            persona=make_persona(study=study, key=f"p{number}"),
            question=f"What for dinner {number}?",
            r1={"text": f"Bake the pumpkin slowly with sage {number}."},
            r2={"text": f"Order a pizza at the corner {number}."},
            first_person=("r1", "r2")[number % 2],
        )
    return study


def argument(body, number):
    """Name the own response and how much of the debate was read."""
    prompt = body["messages"][0]["content"]
    own = "pumpkin" if prompt.index("pumpkin") < prompt.index("pizza") else "pizza"
    heard = prompt.count("The other assistant: ")
    return completion(f"Take the {own}, says {body['model']}.\n\n[Answer] after {heard} of theirs.")


@pytest.fixture
def writer(llm, engine):
    llm.answer = argument
    return make_judge(base_url=llm.url, price_input=1, price_output=1)


def write(study, judge, *, budget=None, second=None, **wanted):
    job = request_arguments(
        study_id=study.pk,
        wanted=WantedArguments(**wanted),
        judge=judge,
        second=second,
        budget=budget,
        user=None,
    )
    return run_job(job_id=job.pk)


def test_sides_speakers_and_judges_are_balanced_by_the_right_answer():
    study = make_study()
    items = [
        make_item(study=study, key=f"i{n}", first_person=("r1", "r2")[n % 2]) for n in range(32)
    ]
    rows = rows_for(items, WantedArguments(), judges=2)

    truth = {item.key: item.first_person for item in items}
    advisers = [row for row in rows if row.arm == "consultancy" and row.round == 1]
    assert Counter((truth[r.item_key], r.side == truth[r.item_key]) for r in advisers) == {
        (side, is_right): 8 for side in ("r1", "r2") for is_right in (True, False)
    }
    debaters = [row for row in rows if row.arm == "debate" and row.side == truth[row.item_key]]
    for name in ("speaker", "by_second"):
        assert set(Counter(getattr(row, name) for row in debaters).values()) == {32}
    assert all(sum(r.by_second for r in rows if r.item_key == k) for k in truth)


def test_two_models_debate_and_answer_each_other(writer, llm):
    study = study_of()
    other = make_judge(name="other", model="m2", base_url=llm.url)

    job = write(study, writer, second=other, rounds=2)

    assert (job.state, job.message) == ("done", "4 items have all their arguments.")
    assert len(llm.requests) == 4 * 2 * 3
    rows = job.arguments.filter(item_key="i0")
    debate = rows.filter(arm="debate", round=2)
    # Both rounds are written at the same time by both, so nobody has the last word.
    assert {row.text.split("after ")[1] for row in debate} == {"1 of theirs."}
    assert {row.text.split()[4] for row in debate} == {f"{writer.model}.", "m2."}
    assert all("\n" not in row.text for row in rows)
    alone = rows.get(arm="consultancy", round=2)
    assert "after 0 of theirs" in alone.text
    prompts = [request["messages"][0]["content"] for request in llm.requests]
    assert sum("Answer what the other assistant has said" in each for each in prompts) == 8


def test_the_linked_study_has_every_item_in_each_arm(writer):
    study = study_of(annotations_per_item=2, items_per_annotator=3)
    job = write(study, writer, rounds=1)

    made = arms_study(job=job, slug="debates")

    items = list(Item.objects.filter(study=made))
    assert len(items) == 12
    assert {item.seats_needed for item in items} == {2}
    assert made.source["advice_arms"]["arms"] == ["none", "consultancy", "debate"]
    for item in items:
        stem, arm = item_and_arm(item.key)
        assert item.advice.get("kind", "none") == arm
        assert item.first_person == Item.objects.get(study=study, key=stem).first_person
    [shown] = [item.advice for item in items if item.key == "i0:debate"]
    assert shown["text"].startswith("Two AI models wrote this. Each was told to argue for one")
    assert "begins “Bake the pumpkin slowly with sage …”" in shown["text"]
    assert shown["text"].count("\n\n") == 4
    adviser = next(item for item in items if item.key == "i0:consultancy").advice
    assert ("pumpkin" in adviser["text"].rpartition("\n\n")[2]) == (adviser["favors"] == "r1")
    with pytest.raises(StudyError, match="already shows its items"):
        items_for(made, WantedArguments())


def test_nobody_gets_an_item_in_two_arms_and_all_arms_fill(writer):
    study = study_of(6, annotations_per_item=2, items_per_annotator=4)
    made = arms_study(job=write(study, writer, rounds=1), slug="debates")
    made.state = "open"
    made.save()
    for n in range(9):
        answer_all(walk_in(made, f"person{n}"))

    of_person = defaultdict(list)
    for pk, key in Assignment.objects.values_list("annotator", "item__key"):
        of_person[pk].append(item_and_arm(key))
    for got in of_person.values():
        assert len(got) == len({stem for stem, _ in got}) == 4
    largest = [max(Counter(arm for _, arm in got).values()) for got in of_person.values()]
    assert sum(each > 2 for each in largest) <= 2  # the last people get what is left
    taken = Item.objects.filter(study=made).values_list("seats_taken", flat=True)
    assert sum(taken) >= 34
    assert max(taken) == 2
    made.refresh_from_db()
    assert why_not(made).startswith("Items cannot be edited")


def test_the_budget_is_kept_and_the_rest_is_written_later(writer, llm):
    study = study_of()
    job = write(study, writer, budget=0.003, rounds=1)

    assert job.state == "failed"
    assert "is too small for another request" in job.message
    written = job.arguments.filter(state=Argument.State.WRITTEN).count()
    assert 0 < written == len(llm.requests) < 12
    assert arguing.spent(job) <= 0.003

    assert continue_job(study_id=study.pk, job=job, budget=1)
    assert run_job(job_id=job.pk).state == "done"
    assert len(llm.requests) == 12


def test_a_killed_worker_pays_nothing_twice(writer, llm):
    study = study_of(1)
    job = request_arguments(
        study_id=study.pk, wanted=WantedArguments(rounds=1), judge=writer, budget=None, user=None
    )
    lost, other, _ = job.arguments.all()
    Argument.objects.filter(pk=lost.pk).update(state="sent", requests=1, held_nano=7)
    Argument.objects.filter(pk=other.pk).update(state="written", text="x" * 50)

    run_job(job_id=job.pk)

    lost.refresh_from_db()
    assert (lost.state, lost.requests) == ("written", 2)
    assert lost.spent_nano == 7 + 110 * NANO // 10**6
    assert len(llm.requests) == 2


def test_an_item_without_an_argument_leaves_all_arms(writer, llm):
    study = study_of(2)
    llm.answer = lambda body, number: (
        completion("I'm sorry, but I cannot argue for this response at all.")
        if "dinner 1" in body["messages"][0]["content"]
        else argument(body, number)
    )
    job = write(study, writer, rounds=2)

    assert job.message == "1 items have all their arguments. 1 miss an argument and are left out."
    assert set(job.arguments.filter(item_key="i1", round=2).values_list("state", "error")) == {
        ("failed", "An earlier argument is missing.")
    }
    made = arms_study(job=job, slug="debates")
    assert {item_and_arm(key)[0] for key in made.all_items.values_list("key", flat=True)} == {"i0"}


def test_arguments_about_a_changed_item_are_not_shown(writer):
    study = study_of(2)
    job = write(study, writer, rounds=1)
    Item.objects.filter(study=study, key="i0").update(content_hash="other")

    assert set(arguing.transcripts(job)) == {"i1"}


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("<think>Hm.</think>“Because the person likes\n\n[Answer] slow food a lot.”", None),
        ("Too short.", ""),
        ("word " * 300, ""),
        ("I'm sorry, but I cannot argue for this response because it is harmful.", ""),
    ],
)
def test_usable_replies_are_one_paragraph(reply, text):
    expected = "Because the person likes [Answer] slow food a lot." if text is None else text
    assert usable(reply, words=100) == expected


def test_responses_are_named_by_words_that_tell_them_apart():
    study = make_study()
    start = "one two three four five six seven"
    alike = make_item(study=study, r1={"text": f"{start} a b"}, r2={"text": f"{start} c d"})
    same = make_item(study=study, r1={"text": "Same."}, r2={"text": "same."})
    longer = make_item(study=study, r1={"text": "Yes."}, r2={"text": "Yes. Of course."})

    assert openings(alike) == {"r1": f"{start} a …", "r2": f"{start} c …"}
    assert openings(same) is None
    assert openings(longer) == {"r1": "Yes.", "r2": "Yes. Of course."}


def test_the_page_shows_the_cost_starts_and_creates_the_study(writer, llm, monkeypatch):
    study = study_of()
    client = sign_in(study)
    page = reverse("advice:debates", args=["meals"])
    monkeypatch.setattr(
        "extras.advice.pages.write_arguments.delay_on_commit", lambda pk: run_job(job_id=pk)
    )
    assert "Have arguments written" in client.get(page).text
    form = {"judge": writer.pk, "items": 4, "rounds": 1, "words": 60, "seed": 1, "budget": "1"}
    form["arms"] = ["debate", "consultancy"]
    wrong = client.post(page, form | {"rounds": 9})
    assert (wrong.status_code, llm.requests) == (422, [])
    shown = client.post(page, form | {"preview": "1"})
    assert "12 arguments about 4 items" in shown.text
    assert llm.requests == []

    assert client.post(page, form).url == page
    assert len(llm.requests) == 12
    done = client.get(page).text
    assert "4 items have all their arguments." in done
    assert "Speaker 1: Take the" in done
    job = ArgumentJob.objects.get()
    create = {"action": "study", "job": job.public_id, "slug": "debates"}
    refused = client.post(reverse("advice:debates", args=["meals"]), create)
    assert refused.status_code == 403
    waiting = client.get(reverse("advice:debates", args=["meals"]), {"progress": ""})
    assert waiting.json()["open"] is False


def test_a_job_that_no_worker_started_is_done_inline_by_either_command(writer, llm, capsys):
    study_of()
    llm.answer = argument
    for first in (["--judge", "judge", "--rounds", "1"], ["--judge", "judge", "--rounds", "2"]):
        again = first if first[-1] == "1" else []
        call_command("debates", "meals", *first)
        with pytest.raises(CommandError, match="Other arguments are being written"):
            call_command("debates", "meals", "--judge", "judge", "--rounds", "3", "--inline")

        call_command("debates", "meals", *again, "--inline")

        assert "4 items have all their arguments" in capsys.readouterr().out
    assert [job.state for job in ArgumentJob.objects.all()] == ["done", "done"]


def test_by_command(writer, llm, capsys):
    study_of()
    call_command("debates", "meals", "--judge", "judge", "--rounds", "1", "--dry-run")
    assert "12 arguments about 4 items" in capsys.readouterr().out
    assert llm.requests == []

    llm.answer = lambda body, number: error(401, "wrong key")
    with pytest.raises(CommandError, match="without --judge to continue"):
        call_command("debates", "meals", "--judge", "judge", "--rounds", "1", "--inline")
    llm.answer = argument
    call_command("debates", "meals", "--inline")
    assert "4 items have all their arguments. Spent: $0.0013" in capsys.readouterr().out
    call_command("debates", "meals", "--new", "made")
    assert "4 items in each of 3 arms" in capsys.readouterr().out
    assert Study.objects.get(slug="made").state == "draft"
    for arguments, says in (
        (["--judge", "nobody"], "Judges that can: judge"),
        (["--judge", "judge", "--rounds", "9"], "--rounds: Use a whole number from 1 to 4"),
        (["--new", "made"], "made"),
        (["--new", "more", "--beliefs", "meals"], "do not answer for themselves"),
    ):
        with pytest.raises(CommandError, match=says):
            call_command("debates", "meals", *arguments)


def test_people_who_answer_for_themselves_are_not_argued_with():
    study = make_study(perspective="own")
    make_item(study=study)

    with pytest.raises(StudyError, match="answer for themselves"):
        items_for(study, WantedArguments())


def test_a_job_without_a_worker_is_queued_again(writer, monkeypatch):
    study = study_of(1)
    job = request_arguments(
        study_id=study.pk, wanted=WantedArguments(), judge=writer, budget=None, user=None
    )
    ArgumentJob.objects.filter(pk=job.pk).update(state="running", attempts=1)
    assert not continue_job(study_id=study.pk, job=job, budget=None)
    ArgumentJob.objects.filter(pk=job.pk).update(heartbeat_at="2020-01-01T00:00:00Z")
    queued: list[int] = []
    monkeypatch.setattr("extras.advice.tasks.write_arguments.delay", queued.append)

    tidy()

    assert queued == [job.pk]
    ArgumentJob.objects.filter(pk=job.pk).update(
        state="running", heartbeat_at="2020-01-01T00:00:00Z"
    )
    job.refresh_from_db()
    assert continue_job(study_id=study.pk, job=job, budget=None)  # as the command, without workers
