"""A fixture for pytest: a judge that is not trusted fails the test with the verdict."""

import json
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

CheckJudge = Callable[..., dict[str, Any]]


@pytest.fixture
def thirdperson_check(tmp_path: Path) -> CheckJudge:
    """A function of a file and options of `thirdperson check`; returns its result as a dictionary.

    It fails the test with the verdict's sentence if the judge is not trusted, with `--against` if a
    judge got worse, or with the reason if the file cannot be read. Labels that do not decide yet
    fail only with `inconclusive="fail"`.
    """
    from thirdperson.check.against import WORSE
    from thirdperson.check.command import INCONCLUSIVE, NOT_TRUSTED, USAGE, check

    def run(file: str | Path, *options: str, inconclusive: str = "pass") -> dict[str, Any]:
        out, errors = StringIO(), StringIO()
        with redirect_stdout(out), redirect_stderr(errors):
            report = str(tmp_path / "report.html")
            code = check([str(file), "--json", "--out", report, *options])
        if code == USAGE:
            pytest.fail(errors.getvalue().strip(), pytrace=False)
        verdict: dict[str, Any] = json.loads(out.getvalue())
        failing = {NOT_TRUSTED, *([INCONCLUSIVE] if inconclusive == "fail" else [])}
        against = verdict.get("against", {})
        if against.get("result") == WORSE:
            pytest.fail(f"{WORSE}: {against['sentence']}", pytrace=False)
        if verdict["exit_code"] in failing:
            pytest.fail(f"{verdict['verdict']}: {verdict['sentence']}", pytrace=False)
        return verdict

    return run
