"""Labels in several files, right labels in a file of their own, records anywhere in JSON."""

import json
import os
import subprocess
import sys

import pytest

from thirdperson.check.command import check, options_of
from thirdperson.check.labels import BadTable
from thirdperson.check.reading import read_labels


@pytest.fixture
def write(tmp_path):
    def write(name, text):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text if isinstance(text, str) else json.dumps(text))
        return str(tmp_path / name)

    return write


def given_of(*arguments):
    """The labels by item, of people and of judges."""
    labels = read_labels(options_of(arguments))
    found: dict[bool, dict[str, dict[str, str]]] = {False: {}, True: {}}
    for each in labels.labels:
        found[each.is_judge].setdefault(each.rater, {})[each.item] = each.value
    return labels, found[False], found[True]


ANN = "id,label,certainty,question\nq1,yes,90,Why?\nq2,no,80,How?\n"
BEN = "id,label\nq2,yes\nq1,yes\nq3,no\n"


def test_each_file_is_a_rater_named_after_it(write):
    files = [write("ann.csv", ANN), write("ben.csv", BEN), write("gpt-4o.csv", "id,out\nq1,no\n")]

    labels, people, judges = given_of(*files)

    assert people == {
        "ann": {"q1": "yes", "q2": "no"},
        "ben": {"q1": "yes", "q2": "yes", "q3": "no"},
    }
    assert judges == {"gpt-4o": {"q1": "no"}}
    assert {each.certainty for each in labels.labels if each.rater == "ann"} == {90, 80}
    assert labels.question == {"q1": "Why?", "q2": "How?"}


def test_a_file_named_after_right_labels_has_these(write):
    files = [write("ann.csv", ANN), write("ben.csv", BEN), write("gpt-4o.csv", "id,out\nq1,no\n")]

    labels, people, judges = given_of(*files, write("gold.csv", "id,label\nq1,no\n"))

    assert ([*people], [*judges]) == (["ann", "ben"], ["gpt-4o"])
    assert labels.gold == {"q1": "no"}


def test_rows_that_share_an_item_name_the_columns_that_tell_them_apart(write):
    rows = "q,turn,label\n1,1,a\n1,2,b\n"

    with pytest.raises(BadTable, match="--on q,turn, or the one that says who"):
        given_of(write("ann.csv", rows), write("gpt-4.csv", rows), "--on", "q")


def test_a_judge_is_joined_to_one_row_for_each_label_or_item(write):
    long = write("people.csv", "item,annotator,label\nq1,ann,a\nq1,ben,b\nq2,ann,a\n")
    wide = write("wide.csv", "item,human_1,human_2,label\nq1,a,b,x\nq2,a,a,x\n")
    judge = write("judge.csv", "item,label\nq1,a\nq2,b\nq3,b\n")
    own = write("mine.csv", "item,label\nq1,a\nq2,b\n")

    _, people, judges = given_of(long, judge)
    _, in_columns, _ = given_of(wide, judge)

    assert people == {"ann": {"q1": "a", "q2": "a"}, "ben": {"q1": "b"}}
    assert judges == {"judge": {"q1": "a", "q2": "b"}}
    assert in_columns == {"human_1": {"q1": "a", "q2": "a"}, "human_2": {"q1": "b", "q2": "a"}}
    with pytest.raises(BadTable, match="Name it: --judge mine"):
        given_of(long, own)
    assert given_of(long, own, "--judge", "mine")[2] == {"mine": {"q1": "a", "q2": "b"}}


def test_parts_with_a_row_for_each_label_are_joined_with_a_judge_by_two_columns(write):
    head = "person,day,annotator_id,choice\n"
    ann = write("a.csv", f"{head}p1,0,ann,x\np1,1,ann,y\n")
    ben = write("b.csv", f"{head}p1,0,ben,y\np1,1,ben,y\n")
    judge = write("judge.csv", "person,day,choice\np1,0,x\np1,1,y\np9,9,y\n")

    _, people, judges = given_of(ann, ben, judge, "--on", "person,day")

    assert people["ben"] == {"p1 / 0": "y", "p1 / 1": "y"}
    assert judges == {"judge": {"p1 / 0": "x", "p1 / 1": "y"}}
    with pytest.raises(BadTable, match="has no column “week”"):
        given_of(ann, ben, judge, "--on", "person,week")


def test_parts_of_one_table_are_put_together(write):
    first = write("1.csv", "item,human_1,human_2,judge\nq1,a,b,a\n")
    second = write("2.csv", "item,human_1,human_2,judge\nq2,b,b,b\n")

    _, people, judges = given_of(first, second)

    assert people["human_1"] == {"q1": "a", "q2": "b"}
    assert judges["judge"] == {"q1": "a", "q2": "b"}


def test_right_labels_come_from_a_file_of_their_own(write):
    table = write("t.csv", "item,human_1,human_2,judge\nq1,a,b,a\nq2,a,a,b\n")
    gold = write("right.csv", "item,answer\nq1,b\nq9,a\n")

    labels, *_ = given_of(table, "--gold-file", gold)

    assert labels.gold == {"q1": "b"}
    assert "right label: answer of right.csv, for 1 of 2 items" in labels.reading
    assert "  1 of its items are not in the table" in labels.reading


@pytest.mark.parametrize(
    ("files", "options", "words"),
    [
        ({"a.csv": "x,l\n1,a\n", "b.csv": "y,m\n1,a\n"}, [], "no common column that names"),
        ({"a.csv": ANN, "b.csv": "x,l\n1,a\n"}, ["--on", "id"], "b.csv has no column “id”"),
        ({"a.csv": ANN, "b.csv": "id,label\nq1,a\nq1,b\n"}, [], "b.csv, line 3, item “q1”"),
        ({"a.csv": ANN, "x/a.csv": ANN, "y/x/a.csv": ANN}, [], "same name"),
    ],
)
def test_files_that_cannot_be_joined_are_refused_with_a_way_out(
    write, tmp_path, files, options, words
):
    (tmp_path / "y").mkdir()
    paths = [write(name, text) for name, text in files.items()]

    with pytest.raises(BadTable, match=words):
        read_labels(options_of([*paths, *options]))


@pytest.mark.parametrize(
    ("gold", "options", "words"),
    [
        ("item,answer\nz1,a\n", [], "no item of its column “item” is in the table"),
        ("item,answer\nq1,a\nq1,b\n", [], "item “q1”: a second right label"),
        ("item,x,y\nq1,a,b\n", [], "which column has the right labels"),
        ("item,x,y\nq1,a,b\n", ["--gold", "z"], "which column has the right labels"),
    ],
)
def test_right_labels_that_do_not_fit_are_refused(write, gold, options, words):
    table = write("t.csv", "item,human_1,human_2,judge\nq1,a,b,a\nq2,a,a,b\n")

    with pytest.raises(BadTable, match=words):
        given_of(table, "--gold-file", write("gold.csv", gold), *options)


NESTED = {
    "run": {
        "topic": "m",
        "cases": [
            {"item": "q1", "votes": [{"annotator": "ann", "label": "a"}], "judge": "a"},
            {"item": "q2", "votes": [{"annotator": "ann", "label": "b"}], "judge": "a"},
        ],
    }
}


def test_records_anywhere_in_json_are_rows_with_what_surrounds_them(write):
    path = write("deep.json", NESTED)

    _, people, judges = given_of(path, "--records", "run.cases.*.votes")

    assert people == {"ann": {"q1": "a", "q2": "b"}}
    assert judges == {"judge": {"q1": "a", "q2": "a"}}
    table = write("t.csv", "item,human_1,human_2\nq1,a,b\n")
    assert given_of(table, path, "--records", "run.cases")[2] == {"deep": {"q1": "a", "q2": "a"}}
    with pytest.raises(BadTable, match=r"t\.csv is not JSON"):
        given_of(table, "--records", "run.cases")
    with pytest.raises(BadTable, match="Here are: item, judge, votes"):
        given_of(path, "--records", "run.cases.*.answers")


def test_the_command_names_all_files_and_refuses_a_missing_one(write, tmp_path, capsys):
    out = ["--out", str(tmp_path / "r.html")]

    assert check([write("ann.csv", ANN), str(tmp_path / "no.csv"), *out]) == 2
    assert "no.csv: there is no such file" in capsys.readouterr().err


def test_a_large_file_is_read_without_settings_of_django(write, tmp_path):
    """The child process that reads it has none, unlike the process of these tests."""
    rows = (f"q{n},{'yes' if n % 3 else 'no'},yes,yes," + "x" * 200 for n in range(3000))
    table = write("large.csv", "\n".join(["item,human_1,human_2,judge,text", *rows]))
    environment = {k: v for k, v in os.environ.items() if k != "DJANGO_SETTINGS_MODULE"}
    command = [sys.executable, "-m", "thirdperson", "check", table, "--doctor"]

    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("large.csv: 3,000 items")
