"""report.json as text."""

import json
import math
from typing import Any

import pytest

from analysis.report.report_json import LONG, rounded, to_json


def test_a_report_without_long_lists_is_indented_as_by_python():
    report: dict[str, Any] = {
        "a": {"é": [1, 0.1, None, True], "empty": [], "none": {}},
        "rows": [{"x": "<"}] * 3,
    }
    report["keys"] = {60: 1, 0.5: 2, True: 3, None: 4}

    assert to_json(report) == json.dumps(report, ensure_ascii=False, indent=1) + "\n"


def test_each_row_of_a_long_list_is_one_line():
    rows = [{"item": f"i{n}", "sides": [{"choice": None}]} for n in range(LONG + 1)]
    report = {"items": rows, "end": 1}

    text = to_json(report)

    assert json.loads(text) == report
    assert text.count("\n") == len(rows) + 5
    assert '\n  {"item": "i3", "sides": [{"choice": null}]},\n' in text


@pytest.mark.parametrize("rows", [1, LONG + 1])
def test_a_value_that_json_does_not_have_is_an_error(rows):
    with pytest.raises(ValueError, match="JSON"):
        to_json({"rows": [[math.nan]] * rows})


def test_what_processors_add_up_differently_is_written_alike():
    first = {"a": [0.1 + 0.2, (0.3, None)], "n": 12_345_678_901_234, "is": True, "p": 1.5e-20}
    second = {"a": [0.3, [0.3, None]], "n": 12_345_678_901_234, "is": True, "p": 1.5e-20}

    assert to_json(first) != to_json(second)
    assert to_json(rounded(first)) == to_json(rounded(second)) == to_json(second)
