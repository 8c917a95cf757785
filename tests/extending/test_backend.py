"""docs/extending/backend.md, followed word for word: its backend judges a study to the end."""

import shlex
import sys

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from judging.backends import usual
from judging.models import Judge, JudgeRun
from studies.extra import manifests
from tests.extending.page import blocks
from tests.extending.registering import register
from tests.factories import make_item, make_study, sign_in

PAGE = "backend.md"
MODULE = "judging/backends/length.py"


@pytest.fixture
def registered(tmp_path, monkeypatch):
    before = [each.name for each in usual.OWN]
    found = register(
        PAGE,
        module=MODULE,
        registry=usual,
        name="OWN",
        folder=tmp_path,
        patch=monkeypatch,
    )
    assert [kind.name for kind in found] == [*before, "length"]
    yield
    sys.modules.pop("judging.backends.length")
    manifests.cache_clear()


@pytest.fixture
def study(engine):
    study = make_study(slug="films")
    for number in range(3):
        r1, r2 = {"text": "short"}, {"text": f"a much longer answer, number {number}"}
        make_item(study=study, key=f"i{number}", r1=r1, r2=r2)
    return study


def follow(command):
    call_command(*shlex.split(command)[1:])


@pytest.mark.usefixtures("registered")
def test_the_commands_of_the_page_judge_the_study_to_the_end(study, capsys):
    commands, printed = blocks(PAGE, "")

    for command in commands.splitlines():
        follow(command)

    run = JudgeRun.objects.get()
    judgments = run.judgments.order_by("item__key", "shown_first")
    assert printed.strip() in capsys.readouterr().out
    assert run.state == "done"
    assert [(j.state, j.choice, j.model_snapshot) for j in judgments] == [
        ("done", "r2", "longer")
    ] * 6
    assert {j.sent_with.parameters["rule"] for j in judgments} == {"longer"}
    assert (run.spent, run.judge.is_priced) == (0, True)  # it costs no money


@pytest.mark.usefixtures("registered")
def test_what_it_cannot_do_is_refused_with_the_options_of_the_command(study):
    add = "manage.py add_judge longest --backend length --model longer"
    with pytest.raises(CommandError, match="--model must be longer or shorter, not “other”"):
        follow("manage.py add_judge longest --backend length --model other")
    with pytest.raises(CommandError, match="--structured cannot be used with the backend length"):
        follow(f"{add} --structured")
    with pytest.raises(CommandError, match="Use --probabilities with one of: no"):
        follow(f"{add} --probabilities only")
    assert not Judge.objects.exists()

    follow(add)

    assert not JudgeRun.objects.exists()


@pytest.mark.usefixtures("registered")
def test_the_form_offers_the_judge_and_its_estimate_costs_nothing(study):
    follow("manage.py add_judge longest --backend length --model longer")
    plan = {
        "name": "Web",
        "judges": ["longest"],
        "settings": ["standard"],
        "features": ["all"],
        "orders": "both",
        "samples": "1",
        "estimate": "yes",
    }

    page = sign_in(study, "editor").post(reverse("judging:new", args=["films"]), plan)

    estimate = page.context["estimate"]
    assert (estimate.questions, estimate.dollars, estimate.unpriced) == (6, 0, [])
