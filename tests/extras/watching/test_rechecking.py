"""Rechecks: anchors asked again of a server, or compared with stored answers."""

import json

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from analysis.passports import BadPassport, PassportError
from extras.watching.asking import ask_again
from extras.watching.rechecking import recheck
from judging.models import Judgment
from judging.selectors import run_progress
from tests.analysis.labelled_items import judge_it, make_certifiable
from tests.extras.watching.builders import make_passport
from tests.judging.conftest import engine, judge, llm, make_judge  # noqa: F401
from tests.judging.llm_server import completion, error
from tests.judging.run_helpers import judge_all

OTHER = {"A": "B", "B": "A"}


@pytest.fixture
def study(db):
    return make_certifiable(200)


class TestStoredAnswers:
    @pytest.fixture
    def passport(self, study):
        judge_it(study)
        return make_passport(study)

    def test_the_same_answers_are_trusted(self, study, passport):
        judge_it(study, judge="later")

        result = recheck(study, passport, answers_of="later")

        assert result.trust == "TRUSTED"
        assert (result.loss.value, result.loss.lost, result.loss.gained) == (0, 0, 0)
        assert result.loss.interval[1] <= 0.05

    def test_a_judge_that_lost_its_skill_is_not(self, study, passport):
        judge_it(study, judge="later", is_right=lambda number: number % 4 > 0)

        result = recheck(study, passport, answers_of="later")

        assert result.trust == "NOT TRUSTED"
        assert (result.loss.value, result.loss.lost) == (0.25, 50)
        assert (
            "50 were wrong instead of right, and 0 right instead of wrong." in result.sentences[1]
        )

    def test_a_few_changes_are_inconclusive_with_the_rechecks_needed(self, study, passport):
        judge_it(study, judge="later", is_right=lambda number: number not in (1, 50))
        gone = Judgment.objects.filter(run__judge__name="later", item__key__gt="i0069")
        gone.update(state="error", choice="", certainty=None)

        result = recheck(study, passport, answers_of="later")

        assert (result.trust, result.unanswered) == ("INCONCLUSIVE", 130)
        assert result.needed > 1
        assert f"About {result.needed} more rechecks would settle this" in result.sentences[-1]

    def test_the_signal_decides_what_the_answer_is(self, study):
        """By probability, the side that is more probable over both orders."""

        def shares(number, order):
            right, wrong = ("r1", "r2")[:: 1 if number % 2 == 0 else -1]
            return {right: 0.7 if order == "r1" else 0.4, wrong: 0.3 if order == "r1" else 0.6}

        both = {"probabilities": shares, "orders": ("r1", "r2")}
        judge_it(study, **both)
        judge_it(study, judge="later", is_right=lambda number: False, **both)
        passport = make_passport(study, signal="entropy")

        assert recheck(study, passport, answers_of="later").loss.value == 0
        by_choice = make_passport(study)
        assert recheck(study, by_choice, answers_of="later").loss.value == 1

    def test_other_items_are_compared_with_the_certified_ones(self, study, passport):
        judge_it(study, judge="later")

        alike = recheck(make_certifiable(80), passport, answers_of="later")
        longer = recheck(make_certifiable(80, words=40), passport, answers_of="later")

        assert alike.trust == "TRUSTED"
        assert longer.trust == "NOT TRUSTED"
        assert "length of the question" in longer.moved[0]

    def test_the_command_exits_with_the_verdict(self, study, passport, tmp_path, capsys):
        judge_it(study, judge="same")
        judge_it(study, judge="worse", is_right=lambda number: number % 2 > 0)
        file = tmp_path / "passport.json"
        file.write_text(passport.text())

        call_command("recheck", str(file), answers_of="same", json=True)
        assert json.loads(capsys.readouterr().out)["verdict"] == "TRUSTED"
        with pytest.raises(SystemExit) as ended:
            call_command("recheck", str(file), "--answers-of=worse", f"--study={study.slug}")
        assert ended.value.code == 1
        with pytest.raises(SystemExit) as ended:
            call_command("recheck", str(file), "--answers-of=same", "--tolerance=.01")
        assert ended.value.code == 3
        for wrong in (["--study=none"], ["--answers-of=nobody"], ["--tolerance=3"]):
            with pytest.raises(CommandError) as refused:
                call_command("recheck", str(file), *wrong)
            assert refused.value.returncode == 2

    def test_anchors_that_are_nowhere_cannot_be_asked(self, study, passport):
        content = dict(passport.content)
        content["anchors"] = [anchor | {"content_hash": "f" * 64} for anchor in content["anchors"]]

        with pytest.raises(BadPassport, match="None of the passport's anchors"):
            recheck(study, type(passport)(content))

    def test_imported_judgments_cannot_be_asked_again(self, study):
        judge_it(study, judge="file", is_imported=True)

        with pytest.raises(PassportError, match="imported, so it cannot be asked again"):
            recheck(study, make_passport(study, judge="file"))


def reply(body, n, *, wrong=lambda question: False):
    """The right side with a certainty of 90; the other one where `wrong` says so."""
    text = body["messages"][0]["content"]
    _, _, asked = text.rpartition("Question ")
    shown = "A" if asked.find("right") < asked.find("wrong") else "B"
    return completion(f"[[{OTHER[shown] if wrong(asked) else shown}]] [[90]]")


@pytest.fixture
def small(db):
    return make_certifiable(40)


@pytest.fixture
def asked(small, judge, llm):  # noqa: F811
    """A passport of a judge on a server, and its run."""
    llm.answer = reply
    run = judge_all(small, judge, setting="certainty")
    return run, make_passport(small, judge="judge")


class TestAskedAgain:
    @pytest.mark.nightly
    def test_the_anchors_are_the_same_requests_again_and_count_nowhere(self, small, asked, llm):  # noqa: F811
        run, passport = asked
        first = sorted(json.dumps([body["messages"], body["seed"]]) for body in llm.requests)

        result = recheck(small, passport, tolerated=0.2)

        again = sorted(json.dumps([body["messages"], body["seed"]]) for body in llm.requests[40:])
        assert again == first
        assert (result.trust, result.loss.n) == ("TRUSTED", 40)
        run.refresh_from_db()
        assert (run.state, run_progress(run).total) == ("done", 40)

    @pytest.mark.nightly
    def test_a_model_that_was_replaced_is_not_trusted(self, small, asked, llm):  # noqa: F811
        _, passport = asked

        def replaced(body, n):
            answer = reply(body, n)
            answer.body = answer.body.replace(b"mock-2024-05-13", b"mock-2025-01-01")
            return answer

        llm.answer = replaced
        result = recheck(small, passport, tolerated=0.2)

        assert result.trust == "NOT TRUSTED"
        assert "“mock-2025-01-01”" in result.moved[0]

    @pytest.mark.nightly
    def test_every_recheck_adds_a_round_to_the_evidence(self, small, asked, llm):  # noqa: F811
        _, passport = asked

        first = recheck(small, passport, tolerated=0.1)
        second = recheck(small, passport, tolerated=0.1)
        third = recheck(small, passport, tolerated=0.1)

        assert [first.loss.rounds, second.loss.rounds, third.loss.rounds] == [1, 2, 3]
        assert (first.trust, third.trust) == ("INCONCLUSIVE", "TRUSTED")
        assert first.needed <= 2
        assert first.loss.interval[1] > second.loss.interval[1] > third.loss.interval[1]

    @pytest.mark.nightly
    def test_a_round_that_failed_is_continued_and_nothing_paid_twice(self, small, asked, llm):  # noqa: F811
        _, passport = asked
        llm.answer = lambda body, n: error(400) if n % 10 == 0 else reply(body, n)
        first = recheck(small, passport, tolerated=0.1)
        so_far = len(llm.requests)
        llm.answer = reply

        second = recheck(small, passport, tolerated=0.1)

        assert (first.unanswered, second.unanswered) == (4, 0)
        assert len(llm.requests) - so_far == 4
        recheck(small, passport, tolerated=0.1)
        assert len(llm.requests) - so_far == 44

    def test_a_run_with_open_questions_is_not_woken(self, small, asked):
        run, _ = asked
        run.judgments.filter(item__key="i0000").update(state="pending", choice="", certainty=None)

        with pytest.raises(Exception, match="which would be asked too"):
            ask_again(run, [])


@pytest.mark.nightly
def test_samples_and_orders_are_asked_again_as_often(engine, llm):  # noqa: F811
    llm.answer = reply
    few = make_certifiable(5)
    judge_all(few, make_judge(base_url=llm.url), setting="certainty", orders="both", samples=2)
    asked = len(llm.requests)

    result = recheck(few, make_passport(few, judge="judge"))

    seeds = {body["seed"] for body in llm.requests[:asked]}
    again = [body["seed"] for body in llm.requests[asked:]]
    assert (asked, len(again), len({*again} & seeds)) == (20, 20, 20)
    assert result.loss.n == 5
