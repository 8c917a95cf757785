"""Prolific from the command line, from draft to payday."""

import pytest
from django.core.management import CommandError, call_command

from annotation.models import ProlificStudy
from annotation.prolific.sync.sync import follow
from tests.annotation.prolific.life import (
    arrive,
    finish,
    launched,
    make_recruiting,
    published,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def typed(monkeypatch):
    """What a person types at the next questions."""

    def answer(*texts: str) -> list[str]:
        left, asked = list(texts), []

        def read(question: str = "") -> str:
            asked.append(question)
            return left.pop(0)

        monkeypatch.setattr("builtins.input", read)
        return asked

    return answer


def run(*args: str) -> None:
    call_command("prolific", *args)


def test_the_check_shows_the_cost_and_creates_nothing(study, prolific, capsys):
    run("launch", study.slug, "--check")

    assert "Total with fees and tax: $37.80" in capsys.readouterr().out
    assert prolific.world.studies == {}


def test_blocking_checks_are_named_and_fail_the_command(study, prolific):
    with pytest.raises(CommandError, match="Atlantis"):
        run("launch", study.slug, "--country", "Atlantis")
    with pytest.raises(CommandError, match="Atlantis"):
        run("launch", study.slug, "--check")


@pytest.mark.nightly
@pytest.mark.parametrize("action", [["stop"], ["places", "2"], ["settle", "--approve"]])
def test_answering_no_changes_nothing(action, study, prolific, typed):
    row = published(study)
    finish(prolific, *arrive(prolific, row))
    asked = typed("no")
    name, *rest = action

    with pytest.raises(CommandError):
        run(name, study.slug, *rest)

    if name == "settle":
        assert "$4.50" in asked[0]

    remote = prolific.world.show_study(row.prolific_id)
    assert (remote["status"], remote["total_available_places"]) == ("ACTIVE", 6)
    assert {s.status for s in prolific.world.submissions.values()} == {"AWAITING REVIEW"}


def test_pausing_starting_adding_and_stopping(study, prolific):
    row = published(study)

    for args, state in (
        (["pause"], "PAUSED"),
        (["start"], "ACTIVE"),
        (["places", "2", "--yes", "--beyond-need"], "ACTIVE"),
        (["stop", "--yes"], "COMPLETED"),
    ):
        run(args[0], study.slug, *args[1:])
        assert prolific.world.show_study(row.prolific_id)["status"] == state
    assert prolific.world.studies[row.prolific_id]["total_available_places"] == 8


def test_the_papers_preset_is_one_option(prolific):
    study = make_recruiting(items=300, per_person=30)

    run("launch", study.slug, "--preset", "paper")

    (sent,) = prolific.world.studies.values()
    assert (sent["total_available_places"], sent["reward"], len(sent["filters"])) == (30, 450, 6)


@pytest.mark.parametrize(
    "args",
    [
        ["--age", "75-18"],
        ["--age", "x"],
        ["--balance", "sex"],
        ["--balance", "=a,b"],
        ["--devices", "watch"],
        ["--filter", "diet"],
        ["--filter", "age=:"],
        ["--filter", "diet=Vegan | =3"],
        ["--filter", "diet=Vegan &&"],
    ],
)
def test_incomplete_options_are_refused_with_an_example(args, study, prolific):
    with pytest.raises(CommandError, match="takes"):
        run("launch", study.slug, *args)


@pytest.mark.nightly
def test_filters_pace_and_a_later_publication_by_options(study, prolific, capsys):
    options = ["--country", "United States", "--country", "Canada", "--filter", "age=18:40"]
    options += ["--filter", "diet=Vegan,Vegetarian && age=60: | sex=Female", "--at-once", "3"]
    run("launch", study.slug, *options, "--naivety", "0", "--approve-at-once", "--check")
    run("launch", study.slug)
    run("walk", study.slug, "--email", "me@example.org")
    with pytest.raises(CommandError, match="takes a time"):
        run("publish", study.slug, "--yes", "--at", "soon")
    run("publish", study.slug, "--yes", "--at", "2090-12-31T09:30")
    run("unschedule", study.slug)

    said = capsys.readouterr().out
    assert "living in United States or Canada, with Age: 18 to 40" in said
    assert "https://app.prolific.com/studies/" in said
    assert "Scheduled for 2090-12-31 09:30 UTC." in said
    sent = next(one for one in prolific.world.studies.values() if one["internal_name"])
    assert sent["submissions_config"]["max_concurrent_submissions"] == 3
    assert [one["filter_id"] for one in sent["filters"]][1:] == ["age", "or"]
    assert sent["status"] == "UNPUBLISHED"


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("option", [["--naivety", "2"], ["--at-once", "-3"]])
def test_a_pace_that_prolific_does_not_have_blocks(option, study, prolific):
    with pytest.raises(CommandError, match="launch plan"):
        run("launch", study.slug, *option)


def test_people_are_asked_to_return_by_reason(study, prolific, capsys):
    row = published(study)
    person = prolific.world.arrive(row.prolific_id)
    prolific.world.finish(person["submission"], "NOCODE")

    run("settle", study.slug, "--returns", "We have no answers of yours", "--yes")

    assert prolific.world.submissions[person["submission"]].return_requested is not None


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize(
    ("action", "method", "path", "again"),
    [
        (["launch"], "POST", "studies/", "prolific launch {}"),
        (["webhooks"], "POST", "hooks/subscriptions/", "prolific webhooks {}"),
        (["pause"], "POST", "transition/", "prolific sync {}"),
    ],
)
def test_an_unknown_outcome_names_the_command_that_finds_out(
    action, method, path, again, study, prolific, settings
):
    """Following the advice settles the doubt: one draft, one set of hooks, the true state."""
    settings.PUBLIC_BASE_URL = "https://study.example.org"
    if action != ["launch"]:
        published(study)
    prolific.fault(method, path, "dropped_after")
    if action != ["webhooks"]:
        prolific.fault("GET", "studies/", "502_html", times=1)

    with pytest.raises(CommandError) as told:
        run(action[0], study.slug)
    assert str(told.value).endswith(f"To find out, run: {again.format(study.slug)}")
    prolific.faults.clear()
    run(*again.format(study.slug).split()[1:])

    assert len(prolific.world.studies) == 1
    row = ProlificStudy.objects.get()
    if action == ["webhooks"]:
        assert {hook.confirmed for hook in prolific.world.hooks.values()} == {True}
    else:
        assert row.status == prolific.world.show_study(row.prolific_id)["status"]


def test_forget_refill_and_sync_answer_in_one_line(study, prolific, capsys):
    launched(study)
    run("forget", study.slug)
    published(study)
    follow(study_id=study.pk)
    for action in ("refill", "sync"):
        run(action, study.slug)

    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert "None yet" in lines[-1]


@pytest.mark.parametrize("workspaces", [[], [("a" * 24, "Lab A"), ("b" * 24, "Lab B")]])
def test_without_exactly_one_workspace_a_person_must_name_one(
    workspaces, study, prolific, settings
):
    settings.PUBLIC_BASE_URL = "https://study.example.org"
    prolific.world.workspaces = [{"id": pk, "title": title} for pk, title in workspaces]

    for action in ("webhooks", "launch"):
        with pytest.raises(CommandError, match="--workspace") as told:
            run(action, study.slug)
        assert all(f"{title} ({pk})" in str(told.value) for pk, title in workspaces)
    with pytest.raises(CommandError, match="Set the plan's workspace"):
        run("launch", study.slug, "--check")
