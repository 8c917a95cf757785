"""Rechecks: anchors asked again of a server, or compared with stored answers."""

import json

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from extras.certificates.asking import ask_again
from extras.certificates.certifying import CertificateWish, certify
from extras.certificates.labelling import label
from extras.certificates.passports import BadPassport, PassportError
from extras.certificates.rechecking import recheck
from judging.models import Judge, Judgment
from judging.selectors import run_progress
from tests.extras.certificates.builders import judge_it, make_certifiable
from tests.judging.conftest import engine, judge, llm, make_judge  # noqa: F401
from tests.judging.llm_server import completion, error
from tests.judging.run_helpers import judge_all

OTHER = {"A": "B", "B": "A"}


@pytest.fixture
def study(db):
    return make_certifiable(100)


def passport_of(study, **wish):
    return certify(study, CertificateWish(**{"judge": "steady", "error": 0.1} | wish)).passport


class TestStoredAnswers:
    @pytest.fixture
    def passport(self, study):
        judge_it(study)
        return passport_of(study)

    def test_the_same_answers_are_trusted(self, study, passport):
        judge_it(study, judge="later")

        found = recheck(study, passport, answers_of="later")

        assert found.trust == "TRUSTED"
        assert (found.judge.value, found.judge.lost, found.judge.gained) == (0, 0, 0)
        assert found.items.value == 0
        assert found.sentences[-1] == "Items' part: none, because these are the certified items."

    def test_a_native_probability_certifies_labels_and_is_checked_again(self, study):
        pytest.importorskip("extras.judge_models")  # decision endpoints
        def shares(number, order):
            right, wrong = ("r1", "r2")[:: 1 if number % 2 == 0 else -1]
            return {right: 0.95 if number < 80 else 0.6, wrong: 0.05 if number < 80 else 0.4}

        native = {"parameters": {"backend": "decisions"}, "probabilities": shares}
        judge_it(study, is_right=lambda number: number < 80, **native)
        judge_it(study, judge="later", **native)
        judge_it(study, judge="writes", probabilities=shares)

        passport = passport_of(study, signal="native")

        assert (passport["threshold"], passport["coverage"]) == (50, 0.8)
        assert "whose native probability of its answer is 50 or more" in passport["guarantee"]
        labels = label(study, passport)
        assert (labels.labelled, labels.left) == (80, {"below_threshold": 20})
        found = recheck(study, passport, answers_of="later")
        assert (found.trust, found.judge.gained) == ("TRUSTED", 20)
        # Log-probabilities are another signal.
        refused = certify(study, CertificateWish(judge="writes", signal="native"))
        assert refused.found.reason == "empty_group"

    def test_a_judge_that_lost_its_skill_is_not(self, study, passport):
        judge_it(study, judge="later", is_right=lambda number: number % 4 > 0)

        found = recheck(study, passport, answers_of="later")

        assert found.trust == "NOT TRUSTED"
        assert (found.judge.value, found.judge.lost) == (-0.25, 25)
        assert "25 changed from right to wrong, 0 from wrong to right." in found.sentences[1]

    def test_a_few_changes_are_inconclusive_with_the_labels_needed(self, study, passport):
        judge_it(study, judge="later", is_right=lambda number: number not in (1, 50))
        gone = Judgment.objects.filter(run__judge__name="later", item__key__gt="i0069")
        gone.update(state="error", choice="", certainty=None)

        found = recheck(study, passport, answers_of="later")

        assert (found.trust, found.unanswered) == ("INCONCLUSIVE", 30)
        assert found.needed > 70
        assert f"About {found.needed:,} labelled anchors" in found.sentences[-1]

    def test_other_items_have_a_part_of_their_own(self, study, passport):
        judge_it(study, judge="later")
        other = make_certifiable(80)
        judge_it(other, certainty=lambda number: 50 + number % 40)

        found = recheck(other, passport, answers_of="later")

        assert found.items.n == 80
        assert found.items.value == 0  # everything was right, whatever the certainty

        longer = make_certifiable(80, words=40)
        moved = recheck(longer, passport, answers_of="later")
        assert moved.trust == "NOT TRUSTED"
        assert "length of the question" in moved.moved[0]
        assert moved.items_reason == "the judge has not answered the items of this study yet."

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
            recheck(study, passport_of(study, judge="file"))


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
    return run, passport_of(small, judge="judge")


class TestAskedAgain:
    def test_the_anchors_are_the_same_requests_again_and_count_nowhere(self, small, asked, llm):  # noqa: F811
        run, passport = asked
        first = sorted(json.dumps([body["messages"], body["seed"]]) for body in llm.requests)

        found = recheck(small, passport, tolerated=0.1)

        again = sorted(json.dumps([body["messages"], body["seed"]]) for body in llm.requests[40:])
        assert again == first
        assert (found.trust, found.judge.n) == ("TRUSTED", 40)
        run.refresh_from_db()
        assert (run.state, run_progress(run).total) == ("done", 40)

    def test_a_model_that_was_replaced_is_not_trusted_and_labels_nothing(self, small, asked, llm):  # noqa: F811
        _, passport = asked

        def replaced(body, n):
            answer = reply(body, n, wrong=lambda asked: n % 2)
            answer.body = answer.body.replace(b"mock-2024-05-13", b"mock-2025-01-01")
            return answer

        llm.answer = replaced
        found = recheck(small, passport, tolerated=0.1)

        assert found.trust == "NOT TRUSTED"
        assert "“mock-2025-01-01”" in found.moved[0]
        assert found.judge.is_change
        other = make_certifiable(40)
        judge_all(other, Judge.objects.get(), setting="certainty")
        with pytest.raises(PassportError, match="mock-2025-01-01"):
            label(other, passport)

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

    @pytest.mark.nightly
    def test_label_asks_about_items_without_an_answer_once(self, asked, llm, tmp_path, capsys):  # noqa: F811
        _, passport = asked
        file = tmp_path / "passport.json"
        file.write_text(passport.text())
        other = make_certifiable(30)
        options = ["--judge=judge", f"--passport={file}", "--inline"]

        call_command("label", other.slug, *options)
        call_command("label", other.slug, *options)

        told = capsys.readouterr()
        assert "Asking judge about 30 unanswered items." in told.err
        assert told.out.count("30 of 30 items labelled by judge.") == 2
        assert len(llm.requests) == 70

    def test_a_run_with_open_questions_is_not_woken(self, small, asked):
        run, _ = asked
        run.judgments.filter(item__key="i0000").update(state="pending", choice="", certainty=None)

        with pytest.raises(Exception, match="which would be asked too"):
            ask_again(run, [])


def test_samples_and_orders_are_asked_again_as_often(engine, llm):  # noqa: F811
    llm.answer = reply
    few = make_certifiable(30)
    judge_all(few, make_judge(base_url=llm.url), setting="certainty", orders="both", samples=2)
    passport = passport_of(few, judge="judge", error=0.1, signal="agreement", anchors=5)
    asked = len(llm.requests)

    found = recheck(few, passport)

    seeds = {body["seed"] for body in llm.requests[:asked]}
    again = [body["seed"] for body in llm.requests[asked:]]
    assert (asked, len(again), len({*again} & seeds)) == (120, 20, 20)
    assert found.judge.n == 5
