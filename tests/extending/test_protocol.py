"""docs/extending/protocol.md, followed word for word: its protocol asks and reads to the end."""

import shlex
import sys

import pytest
from django.core.management import call_command
from django.urls import reverse

from analysis.data.dataset import load_dataset
from judging.models import JudgeRun
from judging.protocols import usual
from studies.extra import manifests
from tests.extending.page import blocks
from tests.extending.registering import register
from tests.factories import make_item, make_study, sign_in
from tests.judging.conftest import make_judge
from tests.judging.llm_server import completion

PAGE = "protocol.md"
MODULE = "judging/protocols/share.py"


@pytest.fixture
def registered(tmp_path, monkeypatch):
    before = [each.name for each in usual.OWN]
    protocols = register(
        PAGE,
        module=MODULE,
        registry=usual,
        name="OWN",
        folder=tmp_path,
        patch=monkeypatch,
    )
    assert [protocol.name for protocol in protocols] == [*before, "share"]
    yield
    sys.modules.pop("judging.protocols.share")
    manifests.cache_clear()


@pytest.fixture
def study(engine, llm):
    make_judge(name="recorded", base_url=llm.url)
    study = make_study(slug="films")
    for number in range(3):
        make_item(study=study, key=f"i{number}")
    return study


def follow(command):
    call_command(*shlex.split(command)[1:])


@pytest.mark.usefixtures("registered")
def test_the_command_of_the_page_asks_with_its_words_and_stores_how_it_reads(study, llm):
    (command,) = blocks(PAGE, "")
    replies = ["It depends.", "70]]", "[[20]]", "<think>[[99]]</think> [[51]]"]
    llm.answer = lambda body, n: completion(replies[n - 1])

    follow(f"{command} --orders r1_first")

    run = JudgeRun.objects.get()
    prompt = llm.requests[0]["messages"][0]["content"]
    assert prompt.startswith("Think of 100 people with this profile.\n\n[Person]\n")
    assert prompt.endswith("for example [[50]].\n\n[Answer]\n[[")
    assert "{{" not in prompt
    assert run.state == "done"
    read = sorted((j.choice, j.certainty) for j in run.judgments.all())
    assert read == [("r1", 51), ("r1", 70), ("r2", 80)]  # “It depends.” was asked again


@pytest.mark.usefixtures("registered")
def test_its_form_is_requested_and_read(study, llm):
    make_judge(name="strict", base_url=llm.url, structured=True)
    llm.answer = lambda body, n: completion('{"share": 10}')

    follow("manage.py judge films --judge strict --setting share --orders r1_first --inline")

    form = llm.requests[0]["response_format"]["json_schema"]["schema"]
    assert form["required"] == ["share"]
    choices = JudgeRun.objects.get().judgments.values_list("choice", "certainty")
    assert set(choices) == {("r2", 90)}


@pytest.mark.usefixtures("registered")
def test_the_report_reads_its_runs_and_the_form_offers_it(study, llm):
    llm.answer = lambda body, n: completion("[[70]]")
    follow("manage.py judge films --judge recorded --setting share --features none --inline")

    (run,) = load_dataset("films").runs
    page = sign_in(study, "editor").get(reverse("judging:new", args=["films"])).content.decode()

    assert (run.setting, run.prompt.template[:20]) == ("share", "Think of 100 people.")
    assert "Share: how many of 100 such people would prefer response A" in page
