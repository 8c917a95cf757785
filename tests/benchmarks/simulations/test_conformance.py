"""The conformance suite: our statistics agree with it, and its runner finds what does not."""

import json
import re

import pytest
from django.core.management import CommandError, call_command

from benchmarks.simulations.conformance import cases as conformance
from benchmarks.simulations.conformance.command import Command

CASES = conformance.load_cases()


def run(tmp_path, results, capsys):
    path = tmp_path / "results.json"
    path.write_text(json.dumps(results))
    status, last = 0, []
    try:
        call_command(Command(), str(path))
    except CommandError as error:
        status, last = error.returncode, [str(error)]
    return status, [*capsys.readouterr().out.splitlines(), *last]


def test_our_statistics_agree_with_every_case(tmp_path, capsys):
    path = tmp_path / "own.json"

    call_command(Command(), "--own", str(path))
    call_command(Command(), str(path))

    assert capsys.readouterr().out.endswith(f"{len(CASES)} agrees, 0 differs, 0 missing\n")


def test_a_wrong_value_is_found_and_named(tmp_path, capsys):
    results = {"fleiss-wikipedia": {"kappa": 0.21}, "fleiss-1971": {"kappa": 0.430245}}

    status, lines = run(tmp_path, results, capsys)

    assert status == 1
    wrong = "differs  fleiss_kappa fleiss-wikipedia: kappa is 0.21, expected 0.209931"
    assert wrong in lines
    assert lines[-1] == f"1 agrees, 1 differs, {len(CASES) - 2} missing"


@pytest.mark.parametrize("value", [None, "0.209931", True, {}, [0.209931]])
def test_what_is_no_number_differs(tmp_path, capsys, value):
    status, _ = run(tmp_path, {"fleiss-wikipedia": {"kappa": value}}, capsys)

    assert status == 1


@pytest.mark.parametrize("value", [[0.0007], [0.0007] * 7, 0.0007])
def test_lists_agree_value_by_value(tmp_path, capsys, value):
    status, _ = run(tmp_path, {"holm-7": {"adjusted": value}}, capsys)

    assert status == 1


def test_a_file_without_any_case_does_not_pass(tmp_path, capsys):
    assert run(tmp_path, {}, capsys)[0] == 1


@pytest.mark.parametrize("text", ["[", "[]", None])
def test_a_file_that_cannot_be_read_is_a_usage_error(tmp_path, text):
    path = tmp_path / "results.json"
    if text is not None:
        path.write_text(text)

    with pytest.raises(CommandError, match=re.escape(str(path))) as stopped:
        call_command(Command(), str(path))

    assert stopped.value.returncode == 2


def test_the_page_explains_every_statistic_of_the_suite():
    page = conformance.VECTORS.with_name("README.md").read_text("utf-8")
    rows = re.findall(r"^\| (`[^|]+) \|", page, re.MULTILINE)
    explained = {name for row in rows for name in re.findall(r"`(\w+)`", row)} - {"statistic"}

    assert explained == {case["statistic"] for case in CASES}
    for case in CASES:
        [line] = [line for line in page.splitlines() if f"`{case['statistic']}`" in line][:1]
        assert case["source"]
        for name in case["expected"]:
            assert f"`{name}`" in line, (case["statistic"], name)


def test_ids_are_given_once_and_the_suite_has_a_version():
    suite = json.loads(conformance.VECTORS.read_text("utf-8"))

    assert re.fullmatch(r"thirdperson\.conformance/\d+", suite["suite"])
    assert len({case["id"] for case in CASES}) == len(CASES) > 50
