"""A judge that ranks all responses of a set: one request, and a judgment for each of its pairs."""

import re
from collections import Counter

import pytest

from demo.judges import Judges
from demo.truth import World
from judging.engine.messages import prompt_sha256
from judging.errors import ConflictingValue
from judging.models import Attempt, Judgment
from judging.prompts.asking import Asking
from judging.runs import lifecycle
from judging.runs.costs import estimate_run
from judging.runs.spec import Reuse, RunSpec
from judging.worker.chunks import judge_chunk
from judging.worker.run_states import share_replies
from studies.importers.items.storage import import_items
from studies.models import Item, Study
from tests.factories import make_study
from tests.judging.llm_server import completion, error
from tests.judging.run_helpers import judge_all, start, states
from tests.studies.files import jsonl, raw_item, read

pytestmark = pytest.mark.django_db(transaction=True)
WORTH = {"best": 3, "good": 2, "poor": 1, "bad": 0}


def of(n, *words, chosen=1):
    responses = [{"key": f"r{k}", "text": f"{word} {n}"} for k, word in enumerate(words, start=1)]
    first = {"label": f"r{chosen}"}
    return raw_item(n, id=f"q{n}", responses=responses, first_person=first)


@pytest.fixture
def study() -> Study:
    study = make_study(slug="sets")
    rows = [of(1, "best", "good", "poor"), of(2, "poor", "bad", "best", "good", chosen=3)]
    import_items("sets", [read(jsonl(*rows), options={"pairs": "all"})])
    study.refresh_from_db()
    return study


def shown_in(body) -> list[str]:
    """The words of the options in the order of the prompt."""
    return re.findall(r"\[Response [A-E]\]\n(\w+) \d", body["messages"][0]["content"])


def ranks(body, number=0):
    """A planted judge: the better word first, whatever the order."""
    words = shown_in(body)
    letters = sorted("ABCDE"[: len(words)], key=lambda one: -WORTH[words["ABCDE".index(one)]])
    return completion(f"{' > '.join(letters)}]] [[{70 + len(words)}]]")


def chosen_word(row: Judgment) -> str:
    return row.item.response(row.choice)["text"].split()[0]


def rows_of(run):
    return list(Judgment.objects.filter(run=run).select_related("item", "asked_with__item"))


@pytest.mark.parametrize(("orders", "requests"), [("random", 2), ("both", 4)])
def test_one_request_for_a_set_and_order_answers_all_its_pairs(study, judge, llm, orders, requests):
    llm.answer = ranks

    run = judge_all(study, judge, setting="listwise", orders=orders)

    rows = rows_of(run)
    assert (run.state, len(rows)) == ("done", 9 * requests // 2)
    assert len(llm.requests) == Attempt.objects.count() == requests
    for row in rows:
        pair = {row.item.r1["text"].split()[0], row.item.r2["text"].split()[0]}
        assert chosen_word(row) == max(pair, key=WORTH.__getitem__)
        assert row.certainty == 70 + len(row.item.options)
        best = row.item.options[row.details["ranking"][0] - 1]["text"]
        assert best.startswith("best")
    asked = [row for row in rows if row.asked_with is None]
    assert len(asked) == requests
    shared = [row for row in rows if row.asked_with is not None]
    assert all(row.details["asked_with"] == row.asked_with.item.key for row in shared)
    assert all(row.prompt_sha256 == row.asked_with.prompt_sha256 for row in shared)
    # The ledger was charged for the requests alone.
    assert run.tokens == 110 * requests


def test_the_prompt_of_every_pair_of_a_set_is_the_one_that_was_sent(study, judge, llm):
    llm.answer = ranks

    run = judge_all(study, judge, setting="listwise", orders="both")

    asking, sent = Asking.of(run), Counter[str]()
    for row in rows_of(run):
        messages = asking.messages(row.item, shown_first=row.shown_first)
        assert prompt_sha256(messages) == row.prompt_sha256
        words = [row.item.options[n - 1]["text"].split()[0] for n in row.details["shown"]]
        assert shown_in({"messages": [{"content": messages[0].text}]}) == words
        first = row.item.response(row.shown_first)["text"].split()[0]
        second = row.item.response("r2" if row.shown_first == "r1" else "r1")["text"].split()[0]
        assert words.index(first) < words.index(second)
        sent[messages[0].text] += 1
    assert set(sent) == {body["messages"][0]["content"] for body in llm.requests}
    orders = {tuple(shown_in(body)) for body in llm.requests}
    assert {order[::-1] for order in orders} == orders
    assert all("X > Y > Z" in text and "{{" not in text for text in sent)


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", ["[Response A]", "Rank all"]),
        ("de", ["[Antwort A]", "Bringen Sie alle in eine Reihenfolge"]),
    ],
)
def test_the_simulated_model_ranks_every_set_in_the_language_of_the_study(
    judge, llm, language, words
):
    study = make_study(slug="sets", language=language)
    rows = [of(1, "best", "good\n\nor so", "poor"), of(2, "poor", "bad", "best", "good")]
    import_items("sets", [read(jsonl(*rows), options={"pairs": "all"})])
    simulated = Judges(World())
    llm.answer = lambda body, number: completion(
        simulated.reply("demo-steady", body["messages"][0]["content"], attempt=2)
    )

    run = judge_all(study, judge, setting="listwise", orders="both")

    assert run.state == "done"
    text = llm.requests[0]["messages"][0]["content"]
    assert all(each in text for each in words)
    for row in rows_of(run):
        assert row.choice
        assert sorted(row.details["ranking"]) == sorted(row.details["shown"])
        assert 1 <= row.certainty <= 100


def test_the_seed_draws_the_order_and_every_position_is_equally_likely(judge, llm):
    study = make_study(slug="many")
    rows = [of(n, "best", "good", "poor") for n in range(300)]
    import_items("many", [read(jsonl(*rows), options={"pairs": "chosen_vs_rest"})])
    run = start(study, judge, setting="listwise")

    items = {item.option_set["id"]: item for item in Item.objects.filter(study=study)}
    asking = Asking.of(run)
    places = Counter(
        asking.reply_format_of(item, shown_first="r1").shown.index(1) for item in items.values()
    )
    assert all(70 <= places[place] <= 130 for place in range(3))


def test_a_bad_reply_is_asked_again_and_an_unreadable_set_ends_for_all_its_pairs(study, judge, llm):
    asked = Counter[str]()

    def one_reads_once(body, number):
        asked[body["messages"][0]["content"]] += 1
        if len(shown_in(body)) == 4:
            return completion("From worst to best: [[A > B > C > D]]")
        return ranks(body) if max(asked.values()) > 1 else completion("Hm.")

    llm.answer = one_reads_once

    run = judge_all(study, judge, setting="listwise")

    assert states(run) == {"done": 3, "unparseable": 6}
    assert {row.replies for row in rows_of(run) if row.state == "unparseable"} == {5}
    assert run.state == "done"


def test_a_failed_request_fails_all_its_pairs_and_a_retry_asks_it_once(study, judge, llm):
    llm.answer = lambda body, n: (
        error(400, "no such thing", "invalid") if len(shown_in(body)) == 4 else ranks(body)
    )
    run = judge_all(study, judge, setting="listwise")
    assert states(run) == {"done": 3, "error": 6}
    asked = len(llm.requests)

    llm.answer = ranks
    lifecycle.retry_failed(run_id=run.pk)
    lifecycle.work_off(run_id=run.pk)

    assert states(run) == {"done": 9}
    assert len(llm.requests) == asked + 1


def test_a_worker_that_dies_before_the_reply_is_shared_loses_and_doubles_nothing(
    study, judge, llm, monkeypatch
):
    llm.answer = ranks
    run = start(study, judge, setting="listwise")
    monkeypatch.setattr("judging.worker.run_states.share_replies", lambda run_id: None)
    judge_chunk(run_id=run.pk)
    assert states(run) == {"done": 2, "pending": 7}
    monkeypatch.undo()

    lifecycle.work_off(run_id=run.pk)
    share_replies(run.pk)

    run.refresh_from_db()
    assert (run.state, states(run)) == ("done", {"done": 9})
    assert len(llm.requests) == 2


def test_more_items_and_the_other_order_are_asked_only_where_they_are_new(study, judge, llm):
    llm.answer = ranks
    judge_all(study, judge, setting="listwise", limit=2)
    assert len(llm.requests) == 1

    judge_all(study, judge, setting="listwise", limit=4)
    assert len(llm.requests) == 2  # the first set was asked; one pair of the second is new

    run = judge_all(study, judge, setting="listwise", orders="both", extend=True)
    assert (len(llm.requests), states(run)) == (4, {"done": 18})


def test_an_estimate_counts_requests(study, judge, llm):
    spec = RunSpec(study_id=study.pk, judge_id=judge.pk, setting="listwise", orders="both")
    from judging.runs.start import run_for

    assert estimate_run(run_for(study, judge, spec), spec).questions == 4
    llm.answer = ranks
    run = judge_all(study, judge, setting="listwise", orders="both")
    assert estimate_run(run, spec).questions == 0
    again = start(study, judge, setting="listwise", samples=2)
    assert estimate_run(again, RunSpec.of(again)).questions == 4


def test_reuse_copies_no_reply_about_a_set(study, judge, llm):
    llm.answer = ranks
    judge_all(study, judge, setting="listwise")

    run = judge_all(study, judge, setting="listwise", samples=2, reuse=Reuse.SAME_PROMPT)

    assert not Judgment.objects.filter(run=run).exclude(reused_from=None).exists()
    assert states(run) == {"done": 18}


def test_other_items_are_skipped_and_a_judge_skips_sets_with_its_own_response(study, judge, llm):
    llm.answer = ranks
    import_items("sets", [read(jsonl(raw_item(9)))])
    rows = [of(7, "best", "good", "poor")]
    rows[0]["responses"][2]["generated_by"] = {"kind": "model", "name": "mock", "family": "own"}
    import_items("sets", [read(jsonl(*rows), options={"pairs": "chosen_vs_rest"})])
    judge.own_sources = ["own"]
    judge.save()

    run = judge_all(study, judge, setting="listwise")

    reasons = {row.item.key: row.error for row in rows_of(run) if row.state == "skipped"}
    assert set(reasons) == {"x9", "q7:r1-r2", "q7:r1-r3"}
    assert reasons["x9"] == "The item was not paired from more than two responses."
    assert "of the set comes from the judge's own family, own" in reasons["q7:r1-r2"]
    assert len(llm.requests) == 2


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"orders": "r1_first"}, "draws the order of all responses"),
        ({"bias_probe": "length"}, "probes change pairs"),
    ],
)
def test_what_does_not_go_with_a_set_is_refused(study, judge, options, sentence):
    with pytest.raises(ConflictingValue, match=sentence):
        start(study, judge, setting="listwise", **options)


def test_a_study_of_pairs_alone_refuses_the_setting(judge):
    study = make_study()
    import_items(study.slug, [read(jsonl(raw_item()))])

    with pytest.raises(ConflictingValue, match="needs items that were paired from more than two"):
        start(study, judge, setting="listwise")
