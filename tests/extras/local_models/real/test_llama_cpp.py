"""A real model through every setting; what it thinks of the items is its own affair."""

import logging
import subprocess
import sys

import pytest
import requests

from judging.models import Judge
from judging.protocols.registry import names, protocol
from studies.models import Item
from tests.extras.local_models.real.conftest import MODEL, ROOT, check_ledger
from tests.judging.conftest import make_judge
from tests.judging.run_helpers import judge_all

# A setting that goes on from the replies of a jury is not started by itself.
SETTINGS = [name for name in names() if not protocol(name).needs_others]
ENDED = {"done", "unparseable", "refused", "skipped"}


def make(llm, **options):
    fields = {"model": MODEL, "max_tokens": 24, "price_input": 1, "price_output": 2}
    return make_judge(base_url=llm.url, concurrency=2, **fields | options)


def shares(run):
    """The probabilities that came with judgments, each checked to be some of its options."""
    found = list(run.judgments.exclude(probabilities=None))
    for judgment in found:
        assert sum(judgment.probabilities.values()) == pytest.approx(1, abs=1e-3)
        assert set(judgment.probabilities) <= {"r1", "r2", "tie"}
    return found


@pytest.mark.parametrize("setting", SETTINGS)
def test_every_setting_ends_and_pays_for_what_was_asked(
    setting, study, llm, served, engine, caplog
):
    judge = make(llm, probabilities="beside")

    with caplog.at_level(logging.WARNING):
        run = judge_all(study, judge, setting=setting)

    assert run.state == "done", run.sentence
    assert set(run.judgments.values_list("state", flat=True)) <= ENDED
    check_ledger(run, llm, served)
    shares(run)
    assert [record for record in caplog.records if record.exc_info] == []


@pytest.mark.parametrize(
    ("setting", "form"),
    [
        *((name, {}) for name in SETTINGS if protocol(name).has_form),
        *((name, {"way": "grammar"}) for name in ("certainty", "reason-before")),
    ],
)
def test_a_form_is_always_kept(setting, form, study, llm, served, engine, caplog):
    judge = make(llm, structured=True, probabilities="beside", temperature=0, max_tokens=150)
    Judge.objects.update(reply_form=form)
    judge.refresh_from_db()

    run = judge_all(study, judge, setting=setting)

    assert run.state == "done", run.sentence
    judgments = list(run.judgments.exclude(state="skipped"))
    # A small model can go on with its reasons until its tokens are used up.
    cut = [judgment for judgment in judgments if "cut off" in judgment.error]
    assert not cut or "reason" in protocol(setting).form()
    judgments = [judgment for judgment in judgments if judgment not in cut]
    for judgment in judgments:
        assert judgment.state == "done", judgment.raw_text
        assert protocol(setting).keeps_form(judgment.raw_text)
        if protocol(setting).asks_certainty:
            assert 1 <= judgment.certainty <= 100
    # Without chance, the chosen letter is the most probable one where it stands. Where the model
    # would rather have written something else than either letter, there is a reason instead. A
    # response that is scored alone has no letter.
    weighed = shares(run)
    for judgment in judgments:
        if "scores" not in judgment.details:
            assert (judgment in weighed) != ("no_probabilities" in judgment.details)
    for judgment in weighed:
        assert judgment.choice == max(judgment.probabilities, key=judgment.probabilities.get)
    check_ledger(run, llm, served)
    assert [record for record in caplog.records if record.exc_info] == []


def test_a_prompt_beyond_the_context_is_an_error_of_its_item(study, llm, served, engine):
    Item.objects.filter(key="b").update(context="word " * 3000)

    run = judge_all(study, make(llm), orders="r1_first")

    assert dict(run.judgments.values_list("item__key", "state"))["b"] == "error"
    assert "context" in run.judgments.get(item__key="b").error
    assert run.judgments.get(item__key="a").state in ENDED


# ---- the server itself ----


def test_pages_of_other_sites_and_other_machines_get_nothing(model_url):
    base = model_url.removesuffix("/v1")

    asked = requests.get(f"{model_url}/models", headers={"Origin": "https://a.example"}, timeout=9)

    assert base.startswith("http://127.0.0.1:")
    assert asked.json()["data"][0]["id"] == MODEL
    assert asked.headers.get("Access-Control-Allow-Origin", "") not in ("*", "https://a.example")
    assert not requests.get(f"{base}/slots", timeout=9).ok
    assert not requests.get(base, timeout=9).ok


def serve(*arguments):
    return subprocess.run(
        [sys.executable, "manage.py", "serve_model", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_a_file_that_only_begins_like_a_model_is_refused(tmp_path):
    pytest.importorskip("xllamacpp")
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + b"\0" * 64)

    ended = serve(str(broken), "--port", "20001")

    assert ended.returncode == 1
    assert "broken.gguf cannot be served" in ended.stderr
    assert "Traceback" not in ended.stderr
