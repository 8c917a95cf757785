"""Rules that explain disagreements: proposed and applied once, tested on the other half, shown."""

from decimal import Decimal

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from scipy import optimize, stats

from analysis.data.dataset import load_dataset
from analysis.disagreements.selection import Selection
from analysis.exports.catalogue import Disclosure, make_table
from analysis.report.build import all_sentences, all_tables, build_report
from analysis.stats import Sharing
from extras.rules import searching, views
from extras.rules.features import MEASURED, MeasuredText, long_words
from extras.rules.halves import halves_of
from extras.rules.models import RuleRequest, RuleSearch
from extras.rules.prompts import favoured_in, proposed_in
from extras.rules.requests import request_again, request_search
from extras.rules.stats import follow_rules, sparse_weights
from extras.rules.stats.reconstruction import PENALTIES
from judging.models import NANO
from studies.models import Item
from studies.statements import clock
from tests.analysis.builders import make_run
from tests.analysis.walking import faults
from tests.factories import sign_in
from tests.judging.conftest import make_judge
from tests.judging.llm_server import completion

database = pytest.mark.django_db(transaction=True)
PROPOSED = "The response that explains every step in order"


def test_a_difference_without_clusters_is_that_of_a_paired_t_test():
    rng = np.random.default_rng(2)
    people, judge, mark = rng.integers(0, 2, (3, 200))
    sharing = Sharing.of_items(200, {"item": np.arange(200)})

    (found,) = follow_rules(mark, np.arange(200), people, judge, sharing)

    expected = stats.ttest_rel((people == mark) * 1.0, (judge == mark) * 1.0)
    assert found.difference == pytest.approx((people == mark).mean() - (judge == mark).mean())
    assert found.p == pytest.approx(expected.pvalue, rel=0.01)
    ends = expected.confidence_interval()
    assert found.interval.low == pytest.approx(ends.low, abs=0.001)
    assert found.differ == (people != judge).sum()


def test_rules_without_enough_items_or_differences_have_no_test():
    item = np.arange(60)
    sharing = Sharing.of_items(60, {"persona": item // 3})
    marks = np.full((3, 60), -1)
    marks[0, :10], marks[1, :30] = 0, 0
    same = np.zeros(60, dtype=int)

    found = follow_rules(marks, item, same, same, sharing)

    assert [each.reason for each in found] == ["too_few_items", "no_variation", "empty_group"]
    assert [each.p for each in found] == [None] * 3
    assert [each.support for each in found] == [10, 30, 0]


def test_the_sparse_model_is_that_of_a_general_optimiser():
    rng = np.random.default_rng(4)
    signs = rng.integers(-1, 2, (120, 4)).astype(float)
    chosen, n = rng.random(120), rng.integers(1, 5, 120)
    share = n / n.sum()
    for penalty in PENALTIES[1::2]:
        most = np.abs(signs.T @ (share * (chosen - 0.5))).max() * penalty

        def loss(parts, most=most):
            score = signs @ (parts[:4] - parts[4:])
            fit = np.logaddexp(0, -score) * chosen + np.logaddexp(0, score) * (1 - chosen)
            return share @ fit + most * parts.sum()

        best = optimize.minimize(loss, np.zeros(8), bounds=[(0, None)] * 8, tol=1e-12).x
        found = sparse_weights(signs, chosen, n, penalty)

        assert found == pytest.approx(best[:4] - best[4:], abs=2e-3)


@pytest.mark.parametrize(
    ("name", "one", "two", "favoured"),
    [
        ("longer", "a" * 100, "a" * 95, -1),
        ("longer", "a" * 100, "a" * 80, 0),
        ("formatted", "plain", "# Title\n- one", 1),
        ("hedges", "It might work, perhaps.", "It works.", 0),
        ("questions", "What do you need?", "Do this.", 0),
        ("persona", "Try the garden.", "Try it.", 0),
        ("declines", "Sure, here it is.", "I'm sorry, but I cannot help with that.", 1),
        ("declines", "I'm sorry that you are ill.", "I cannot help with that.", 1),
        ("numbers", "", "3 of 4", 1),
    ],
)
def test_a_measured_feature_favours_the_response_with_more_of_it(name, one, two, favoured):
    feature = next(each for each in MEASURED if each.name == name)
    shared = long_words("garden"), long_words("")

    assert feature.favours(MeasuredText(one, *shared), MeasuredText(two, *shared)) == favoured


def test_replies_are_read_only_if_they_are_complete():
    reply = (
        "<think>Hm</think>Here:\n1. **The response that is kind**, always.\n- the response that "
    )
    reply += "gives a plan.\nThe response that gives a plan\nOther: no."

    assert proposed_in(reply) == [
        "The response that is kind, always",
        "The response that gives a plan",
    ]
    assert proposed_in("No idea.") == []
    assert favoured_in("1: A\n2) neither\nRule 3: Response B", 3) == "A-B"
    assert favoured_in("1: A\n1: B\n2: A", 2) == ""
    assert favoured_in("1: A", 2) == ""


def test_halves_keep_personas_together_and_are_even():
    keys = [f"i{n}" for n in range(400)]
    personas = [f"p{n % 40}" for n in range(400)]

    half = halves_of(keys, personas)

    assert len({*zip(personas, half.tolist(), strict=True)}) == 40
    assert half.mean() == 0.5


def ask(run, judge=None, budget=None, to_read=60):
    search = request_search(run=run, judge=judge, budget=budget, to_read=to_read, user=None)
    return searching.run_search(search_id=search.pk)


def replies(body, number):
    text = body["messages"][0]["content"]
    if "Write one rule per line" in text:
        return completion(f"{PROPOSED}.\nThe response that mentions penguins.")
    longer = "A" if len(text.split("Response A: ")[1].split("\n")[0]) > 60 else "B"
    return completion(f"1: {longer}\n2: neither")


@pytest.fixture
def writer(llm, engine):
    llm.answer = replies
    return make_judge(name="writer", base_url=llm.url, price_input=1, price_output=1)


@database
def test_without_a_judge_measured_features_alone_are_tested(run):
    search = ask(run)

    assert (search.state, search.message) == (
        "done",
        f"5 of {len(MEASURED)} rules could be tested.",
    )
    found = {rule["text"]: rule for rule in search.results["rules"]}
    longer = found["The response that is longer"]
    assert longer["support"] == search.results["items"] == 160
    assert longer["difference"] > 0.2
    assert longer["p_holm"] < 0.01
    assert found["The response with more exclamation marks"]["p_reason"] == "empty_group"
    shares = {each["who"]: each["value"] for each in search.results["reconstructed"]}
    assert shares["people"] > 0.8
    assert shares["judge"] < 0.7
    assert shares["Age: 18–34"] == shares["people"]


@pytest.mark.nightly
@database
def test_a_judge_proposes_on_one_half_and_applies_on_the_other(run, writer, llm):
    search = ask(run, writer)

    assert search.state == "done", search.message
    shown = [request["messages"][0]["content"] for request in llm.requests]
    asked, applied = shown[:5], shown[5:]
    assert len(applied) == 60
    questions = dict(Item.objects.values_list("pk", "question"))
    tests = set(search.marked.filter(half=1).values_list("item", flat=True))
    # No item of the test half is shown with the choices, and no item of the other is applied to.
    assert not any(f"{questions[pk]}\n" in text for pk in tests for text in asked)
    assert {pk for pk in questions for text in applied if f"{questions[pk]}\n" in text} <= tests
    assert all("The people chose" not in text for text in applied)
    measured, proposed = (
        [rule for rule in search.results["rules"] if rule["source"] == source]
        for source in ("measured", "proposed")
    )
    assert {rule["weight"] for rule in measured} == {1.0}
    assert measured[0]["support"] == 160  # of both halves
    assert proposed[0]["text"] == PROPOSED
    assert proposed[0]["support"] == 60
    assert proposed[0]["difference"] > 0.2
    assert proposed[1]["p_reason"] == "empty_group"


@database
def test_a_search_goes_on_where_it_was_killed_and_pays_nothing_twice(run, writer, llm, monkeypatch):
    def killed(*_):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(searching, "_mark", killed)
        with pytest.raises(MemoryError):
            ask(run, writer)
    search = RuleSearch.objects.get()
    assert "there was not enough memory" in search.message
    lost = search.requests.exclude(item=None).first()
    RuleRequest.objects.filter(pk=lost.pk).update(state="sent", letters="", held_nano=5)
    before = len(llm.requests)

    assert request_again(search, budget=None)
    search = searching.run_search(search_id=search.pk)

    assert search.state == "done", search.message
    assert len(llm.requests) == before + 1
    lost.refresh_from_db()
    assert (lost.state, lost.requests, lost.held_nano) == ("written", 2, 0)
    # Counting again asks nothing.
    request_again(search, budget=None)
    assert searching.run_search(search_id=search.pk).results == search.results
    assert len(llm.requests) == before + 1


@database
def test_nothing_is_asked_beyond_the_budget_and_a_higher_one_continues(run, writer, llm):
    search = ask(run, writer, budget=Decimal("0.004"))

    assert search.state == "failed"
    assert "is too small for another request" in search.message
    spent = sum(search.requests.values_list("spent_nano", flat=True))
    assert 0 < spent <= 0.004 * NANO
    before = len(llm.requests)
    request_again(search, budget=5)
    assert searching.run_search(search_id=search.pk).state == "done"
    assert len(llm.requests) == 65
    assert before < 65


@database
def test_nothing_to_compare_is_said(run):
    search = ask(make_run(study=run.study, judge="silent"))

    assert search.state == "failed"
    assert "has no judgments yet" in search.message


@pytest.mark.nightly
@database
def test_the_page_prices_first_and_filters_the_explorer(run, writer, llm, monkeypatch):
    client = sign_in(run.study)
    page = reverse("rules:why", args=["apart"])
    monkeypatch.setattr(
        views.search_rules,
        "delay_on_commit",
        lambda pk: searching.run_search(search_id=pk),
        raising=False,
    )
    assert "No search for rules of this run yet" in client.get(page).content.decode()
    wrong = client.get(page, {"cost": "1", "judge": writer.pk, "to_read": "3"})
    assert (wrong.status_code, "greater than or equal to 40" in wrong.content.decode()) == (
        422,
        True,
    )
    given = {"judge": writer.pk, "to_read": "60", "budget": "1", "run": run.public_id}
    priced = client.get(page, given | {"cost": "1"}).content.decode()
    assert "5 requests for rules and 60 to apply them" in priced
    assert "Expected cost: <strong>$0." in priced
    assert llm.requests == []

    client.post(page, given)

    shown = client.get(page).content.decode()
    assert "People follow it more" in shown
    assert PROPOSED in shown
    assert "without a test" in shown
    rule = RuleSearch.objects.get().rules.get(text="The response that is longer")
    chosen = Selection(run=run.public_id, among=f"rule:{rule.public_id}")
    assert chosen.query().replace("&", "&amp;") in shown
    explorer = reverse("disagreements:list", args=["apart"])
    listed = client.get(f"{explorer}?{chosen.query()}").content.decode()
    differ = next(
        each["differ"]
        for each in RuleSearch.objects.get().results["rules"]
        if each["text"] == rule.text
    )
    assert f"{differ} items</h2>" in listed
    assert "Only items for which a rule says something: “The response that is longer”" in listed
    none = client.get(f"{explorer}?among=rule:nothing&show=all").content.decode()
    assert "names a list of items that this study does not have" in none
    assert "0 items</h2>" in none


@pytest.mark.nightly
@database
def test_the_report_tests_the_rules_with_all_other_claims_and_exports_them(run):
    ask(run)

    report = build_report(load_dataset("apart"), seed=1, bootstrap=20)

    assert faults(report) == []
    kind = next(each for each in report["claims_tested"]["kinds"] if each["kind"] == "rules")
    assert kind["level"] > 0
    words = " ".join(str(each.text) for each in all_sentences(report))
    assert (
        "Of 5 rules tested, the clearest is one that people follow more often: “the response"
        in words
    )
    assert {"rules", "reconstructed_choices"} <= all_tables(report).keys()
    table = make_table(run.study, "rules", Disclosure())
    rows = list(table.rows())
    assert len(rows) == 160 * len(MEASURED)
    assert {row["favours"] for row in rows} <= {"r1", "r2", "neither"}


@database
def test_a_search_that_no_worker_started_is_done_inline(run, writer, llm, capsys):
    call_command("find_rules", "apart")
    with pytest.raises(CommandError, match="with measured features only is in progress"):
        call_command("find_rules", "apart", "--judge", "writer", "--inline")

    call_command("find_rules", "apart", "--inline")

    assert "rules could be tested." in capsys.readouterr().out
    assert RuleSearch.objects.get().state == "done"
    RuleSearch.objects.update(state="running", heartbeat_at=clock.now())
    with pytest.raises(CommandError, match="If its process was stopped, try again in a minute"):
        call_command("find_rules", "apart", "--inline")
    RuleSearch.objects.update(heartbeat_at="2020-01-01T00:00:00Z")
    call_command("find_rules", "apart", "--inline")
    assert RuleSearch.objects.get().state == "done"


@database
def test_a_command_waits_for_the_worker_that_searches(run, writer, capsys, monkeypatch):
    def work(task, pk):
        RuleSearch.objects.filter(pk=pk).update(state="done", message="5 rules could be tested.")

    monkeypatch.setattr("judging.management.asking.queue", work)
    call_command("find_rules", "apart", "--run", run.public_id, "--wait")
    assert capsys.readouterr().out == "5 rules could be tested.\n"

    monkeypatch.setattr(
        "judging.management.asking.queue",
        lambda task, pk: RuleSearch.objects.filter(pk=pk).update(
            heartbeat_at="2020-01-01T00:00:00Z"
        ),
    )
    with pytest.raises(CommandError, match="no worker is running"):
        call_command("find_rules", "apart", "--wait")


@database
def test_by_command(run, writer, llm, capsys):
    call_command("find_rules", "apart", "--judge", "writer", "--items", "50", "--dry-run")
    assert "5 requests for rules and 50 to apply them" in capsys.readouterr().out
    assert llm.requests == []
    call_command("find_rules", "apart", "--inline")
    assert f"5 of {len(MEASURED)} rules could be tested." in capsys.readouterr().out
    with pytest.raises(CommandError, match="No such run"):
        call_command("find_rules", "apart", "--run", "nothing")
    with pytest.raises(CommandError, match="Judges that can: steady, writer"):
        call_command("find_rules", "apart", "--judge", "nobody")
