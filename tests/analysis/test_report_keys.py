"""The description of report.json: complete, and about keys that exist.

`conftest.py` checks every report that a test of this folder builds.
"""

import re
from pathlib import Path

from config.documentation.reference import described, parse
from tests.analysis.report_keys import Keys

ROOT = Path(__file__).resolve().parents[2]
KINDS = set(
    "bits certainty coefficient count date difference flag hash interval list money number object "
    "probability seconds share text".split()
) | {"US dollars"}


def test_every_described_key_is_written_by_some_line_of_the_program():
    lines = "".join(
        path.read_text("utf-8")
        for folder in ("analysis", "judging")
        for path in sorted((ROOT / folder).rglob("*.py"))
    )
    words = set(re.findall(r"\w+", lines))

    gone = [entry.name for entry in described() if not _forms(entry.parts[-1]) & words]

    assert gone == []


def _forms(key):
    """A key as the program can write it: `right_at_25` is `right_at_` and a number."""
    return {key, key.rstrip("0123456789")} if key != "*" else {"def"}


def test_each_line_has_a_known_type_and_a_sentence_and_occurs_once():
    entries = described()

    names = [entry.name for entry in entries]
    assert len(names) == len(set(names))
    for entry in entries:
        assert set(re.split(r" or ", entry.kind)) <= KINDS, entry
        assert re.fullmatch(r"[^a-z].*\.|[a-z].*\.", entry.meaning), entry
        assert entry.chapter


def test_the_keys_above_decide_what_a_name_means():
    keys = Keys(
        parse("n | count | A.\nown.n | count | B.\nown.* | text | C.\nshape | text | D.", "x")
    )

    def meaning(path):
        found = keys.find(tuple(path.split(".")))
        return found and found.meaning

    assert meaning("judges.n") == "A."
    assert meaning("own.deep.n") == "B."
    assert meaning("own.anything") == "C."
    assert meaning("other.anything") is None
    assert meaning("judges.shape_reason") == "Why the value of that name is null."
    assert meaning("judges.accuracy_ci") == "The 95 % interval: lower and upper end."
    assert meaning("judges.ci_made.draws") == "How the interval of that name was made."
