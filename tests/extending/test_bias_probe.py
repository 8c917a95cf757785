"""docs/extending/bias-probe.md, followed word for word: its probe changes what is asked."""

import shlex
import sys

import pytest
from django.core.management import call_command

from judging.bias import probe_choices
from judging.models import JudgeRun
from studies.extra import manifests
from tests.extending.page import blocks
from tests.extending.registering import register
from tests.factories import make_item, make_study
from tests.judging.conftest import make_judge

PAGE = "bias-probe.md"
MODULE = "judging/bias/doubt.py"


@pytest.fixture
def registered(tmp_path, monkeypatch):
    before = [probe.name for probe in probe_choices.OWN]
    probes = register(
        PAGE,
        module=MODULE,
        registry=probe_choices,
        name="OWN",
        folder=tmp_path,
        patch=monkeypatch,
    )
    assert sorted(probe.name for probe in probes) == sorted([*before, "doubt"])
    yield
    sys.modules.pop("judging.bias.doubt")
    manifests.cache_clear()


@pytest.mark.usefixtures("registered")
def test_the_command_of_the_page_asks_with_the_changed_response(engine, llm):
    make_judge(name="recorded", base_url=llm.url)
    study = make_study(slug="films")
    for number in range(3):
        make_item(study=study, key=f"i{number}", r2={"text": f"Yes, {number}."})
    (command,) = blocks(PAGE, "")

    call_command(*shlex.split(command)[1:])

    run = JudgeRun.objects.get()
    assert run.parameters["bias_probe"] == {"name": "doubt@r2", "target": "r2"}
    prompts = [body["messages"][0]["content"] for body in llm.requests]
    assert sorted(p.count("But who can really say?") for p in prompts) == [1, 1, 1]
    assert all(f"Yes, {n}. But who" in "".join(prompts) for n in range(3))
