"""Wordings are learned from one part, tried once on the sealed one, and paid for once."""

from decimal import Decimal

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from scipy import stats

from analysis.data.dataset import load_dataset
from analysis.report.build import all_sentences, build_report
from analysis.stats import Sharing
from benchmarks.simulations.of_extras.improving import DIFFER, trial
from benchmarks.simulations.promises import Counts
from extras.improving import improving
from extras.improving.models import LEARN, SEALED, Improvement, LearnedWording
from extras.improving.parts import ItemInPart, of_part, part_of
from extras.improving.prompts import guidelines_in
from extras.improving.requests import ImprovementWish, request_again, request_improvement
from extras.improving.stats import items_for_gain, try_wordings
from judging.models import Judgment
from studies.errors import StudyError
from studies.models import Item, Study, StudyLog
from tests.analysis.builders import answer, make_rater
from tests.api.conftest import program
from tests.extras.improving.conftest import GUIDELINE, replies
from tests.judging.llm_server import completion, error
from tests.judging.run_helpers import asked

KINDS = ("examples", "guidelines")
database = pytest.mark.django_db(transaction=True)


def wish(run, **changes):
    return ImprovementWish(
        **{"run": run, "writer": run.judge, "gain": 30, "most": 2, "kinds": KINDS} | changes
    )


def improved(run, budget=None, **changes):
    made = request_improvement(wish(run, **changes), budget=budget, user=None)
    return improving.run_improvement(improvement_id=made.pk)


def prompts(llm):
    return [request["messages"][0]["content"] for request in llm.requests]


def test_a_trial_is_a_paired_t_test_with_holms_correction():
    rng = np.random.default_rng(2)
    usual, *tried = rng.integers(0, 2, (4, 300)).astype(float)
    sharing = Sharing.of_items(300, {"persona": np.arange(300)})

    found = try_wordings(tried, usual, sharing, earlier=[0.001, None])

    raw = [stats.ttest_rel(one, usual).pvalue for one in tried]
    assert [one.difference.p for one in found] == pytest.approx(raw, rel=0.01)
    adjusted = np.maximum.accumulate(np.sort(raw) * [3, 2, 1]).clip(max=1)
    p_holm = [one.p_holm for one in found if one.p_holm is not None]
    assert sorted(p_holm) == pytest.approx(adjusted, rel=0.01)


def test_sizes_are_refused_sentences_and_parts_stay():
    assert items_for_gain(0.05, tried=3) > items_for_gain(0.05) > items_for_gain(0.1)
    names = [f"p{n}" for n in range(400)]
    half, more = (
        {name for name in names if part_of(name, share)[0] == SEALED} for share in (0.5, 0.7)
    )
    assert 160 < len(half) < 240
    assert half < more  # a larger share seals the same personas and others


def test_trials_say_better_of_nothing_rarely_and_find_what_they_state():
    rng, null, planted = np.random.default_rng(3), Counts(), Counts()
    for _ in range(100):
        trial(rng, null, gain=0.0, items=160, differ=DIFFER)
        trial(rng, planted, gain=0.1, items=items_for_gain(0.1, tried=3), differ=DIFFER)

    assert sum(null.values["says “better” of one"]) <= 8
    assert sum(planted.values["finds the gain"]) >= 70
    for counts in (null, planted):
        assert sum(counts.values["interval of the gain"]) >= 87


def test_a_guideline_is_a_line_of_a_list():
    reply = (
        "<think>- not this one at all</think>Sure.\n1. **Look** at the {{ persona }} first.\n- x"
    )
    assert guidelines_in(reply) == ["Look at the { { persona } } first."]
    assert guidelines_in("I am sorry, I cannot help with that.") == []


@database
def test_a_better_wording_is_found_and_the_sealed_part_is_never_learned_from(run, llm):
    found = improved(run)

    assert found.state == "done", found.message
    assert "was shown to be better" in found.message
    results = {one["kind"]: one for one in found.results["candidates"]}
    assert results["guidelines"]["learned"] > 0.2
    assert results["guidelines"]["is_better"] or results["together"]["is_better"]
    assert results["examples"]["learned"] == 0
    assert "difference" not in results["examples"]  # gained nothing, so it was not tried
    # Nothing of a sealed persona is in any wording or question for guidelines.
    items = [ItemInPart(*row) for row in found.parts]
    texts = dict(Item.objects.values_list("pk", "question"))
    taught = [w.wording.template for w in found.wordings.select_related("wording")]
    taught += [text for text in prompts(llm) if "Write up to five guidelines" in text]
    assert any(texts[item.item] in text for item in of_part(items, LEARN) for text in taught)
    assert not any(texts[item.item] in text for item in of_part(items, SEALED) for text in taught)
    # An item to learn from is judged by wordings that do not show it.
    for learned in found.wordings.exclude(fold=0).select_related("wording", "run"):
        own = {item.item for item in of_part(items, LEARN) if item.fold == learned.fold}
        judged = set(Judgment.objects.filter(run=learned.run).values_list("item", flat=True))
        assert own <= judged  # more, if another fold taught the same
        assert not any(texts[pk] in learned.wording.template for pk in own)
    # The runs are not for the report, and the record says what was sealed and opened.
    assert not any(w.run.in_report for w in found.wordings.exclude(run=None))
    events = {row.event: row.detail for row in StudyLog.objects.filter(study=run.study)}
    assert events["sealed part opened"]["sealed_sha256"] == found.sealed_sha256
    assert events["people's answers split"]["sealed"] == len(of_part(items, SEALED))


@pytest.mark.nightly
@database
def test_a_judge_that_heeds_nothing_is_not_improved(run, llm):
    llm.answer = replies(heeds=False)

    found = improved(run)

    assert found.state == "done"
    assert "so the sealed part was not opened" in found.message
    assert found.opened_at is None
    assert not LearnedWording.objects.filter(is_named=True).exists()


@database
def test_requests_that_do_not_fit_show_fewer_cases(run, llm):
    usual = replies(heeds=True)

    def answer(body, number):
        text = body["messages"][0]["content"]
        if "Write up to five guidelines" in text and "Case 3" in text:
            return error(400, "request exceeds the available context size")
        return usual(body, number)

    llm.answer = answer

    found = improved(run, kinds=("guidelines",))

    assert found.results["better"] == "guidelines"
    assert {len(request.items) for request in found.requests.all()} == {2}


@database
def test_it_says_why_nothing_was_learned(run, llm):
    llm.answer = lambda body, number: completion("The model chose: A")

    found = improved(run, kinds=("guidelines",))

    assert found.message == (
        "No wording was shown to be better: nothing could be learned, so the sealed part was not "
        "opened. Not learned: guidelines (4 of 4 requests failed, the last with “No reply of 5 can "
        "be used.”)."
    )


@database
def test_it_goes_on_where_it_was_killed_and_pays_nothing_twice(run, llm, monkeypatch):
    def killed(*_, **__):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(improving, "try_wordings", killed)
        with pytest.raises(MemoryError):
            improved(run)
    before = len(llm.requests)
    again = Improvement.objects.get()
    assert again.opened_at is not None
    assert request_again(again, budget=None)
    again = improving.run_improvement(improvement_id=again.pk)

    assert again.state == "done"
    assert again.opening == 1  # the same opening, not another one
    assert len(llm.requests) == before
    assert set(asked(llm).values()) == {1}


@database
def test_it_pauses_at_its_budget_and_a_higher_one_continues(run, llm):
    found = improved(run, budget=Decimal("0.01"))

    assert found.state == "failed"
    assert "budget" in found.message
    spent = sum(found.requests.values_list("spent_nano", flat=True))
    spent += sum(w.run.spent_nano for w in found.wordings.exclude(run=None))
    assert 0 < spent <= 0.01 * 10**9
    request_again(found, budget=Decimal(5))
    assert improving.run_improvement(improvement_id=found.pk).state == "done"


@database
def test_answers_that_change_after_the_split_are_refused(run, llm):
    made = request_improvement(wish(run), budget=None, user=None)
    sealed = of_part([ItemInPart(*row) for row in made.parts], SEALED)[0]
    answer(make_rater(study=run.study), Item.objects.get(pk=sealed.item), "r1")

    found = improving.run_improvement(improvement_id=made.pk)

    assert found.state == "failed"
    assert "People’s answers have changed since they were split" in found.message
    assert found.opened_at is None
    assert llm.requests == []


@database
def test_a_small_sealed_part_says_which_size_is_needed(run):
    with pytest.raises(StudyError, match="too small: to find a gain of 5 points in 4 of 5 trials"):
        request_improvement(wish(run, gain=5), budget=None, user=None)
    with pytest.raises(StudyError, match="Use 20 to 80"):
        request_improvement(wish(run, share=99), budget=None, user=None)
    with pytest.raises(StudyError, match="need a judge that writes"):
        request_improvement(wish(run, writer=None), budget=None, user=None)


@pytest.mark.nightly
@database
def test_the_report_says_what_was_tried_and_that_the_seal_was_opened_again(run):
    improved(run)
    report = build_report(load_dataset("taught"), seed=1, bootstrap=20)
    said = [str(each.text) for each in all_sentences(report)]
    assert any("is right more often with the wording “learned 1: " in text for text in said)
    assert not any("opened 2 times" in text for text in said)

    second = improved(run)

    assert second.opening == 2
    report = build_report(load_dataset("taught"), seed=1, bootstrap=20)
    assert report["improvements"][1]["opening"] == 2
    assert report["improvements"][1]["earlier_tried"] >= 1
    assert any("opened 2 times" in str(each.text) for each in all_sentences(report))


@database
def test_programs_estimate_start_and_read_an_improvement(run, monkeypatch):
    queued: list[int] = []
    Study.objects.filter(pk=run.study_id).update(extras=[])
    monkeypatch.setattr("extras.improving.api.improve.delay_on_commit", queued.append)
    client, address = program(run.study, "editor"), f"studies/{run.study.slug}/improvements"
    wanted = {"run": run.public_id, "learn": list(KINDS), "most": 2, "gain": 30}

    cost = client.post(f"{address}/estimate", wanted).json()
    assert cost["learn"] + cost["sealed"] == 112
    assert cost["dollars"] > 0
    assert not Improvement.objects.exists()
    small = client.post(address, wanted | {"gain": 1})
    assert (small.status_code, "too small" in small.json()["detail"]) == (422, True)
    unknown = client.post(address, wanted | {"writer": "nobody"})
    assert unknown.json()["errors"][0]["field"] == "writer"
    assert not Study.objects.get(pk=run.study_id).has_extra("improving")

    started = client.post(address, wanted | {"budget": 5})
    assert started.status_code == 201
    assert Study.objects.get(pk=run.study_id).has_extra("improving")
    improving.run_improvement(improvement_id=queued[0])
    read = client.get(f"{address}/{started.json()['id']}").json()
    assert (read["state"], read["is_open"], read["opening"]) == ("done", False, 1)
    assert read["better"] in {one["kind"] for one in read["candidates"] if one.get("is_better")}
    assert [one["id"] for one in client.get(address).json()["data"]] == [read["id"]]


@database
def test_items_of_one_task_are_improved_whatever_the_task_of_their_study(run, capsys):
    Study.objects.filter(pk=run.study_id).update(task="authorship")
    size = ["--gain", "30", "--most", "2", "--learn", "fields"]

    call_command("improve_judge", "taught", "--dry-run", *size)
    assert "Nothing was asked." in capsys.readouterr().out

    Item.objects.filter(pk=Item.objects.first().pk).update(task="authorship")
    with pytest.raises(CommandError, match="have several tasks, each with its own wording"):
        call_command("improve_judge", "taught", "--dry-run", *size)


@database
def test_the_command_prices_first_and_writes_the_better_wording(run, llm, tmp_path, capsys):
    size = ["--gain", "30", "--most", "2", "--learn", "guidelines", "fields"]
    call_command("improve_judge", "taught", "--dry-run", *size)
    assert "Nothing was asked" in capsys.readouterr().out
    assert not Improvement.objects.exists()
    out = tmp_path / "better.txt"

    call_command("improve_judge", "taught", "--inline", "--out", str(out), *size)

    assert GUIDELINE in out.read_text()
    call_command("import_wording", "taught", str(out), "--name", "mine")
    with pytest.raises(CommandError, match="No such run"):
        call_command("improve_judge", "taught", "--run", "none", "--inline")
    with pytest.raises(CommandError, match="too small"):
        call_command("improve_judge", "taught", "--gain", "3", "--inline")


@database
def test_the_next_labels_show_more_mistakes_than_chance(run, capsys):
    Item.objects.filter(key__endswith="-3").update(first_person="")

    call_command("improve_judge", "taught", "--next", "5")

    said = capsys.readouterr().out
    assert "expected to show" in said
    assert "To learn from: i" in said
    assert "more sealed items, drawn by chance" in said
    with pytest.raises(CommandError, match="Use 1 to 1,000"):
        call_command("improve_judge", "taught", "--next", "0")
