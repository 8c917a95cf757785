"""The demo from nothing to a report, killed half-way, started again, and once more."""

import json
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing
from math import sqrt

import pytest

from demo.known_truth import PATH
from tests.e2e.checks import check_report
from tests.e2e.stack import ROOT, Stack

STUDY, TIES = "everyday-choices", "everyday-ties"
COUNTED = "SELECT count(*) FROM annotation_annotation WHERE standing = 'counted'"

pytestmark = pytest.mark.e2e


def kill_half_way(stack: Stack) -> None:
    """Start the demo and kill it, and it alone, when people have begun to answer."""
    stack.migrate()
    demo = subprocess.Popen(
        [sys.executable, "-m", "demo.run"],
        cwd=ROOT,
        env=stack.environment,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + 600
        while stack.query(COUNTED) < [(60,)]:
            assert demo.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.2)
    finally:
        demo.send_signal(signal.SIGKILL)
        demo.wait()


def counts(stack: Stack) -> list[tuple]:
    tables = (
        "studies_study",
        "studies_item",
        "annotation_annotator",
        "annotation_annotationrevision",
        "judging_judgment",
        "judging_attempt",
        "analysis_report",
        "auth_user",
    )
    return [stack.query(f"SELECT '{name}', count(*) FROM {name}")[0] for name in tables]


@pytest.mark.nightly  # `test_from_file_to_verdict.py` and `test_whole_job.py` go the same ways.
def test_the_demo_survives_a_kill_shows_its_truth_and_does_nothing_twice(stack, request):
    kill_half_way(stack)
    interrupted = stack.query(COUNTED)[0][0]

    first = stack.run("-m", "demo.run")

    assert 60 <= interrupted < 972
    assert "972 answers were new" not in first.stdout
    assert stack.query(COUNTED) == [(972,)]
    report = json.loads((stack.folder / "demo/report/report.json").read_text("utf-8"))
    check_report(stack, STUDY, report)
    check_truth(report)
    check_report(stack, TIES, built_report(stack, TIES))
    login = stack.folder / "demo/login.txt"
    assert login.stat().st_mode & 0o777 == 0o600
    password = login.read_text("utf-8").split()[-1]
    assert password in first.stdout
    assert password not in stack.query("SELECT password FROM auth_user")[0][0]
    if request.config.getoption("--all"):
        once = counts(stack)
        again = stack.run("-m", "demo.run")
        assert "0 answers were new" in again.stdout
        assert "0 judgments were new" in again.stdout
        assert password in again.stdout
        assert counts(stack) == once


def built_report(stack: Stack, study: str) -> dict:
    """The report that a worker built for the pages."""
    [(report_id,)] = stack.query(
        "SELECT report.public_id FROM analysis_report report "
        f"JOIN studies_study study ON study.id = report.study_id WHERE study.slug = '{study}'"
    )
    return json.loads((stack.folder / f"reports/{report_id}/report.json").read_text("utf-8"))


def check_truth(report: dict) -> None:
    """The report's numbers lie within four standard errors of what the model says."""
    truth = json.loads(PATH.read_text("utf-8"))["expected"]
    human = report["human"]
    assert report["headline"]["state"] == "better"
    for name in ("individual", "majority"):
        assert_near(human[name]["accuracy"], truth[name]["accuracy"], 300)
        high, low = human[name]["high"], human[name]["low"]
        assert_near(high["accuracy"], truth[name]["high_accuracy"], high["n"])
        assert_near(low["accuracy"], truth[name]["low_accuracy"], min(low["n"], 300))
    assert_near(human["agreement"]["percent"], truth["agreement"]["percent"], 300)
    judges = {(judge["judge"], judge["features"]): judge for judge in report["judges"]}
    for name, expected in truth["judges"].items():
        judge = name.replace("demo", "simulated")
        assert_near(judges[judge, "all"]["accuracy"], expected["accuracy"], 300)
        assert judges[judge, "age"]["accuracy"] < judges[judge, "all"]["accuracy"]
    steady = [judges["simulated-steady", f]["calibration"]["auroc"] for f in ("all", "age")]
    boastful = judges["simulated-boastful", "all"]["calibration"]["ece"]
    assert steady[0] > steady[1]
    assert boastful > judges["simulated-steady", "all"]["calibration"]["ece"] + 0.1


def assert_near(value: float, expected: float, n: int) -> None:
    assert abs(value - expected) <= 4 * sqrt(expected * (1 - expected) / n)


def test_a_port_that_is_taken_ends_the_demo_with_a_sentence(stack):
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", stack.port + 1))
        taken.listen()

        result = stack.run("-m", "demo.run", ok=False)

    assert result.returncode == 1
    assert f"Port {stack.port + 1} is in use" in result.stderr
    assert f"PORT={stack.port + 10} make demo" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_port_that_is_no_number_is_bad_usage(stack):
    stack.environment["PORT"] = "eighty"

    result = stack.run("-m", "demo.run", ok=False)

    assert result.returncode == 2
    assert "PORT must be a number from 1 to 65532, not “eighty”." in result.stderr
