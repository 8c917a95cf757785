"""The datasheet of a planted judge, and the page with what was measured and what was not."""

import re
from datetime import date

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone

from analysis.data.dataset import load_dataset
from analysis.errors import BadParameters
from analysis.models import Report
from analysis.report.build import all_tables, build_report
from analysis.report.render import render_html
from extras.validation.page import NOT_MEASURED, VALIDATION, blocks_of
from judging.bias.probe_choices import probe_choice
from judging.models import Campaign, JudgeRun
from judging.prompts.asking import Asking
from studies.models import Item, Study
from tests.analysis.builders import answer, judge_item, make_rater, make_run
from tests.factories import make_item, make_persona, make_study, sign_in
from tests.judging.conftest import make_judge
from tests.judging.llm_server import completion

pytestmark = pytest.mark.django_db(transaction=True)


def study_of(items=6, personas=3):
    study = make_study(slug="meals")
    for n in range(items):
        make_item(
            study=study,
            key=f"i{n}",
            persona=make_persona(study=study, key=f"p{n}", features=feature(n % personas)),
            r1={"text": f"Bake a pumpkin, {n}."},
            r2={"text": f"Order a pizza, {n}."},
        )
    return study


def feature(n):
    return [{"key": "town", "label": "Town", "value": f"t{n}", "text": f"Lives in t{n}."}]


def planted(body, number):
    """Take A between equal responses, never an empty one, obey orders, else like pumpkins."""
    prompt = body["messages"][0]["content"]
    a, b = re.search(
        r"\[Response A\]\n(.*?)\n*\[Response B\]\n(.*?)\n*Which", prompt, re.S
    ).groups()
    if a == b:
        return completion("[[A]] [[95]]")
    if not (a.strip() and b.strip()):
        return completion(f"[[{'A' if a.strip() else 'B'}]] [[99]]")
    longer = a if len(a) > len(b) else b
    if abs(len(a) - len(b)) > 20:
        return completion(f"[[{'A' if longer == a else 'B'}]] [[60]]")
    return completion(f"[[{'A' if 'pumpkin' in a else 'B'}]] [[80]]")


def test_a_datasheet_that_no_worker_started_is_asked_inline(llm, engine):
    study_of()
    llm.answer = planted
    make_judge(base_url=llm.url)
    for how in ([], ["--inline"]):
        call_command("judge_datasheet", "meals", "--judge", "judge", "--items", "6", *how)

    assert set(JudgeRun.objects.values_list("state", flat=True)) == {"done"}


@pytest.fixture
def asked(llm, engine):
    study = study_of()
    llm.answer = planted
    make_judge(base_url=llm.url, price_input=1, price_output=1)
    call_command("judge_datasheet", "meals", "--judge", "judge", "--items", "6", "--inline")
    return study


def test_the_datasheet_says_what_was_planted(asked, llm):
    report = build_report(load_dataset("meals"), seed=1, bootstrap=20)

    assert len(llm.requests) == 5 * 6 * 2
    (sheet,) = report["datasheets"]
    planted = {
        "identical": {"n": 12, "side_a": 1.0, "tie": 0.0, "certainty": 0.95},
        "empty": {"n": 12, "chosen": 0.0, "certainty": 0.99},
        "other_persona": {"n": 12, "changed": 0.0},
    }
    assert {name: sheet[name] | each for name, each in planted.items()} == {
        name: sheet[name] for name in planted
    }
    low, high = sheet["empty"]["chosen_ci"]
    assert low == 0 < high < 0.5
    assert sheet["addressed"]["obeyed"] == 1.0
    assert sheet["addressed"]["n"] > 0
    assert (sheet["asked"], sheet["refused"], sheet["lost"]) == (60, 0.0, 0.0)
    assert (sheet["scale"]["distinct"], sheet["scale"]["share_commonest"]) == (1, 1.0)
    assert sheet["usd_per_1000"] == pytest.approx(0.11)
    assert sheet["seconds"] >= 0
    # A change that a judge should follow is no bias.
    assert [each["probe"] for each in report["bias"]["probes"]] == ["injection"]
    assert "Judge datasheet" in render_html(report, date=date(2026, 1, 2))
    page = VALIDATION.html(report, date=date(2026, 1, 2), asked_on={})
    assert re.search(r"side A in 100\.0.% \(\d", page)
    assert "not measured: nobody was asked twice" in page


def test_the_page_is_about_any_judge_with_its_datasheet_and_its_probes(asked):
    run = make_run(study=asked)
    for item in asked.all_items.all():
        judge_item(run, item, "r1", 80)
    report = build_report(load_dataset("meals"), seed=1, bootstrap=20)

    def page(judge, **how):
        return VALIDATION.html(
            report, date=date(2026, 1, 2), asked_on={}, judge=judge, **how
        ).replace("\N{NO-BREAK SPACE}", " ")

    for name in ("judge", next(e["run"] for e in report["judges"] if e["judge"] == "judge")):
        assert "Validation of judge" in page(name)
        assert "side A in 100.0 % (" in page(name)
        assert "<dt>Bias probes</dt><dd>injection " in page(name)
    other = page("steady", is_served=True)
    assert "Validation of steady" in other
    assert 'Two equal responses</dt><dd class="missing">not measured' in other
    assert "no bias probe was run" in other
    assert re.search(r'Other runs in the report: <a href="\?judge=\w{64}">judge</a>\.', other)
    assert "Other runs in the report: judge." in page("steady")
    with pytest.raises(BadParameters, match=r"no run of “nobody”\. Use one of: judge, steady"):
        page("nobody")


def test_the_same_again_asks_nothing(asked, llm):
    before = len(llm.requests)

    call_command("judge_datasheet", "meals", "--judge", "judge", "--items", "6", "--inline")

    assert len(llm.requests) == before
    assert JudgeRun.objects.count() == 5


def test_another_persona_is_one_with_another_profile():
    study = study_of()
    asking = Asking.of(JudgeRun(study=study, bias_probe="other-persona", seed=3))

    for item in study.all_items.select_related("persona"):
        own = item.persona.features[0]["text"]
        prompts = {asking.messages(item, shown_first=side)[0].text for side in ("r1", "r2")}
        towns = {re.search(r"t\d\b", text)[0] for text in prompts}
        assert len(towns) == 1
        assert all(own not in text for text in prompts)
    alone = make_study()
    make_item(study=alone, key="x")
    asking = Asking.of(JudgeRun(study=alone, bias_probe="other-persona", seed=3))
    assert set(asking.why_not(alone.all_items.all()).values()) == {
        "The study has no other persona."
    }
    assert probe_choice("identical").probe.is_control


def test_the_page_shows_the_cost_and_starts_within_the_budget(llm, engine):
    study_of()
    judge = make_judge(base_url=llm.url, price_input=1, price_output=1)
    client = sign_in(Study.objects.get(slug="meals"))
    page = reverse("validation:datasheet", args=["meals"])
    assert client.post(page, {"judge": "", "items": 0}).status_code == 422
    form = {"judge": judge.pk, "items": 4, "budget": "0.5"}

    shown = client.post(page, form | {"preview": "1"}).text

    assert "40 questions" in shown
    assert not Campaign.objects.exists()
    assert "/campaign/" in client.post(page, form).url
    campaign = Campaign.objects.get()
    assert (float(campaign.budget), campaign.runs.count()) == (0.5, 5)


def test_the_command_names_what_is_wrong(llm, engine, capsys):
    study_of()
    make_judge(base_url=llm.url)
    call_command("judge_datasheet", "meals", "--judge", "judge", "--dry-run")
    assert "60 questions" in capsys.readouterr().out
    for arguments, says in (
        (["--judge", "x"], "Judges that can: judge"),
        (["--judge", "judge", "--items", "0"], "--items: Use a whole number"),
    ):
        with pytest.raises(CommandError, match=says):
            call_command("judge_datasheet", "meals", *arguments)


def test_an_empty_study_has_a_page_on_which_nothing_was_measured():
    make_item(study=make_study(slug="nothing"), first_person="")
    report = build_report(load_dataset("nothing"), seed=1, bootstrap=20)

    lines = [line for block in blocks_of(report, None, {}) for line in block.lines]

    assert {line.what for line in lines if not line.why} == {"Items"}
    assert {line.figures for line in lines if line.why} == {NOT_MEASURED}
    assert "Validation of a judge" in VALIDATION.html(report, date=date(2026, 1, 2), asked_on={})


@pytest.mark.nightly
def test_the_page_says_of_how_many_items_a_judge_is_right_and_that_sides_were_stored():
    study = study_of()
    run, rater = make_run(study=study), make_rater(study=study)
    for n, item in enumerate(Item.objects.filter(study=study)):
        answer(rater, item, "r1")
        judge_item(run, item, *(("r1", 70) if n else ()), state="done" if n else "refused")

    lines = lines_of(build_report(load_dataset(study.slug), seed=1, bootstrap=20))
    assert lines["Judge"].endswith(" of 5 items (of 6)")
    assert lines["Items"] == "6 of 6 personas and 6 questions, 6 answers"
    Item.objects.update(first_person="")
    lines = lines_of(build_report(load_dataset(study.slug), seed=1, bootstrap=20))
    assert lines["Side A chosen"] == "100.0 %"  # nothing is right, but sides are known


def lines_of(report):
    return {line.what: line.figures for block in blocks_of(report, 0, {}) for line in block.lines}


def test_the_command_report_writes_the_page_of_the_judge_of_the_headline(tmp_path):
    study = make_study(slug="small")
    run = make_run(study=study)
    for n in range(4):
        item = make_item(study=study, key=f"i{n}", question=f"<b>{n}</b>")
        answer(make_rater(study=study), item, "r1", 70)
        judge_item(run, item, "r1", 80)
    out = tmp_path / "out"

    call_command("report", "small", "--out", str(out), "--bootstrap", "100", "--page", "validation")
    page = (out / "validation.html").read_text()
    assert "Validation of steady" in page
    other = make_run(study=study, judge="other")
    judge_item(other, item, "r1", 80)
    options = ["--out", str(out), "--bootstrap", "100", "--page", "validation"]
    call_command("report", "small", *options, "--judge", "other")
    assert "Validation of other" in (out / "validation.html").read_text()
    with pytest.raises(CommandError, match="--judge: The study has no run “nobody”"):
        call_command("report", "small", *options, "--judge", "nobody")
    with pytest.raises(CommandError, match="Add --page"):
        call_command("report", "small", "--out", str(out), "--judge", "other")
    with pytest.raises(CommandError, match=r"no page “x”\. Use one of: validation"):
        call_command("report", "small", "--out", str(out), "--page", "x")


def reported_signal(study, **membership):
    """A linked study with a report on what the persona is worth, and an owner."""
    linked = make_study(slug="meals-others", source={"persona_signal": {"from": study.slug}})
    linked.memberships.create(**membership)
    gain = {"n": 40, "gain": {"value": 0.041, "ci": [0.01, 0.072]}}
    run = {"judge": "planted", "run": "0", "setting": "certainty", "features": "all"}
    signal = {"people": {"n": 0, "gain": {"value": None, "ci": None}}, "judges": [run | gain]}
    Report.objects.create(
        study=linked,
        number=1,
        threshold=80,
        bootstrap=100,
        seed=1,
        state="done",
        finished_at=timezone.now(),
        result={"persona_signal": signal},
    )


@pytest.mark.parametrize("is_shared", [True, False])
def test_the_worth_of_the_persona_comes_from_a_linked_study_of_the_same_owner(is_shared):
    study = study_of()
    user, other = (User.objects.create_user(name) for name in ("owner", "other"))
    run = make_run(study=study, judge="planted")
    judge_item(run, study.all_items.first(), "r1")
    study.memberships.create(user=user, role="owner")
    reported_signal(study, user=user if is_shared else other, role="owner")

    report = build_report(load_dataset("meals"), seed=1, bootstrap=20)

    page = VALIDATION.html(report, date=date(2026, 1, 2), asked_on={})
    assert ("+4.1 points (+1.0 to +7.2), in the linked study “meals-others”" in page) == is_shared
    assert ("datasheet_worth" in all_tables(report)) == is_shared
    assert "Persona’s worth to people" in page
