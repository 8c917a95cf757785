"""`thirdperson check`: from a table to a verdict, an exit code and a report."""

import csv
import json
import re
import textwrap
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from analysis.report.build import build_report
from benchmarks.report import simulated
from thirdperson.check.command import check, options_of
from thirdperson.check.dataset import choices_of, dataset_of
from thirdperson.check.reading import read_labels
from thirdperson.cli import main

ROOT = Path(__file__).resolve().parents[2]
LABELS = ("no", "yes")


def labels_table(path, *, people=12, judge=0.8, human=0.8, items=300, gold=False, seed=1):
    """A table with one row for each label: three of `people` at each item, and one judge."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, items)

    def label(item, accuracy):
        return LABELS[truth[item] if rng.random() < accuracy else 1 - truth[item]]

    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["item", "annotator", "label", "certainty", "judge", "gold"])
        for item in range(items):
            own = label(item, judge)
            for seat in range(3):
                rater = f"w{(item * 3 + seat) % people:03}"
                right = LABELS[truth[item]] if gold else ""
                certainty = rng.integers(40, 101)
                writer.writerow([f"q{item}", rater, label(item, human), certainty, own, right])
    return path


@pytest.fixture
def checked(tmp_path, capsys):
    """Check a file and return the exit code with what was printed as JSON."""

    def run(path, *options):
        code = check([str(path), "--out", str(tmp_path / "report.html"), "--json", *options])
        return code, json.loads(capsys.readouterr().out)

    return run


@pytest.fixture
def refused(tmp_path, capsys):
    """Check a file that cannot be checked, and return why."""

    def run(content, *options, name="labels.csv"):
        path = tmp_path / name
        path.write_text(content, encoding="utf-8")
        code = check([str(path), "--out", str(tmp_path / "report.html"), *options])
        told = capsys.readouterr()
        assert (code, told.out) == (2, "")
        assert not (tmp_path / "report.html").exists()
        return told.err

    return run


@pytest.mark.parametrize(
    ("shape", "word", "code"),
    [
        ({"judge": 0.8}, "TRUSTED", 0),
        ({"judge": 0.4, "people": 24}, "NOT TRUSTED", 1),
        ({"judge": 0.7, "people": 4, "items": 60}, "INCONCLUSIVE", 3),
        ({"judge": 0.95, "human": 0.7, "people": 60, "gold": True}, "TRUSTED", 0),
        ({"judge": 0.6, "human": 0.9, "people": 60, "gold": True}, "NOT TRUSTED", 1),
        ({"judge": 0.85, "people": 60, "gold": True}, "INCONCLUSIVE", 3),
    ],
)
def test_the_verdict_is_the_exit_code(checked, tmp_path, shape, word, code):
    found_code, found = checked(
        labels_table(tmp_path / "labels.csv", **shape), "--bootstrap", "100"
    )

    assert (found["verdict"], found_code, found["exit_code"]) == (word, code, code)
    needed = found["labels_needed"]
    assert needed > 0 if word == "INCONCLUSIVE" else needed == 0
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "Can this judge stand in for people?" in page


@pytest.mark.nightly
def test_the_example_of_the_documentation_prints_what_the_page_shows(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "check.md").read_text("utf-8")
    shown = re.search(r"^prints\n\n((?:    .*\n|\n)+)", page, re.MULTILINE)[1]

    code = main(["check", str(ROOT / "docs/examples/labels.csv"), "--simulated"])

    assert code == 0
    assert capsys.readouterr().out.strip() == textwrap.dedent(shown).strip()
    assert "Simulated data." in (tmp_path / "report.html").read_text("utf-8")


def rows_of(data):
    """A data set in memory as rows of a table with one row for each label."""
    names = ("r1", "r2")
    answers = data.answers

    def by_item(name):
        return {
            run.judge: dict(zip(run.judgments.item, getattr(run.judgments, name), strict=True))
            for run in data.runs
        }

    judged, stated = by_item("choice"), by_item("certainty")
    for n in range(len(answers)):
        item = data.items[answers.item[n]]
        row = {
            "item": item.key,
            "annotator": data.raters[answers.rater[n]],
            "label": names[answers.choice[n]],
            "certainty": f"{answers.certainty[n]:g}",
            "persona": item.persona,
            "question": item.question,
            "gold": item.truth,
        }
        for judge, choices in judged.items():
            plain = judge.replace(" ", "_")
            row[plain] = names[choices[answers.item[n]]]
            row[f"{plain}_certainty"] = f"{stated[judge][answers.item[n]]:g}"
        yield row


@pytest.mark.nightly
def test_a_table_gives_the_numbers_of_the_report_of_the_same_study(tmp_path, checked):
    """The second way is the data set that the product's own report is computed from."""
    data = simulated(90)
    rows = list(rows_of(data))
    path = tmp_path / "labels.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    own = build_report(data, seed=20240701, bootstrap=100)

    checked(path, "--bootstrap", "100")

    labels = read_labels(options_of([str(path)]))
    table = dataset_of(
        labels, choices_of(labels), name="labels.csv", title="t", margin=0.05, threshold=80
    )
    found = build_report(table, seed=20240701, bootstrap=100)
    page = (tmp_path / "report.html").read_text("utf-8")
    assert f"{date.today():%Y}" in page  # noqa: DTZ011
    for key in ("accuracy", "correct", "high", "low", "clusters"):
        assert found["human"]["majority"][key] == own["human"]["majority"][key]
        assert [judge[key] for judge in found["judges"]] == [judge[key] for judge in own["judges"]]
    for one, other in zip(found["comparison"], own["comparison"], strict=True):
        for key in ("difference_general", "alt_test", "pooled_replacement", "cohen_kappa"):
            assert one[key] == other[key]
    assert found["human"]["agreement"] == own["human"]["agreement"]
    assert found["headline"]["state"] == own["headline"]["state"]


def test_a_column_for_each_annotator_and_a_row_for_each_label_are_read_alike(tmp_path, checked):
    long, wide = tmp_path / "long.csv", tmp_path / "wide.csv"
    rng = np.random.default_rng(4)
    people = ["ann", "ben", "cleo"]
    rows = [[f"q{n}", *rng.choice(LABELS, 3), rng.choice(LABELS)] for n in range(60)]
    wide.write_text(
        "item,human_ann,human_ben,human_cleo,judge\n" + "".join(",".join(r) + "\n" for r in rows)
    )
    long.write_text(
        "item;worker_id;answer;kind\n"
        + "".join(
            f"{r[0]};human_{name};{r[1 + k]};human\n" for r in rows for k, name in enumerate(people)
        )
        + "".join(f"{r[0]};judge;{r[4]};llm\n" for r in rows)
    )

    _, of_wide = checked(wide, "--bootstrap", "100")
    _, of_long = checked(long, "--bootstrap", "100")

    same = ("verdict", "sentence", "labels_needed", "items", "labels", "annotators", "judges")
    assert [of_wide[key] for key in same] == [of_long[key] for key in same]
    assert of_wide["annotators"] == 3


def test_options_say_what_columns_are(tmp_path, checked):
    path = tmp_path / "labels.csv"
    path.write_text("a,b,c,d,sure\n" + "".join(f"q{n},1,1.0,{n % 2},0.9\n" for n in range(40)))

    options = "--item a --people b,c --judge d --certainty b=sure --bootstrap 100"
    _, found = checked(path, *options.split())

    assert found["labels"] == 80
    assert "certainty: sure of b" in found["read"]
    assert "certainty: shares from 0 to 1, read as 1 to 100" in found["read"]
    assert "labels: “0” as response 1, “1” as response 2" in found["read"]


def test_some_labels_can_be_compared_with_all_others_and_ties_stay_ties(tmp_path, checked):
    path = tmp_path / "labels.csv"
    words = ("good", "excellent", "bad", "tie")
    path.write_text(
        "id,human_1,human_2,judge\n"
        + "".join(f"{n},{words[n % 4]},{words[n % 3]},{words[n % 4]}\n" for n in range(48))
    )

    _, found = checked(path, "--positive", "excellent,good", "--bootstrap", "100")

    assert found["read"][-1] == (
        "labels: “bad” as response 1, “good or excellent” as response 2, and “tie” for a tie"
    )


def test_json_lines_are_read_too_and_missing_labels_stay_missing(tmp_path, checked):
    path = tmp_path / "labels.jsonl"
    rows = [
        {"id": n, "human_1": "yes", "human_2": None if n % 2 else "no", "judge": LABELS[n % 2]}
        for n in range(40)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))

    _, found = checked(path, "--bootstrap", "100")

    assert (found["items"], found["labels"]) == (40, 60)


def test_one_label_an_item_asks_for_second_labels(tmp_path, checked):
    path = tmp_path / "labels.csv"
    path.write_text("id,label,judge\n" + "".join(f"{n},{n % 2},{n % 2}\n" for n in range(50)))

    code, found = checked(path, "--bootstrap", "100")

    assert (code, found["labels_needed"]) == (3, 30)
    assert found["sentence"].endswith("no item has two labels of people and one of a judge.")
    assert found["what_would_settle_it"].startswith("A second label of people")


@pytest.fixture
def panel(tmp_path):
    """A table in which the same three people labelled every item, and its right labels."""
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 2, 200)
    right = rng.random((200, 4)) < (0.8, 0.8, 0.8, 0.6)
    given = np.where(right, truth[:, None], 1 - truth[:, None])
    path = tmp_path / "panel.csv"
    lines = [
        f"q{n:03},{','.join(LABELS[c] for c in given[n])},{LABELS[truth[n]]}" for n in range(200)
    ]
    path.write_text("item,human_1,human_2,human_3,judge,gold\n" + "\n".join(lines) + "\n")
    majority = given[:, :3].sum(axis=1) > 1
    return path, (given[:, 3] == truth).astype(float) - (majority == truth)


def test_a_panel_says_nothing_of_other_people_unless_only_they_matter(panel, tmp_path, capsys):
    path, _ = panel
    options = ["--out", str(tmp_path / "r.html"), "--bootstrap", "100"]

    general = check([str(path), *options])
    of_general = capsys.readouterr().out
    here = check([str(path), *options, "--these-people"])
    of_these = capsys.readouterr().out

    assert (general, here) == (3, 1)
    # 12 people are the fewest for 3 labels of an item, four times as many as these.
    assert "Labels still needed: about 1,800\nIf only these people matter" in of_general
    assert "NOT TRUSTED: judge was right less often than the majority of people" in of_these
    assert "No more data are needed for these people and items like these." in of_these
    assert "Only 3 people: others may differ." in of_these
    page = (tmp_path / "r.html").read_text("utf-8")
    assert "like those of this study and its only people." in page


def test_the_interval_for_these_people_is_that_of_a_paired_t_test(panel):
    path, gaps = panel
    labels = read_labels(options_of([str(path)]))
    data = dataset_of(
        labels,
        choices_of(labels),
        name="panel",
        title="t",
        margin=0.05,
        threshold=80,
        people_are_fixed=True,
    )

    found = build_report(data, seed=1, bootstrap=100)["comparison"][0]["difference_general"]

    expected = stats.ttest_1samp(gaps, 0.0)
    assert found["value"] == pytest.approx(gaps.mean())
    assert found["ci"] == pytest.approx(list(expected.confidence_interval(0.95)))
    assert found["p"] == pytest.approx(expected.pvalue)
    assert (found["one"], found["too_few"]) == (["people", "personas", "questions"], [])
    assert found["clusters"] == {"people": 3, "personas": 1, "questions": 1}
    assert data.inputs_hash != replace(data, people_are_fixed=False).inputs_hash


WIDE, LONG = "item,human_1,judge\n", "item,annotator,label,judge\n"


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("", "", "labels.csv has no rows."),
        ("item,text\nq1,hello\n", "", "no column with labels by people was found. It has: item,"),
        ("item,human_1\nq1,yes\n", "", "no column with labels by a judge was found"),
        (f"{WIDE}q1,yes,no\n", "--judge x", "labels.csv has no column “x”. It has: item"),
        ("annotator,label,judge\nann,yes,no\n", "", "no column names its item"),
        (f"{WIDE}q1,yes,no\nq1,no,no\n", "", "line 3, item “q1”: a second label of “human_1”"),
        (f"{WIDE},yes,no\n", "", "labels.csv, line 2: item is empty"),
        (f"{WIDE}q1,yes\n", "", "Line 2: there are 2 cells, the header has 3"),
        (
            f"{LONG}q1,ann,yes,no\nq1,ben,yes,yes\n",
            "",
            "item “q1”: judge is “yes” here but differs",
        ),
        (f"{WIDE}q1,yes,no\nq2,a,b\n", "", "There are 4 different labels: a, b, no, yes. A check"),
        (f"{WIDE}q1,yes,yes\n", "", "Every label is “yes”. Name the other one too: --labels yes,"),
        (f"{WIDE}q1,a,b\n", "--labels a,c", "there are other labels too: b"),
        (f"{WIDE}q1,a,b\n", "--labels a", "--labels needs two labels"),
        (f"{WIDE}q1,a,b\n", "--tie c", "--tie c: there is no such label"),
        (f"{WIDE}q1,a,b\n", "--positive c", "--positive c: there is no such label"),
        (f"{WIDE}q1,a,b\n", "--positive a,b", "--positive names every label"),
        ("item,human_1,judge,judge_certainty\nq1,a,b,140\n", "", "certainty of “judge” is 140"),
        ("item,human_1,judge,judge_certainty\nq1,a,b,high\nq2,a,b,80\n", "", "is “high”"),
        (f"{WIDE}q1,a,b\n", "--certainty judge", "use LABEL_COLUMN=CERTAINTY_COLUMN"),
        (f"{WIDE}q1,a,b\n", "--format xml", "--format xml: use one of auto, table, promptfoo"),
        (f"{WIDE}q1,a,b\n", "--metric x", "--metric is for exports"),
        (f"{WIDE}q1,a,b\n", "--format argilla", "is not an export of argilla"),
        (
            "item,annotator,label,judge,gold\nq1,a,x,y,x\nq1,b,x,y,y\n",
            "",
            "line 3, item “q1”: gold is “y”, but “x” in an earlier row of this item",
        ),
        (
            "item,annotator,label,kind\nq1,a,x,human\nq1,b,x,robot\n",
            "--kind kind",
            "line 3, item “q1”: kind is “robot”. Use human or judge",
        ),
        (f"{LONG}q1,,x,y\n", "", "line 2, item “q1”: annotator is empty"),
    ],
)
def test_a_table_that_cannot_be_checked_is_refused_with_the_place_and_the_remedy(
    refused, content, options, message
):
    assert message in refused(content, *options.split())


def test_a_missing_file_and_a_folder_are_refused(tmp_path, capsys):
    assert check([str(tmp_path / "none.csv")]) == 2
    assert "there is no such file" in capsys.readouterr().err
    table = labels_table(tmp_path / "labels.csv", items=3)
    assert check([str(table), "--out", str(tmp_path)]) == 2
    assert check([str(table), "--out", str(tmp_path / "a" / "b.html")]) == 2
    assert "write to a file in a folder that exists" in capsys.readouterr().err


def test_a_file_that_nobody_may_read_is_refused(tmp_path, capsys, monkeypatch):
    def closed(path, mode):
        raise PermissionError(13, "Permission denied")

    table = labels_table(tmp_path / "labels.csv", items=3)
    monkeypatch.setattr(Path, "open", closed)

    assert check([str(table), "--out", str(tmp_path / "r.html")]) == 2
    assert "labels.csv cannot be read: Permission denied" in capsys.readouterr().err


def test_a_file_that_is_no_report_is_never_overwritten(tmp_path, capsys):
    table, out = labels_table(tmp_path / "labels.csv", items=40), tmp_path / "thesis.html"
    out.write_text("my only copy")

    assert check([str(table), "--out", str(out)]) == 2
    assert out.read_text() == "my only copy"
    assert "is not a report of this program" in capsys.readouterr().err

    out.unlink()
    first = check([str(table), "--out", str(out), "--bootstrap", "100"])
    again = check([str(table), "--out", str(out), "--bootstrap", "100"])
    assert first == again != 2


@pytest.mark.parametrize("options", [["--margin", "2"], ["--threshold", "x"], ["--no"]])
def test_bad_options_exit_with_2(options, capsys):
    with pytest.raises(SystemExit) as ended:
        check(["labels.csv", *options])

    assert ended.value.code == 2
    assert options[0] in capsys.readouterr().err


def test_texts_of_a_table_cannot_write_into_the_page(tmp_path, capsys):
    path, attack = tmp_path / "labels.csv", "</script><img src=x onerror=alert(1)>"
    path.write_text(
        f"item,human_1,human_2,judge,question\nq1,{attack},b,b,{attack}\n"
        + "".join(f"q{n},b,b,b,{attack}\n" for n in range(2, 40))
    )

    check([str(path), "--out", str(tmp_path / "r.html"), "--title", attack, "--bootstrap", "100"])

    assert "<img src=x" not in (tmp_path / "r.html").read_text("utf-8")
    assert capsys.readouterr().out


def written(path, rows, heading):
    path.write_text("\n".join([heading, *(",".join(row) for row in rows)]) + "\n", "utf-8")
    return path


def labels_of(*, n=300, people=24, agree=0.85, judge=0.85, yes=0.5, seed=1):
    """Rows of item, annotator, label and judge: two people who mostly see the same at each item."""
    rng = np.random.default_rng(seed)
    seen = (rng.random(n) < yes).astype(int)
    own = np.where(rng.random(n) < judge, seen, 1 - seen)
    rows = []
    for item in range(n):
        for person in rng.choice(people, 2, replace=False):
            label = seen[item] if rng.random() < agree else 1 - seen[item]
            rows.append([f"i{item}", f"p{person}", LABELS[label], LABELS[own[item]]])
    return rows


HEADING = "item,annotator,label,judge"


def test_a_judge_that_always_says_the_same_is_never_trusted_and_the_first_line_says_so(
    tmp_path, checked
):
    rows = [[*row[:3], "no"] for row in labels_of(yes=0.1, agree=0.9, people=40)]
    path = written(tmp_path / "labels.csv", rows, HEADING)

    code, found = checked(path, "--epsilon", "0.45", "--bootstrap", "100")

    assert (code, found["verdict"]) == (3, "INCONCLUSIVE")
    assert found["sentence"].startswith("judge gives the same label to 300 of 300 items")
    assert found["labels_needed"] is None
    gold = [[*row, row[3]] for row in rows]
    path = written(tmp_path / "gold.csv", gold, f"{HEADING},gold")
    code, found = checked(path, "--bootstrap", "100")
    assert code == 3
    assert found["sentence"].startswith("judge gives the same label to 300 of 300 items")


def test_nothing_is_said_of_personas_and_questions_that_a_table_does_not_have(tmp_path, capsys):
    path = labels_table(tmp_path / "labels.csv", gold=True, people=30)

    check([str(path), "--out", str(tmp_path / "report.html")])

    printed = capsys.readouterr().out
    page = (tmp_path / "report.html").read_text("utf-8")
    said = printed.partition("\n\n")[2]
    assert not re.search("personas?|questions?|profiles?", said)
    assert not re.search("(Only|share|about) [01] (persona|question)|its only|A profile is", page)


@pytest.mark.nightly
def test_a_missing_persona_is_its_own_cluster_and_a_mostly_empty_column_is_not_guessed(
    tmp_path, checked
):
    rows = labels_of()

    def read(filled):
        told = [[*row, f"u{row[0]}" if int(row[0][1:]) % 10 < filled else ""] for row in rows]
        path = written(tmp_path / f"{filled}.csv", told, f"{HEADING},persona")
        return checked(path, "--bootstrap", "100")[1]

    assert "persona: persona" in read(5)["read"]
    assert "persona: none" in read(4)["read"]
    # Every item has a persona of its own, stated or not: the answer is that without the column.
    plain = checked(written(tmp_path / "p.csv", rows, HEADING), "--bootstrap", "100")[1]
    assert read(5)["sentence"] == plain["sentence"]


@pytest.mark.nightly
def test_epsilon_is_printed_in_the_sentence_and_decides(tmp_path, checked):
    path = written(tmp_path / "labels.csv", labels_of(judge=0.75), HEADING)

    strict, found = checked(path, "--epsilon", "0.01", "--bootstrap", "100")
    assert "ε allows 1 lower" in found["sentence"]
    assert strict == 3
    usual, found = checked(path, "--epsilon", "0.3", "--bootstrap", "100")
    assert "ε allows 30 lower" in found["sentence"]
    assert (usual, found["verdict"]) == (0, "TRUSTED")
    least = float(re.search(r"every ε of ([0-9.]+) points or more", found["sensitivity"])[1])
    assert checked(path, "--epsilon", str(least / 100), "--bootstrap", "100")[0] == 0
    assert checked(path, "--epsilon", str(least / 100 - 0.002), "--bootstrap", "100")[0] == 3


def test_what_judges_that_anybody_can_build_reach_stands_next_to_the_verdict(tmp_path, checked):
    path = written(tmp_path / "labels.csv", labels_of(judge=0.75), HEADING)

    _, found = checked(path, "--bootstrap", "100")

    commonest, coin, person = found["reference_judges"]
    names = [each["reference"] for each in (commonest, coin, person)]
    assert names == ["commonest label", "coin", "another person"]
    assert (coin["raw"], coin["balanced"], commonest["balanced"]) == (0.5, 0.5, 0.5)
    page = (tmp_path / "report.html").read_text("utf-8")
    assert all(f">{name}<" in page for name in names)


@pytest.mark.parametrize("gold", [False, True])
def test_each_of_several_judges_has_a_verdict(tmp_path, checked, capsys, gold):
    path = labels_table(
        tmp_path / "labels.csv", judge=0.97, human=0.75, people=36, items=200, gold=gold
    )
    rows = list(csv.DictReader(path.read_text().splitlines()))
    lines = [",".join([*row.values(), LABELS[row["judge"] == "no"]]) for row in rows]
    path.write_text("\n".join([f"{','.join(rows[0])},gpt-4", *lines]))

    code, found = checked(path, "--bootstrap", "100")

    assert (code, found["verdict"]) == (0, "TRUSTED")
    each = {one["judge"]: one for one in found["verdicts"]}
    assert {name: one["verdict"] for name, one in each.items()} == {
        "judge": "TRUSTED",
        "gpt-4": "NOT TRUSTED",
    }
    low, high = each["judge"]["ci"]
    assert low < each["judge"]["difference"] < high
    assert each["gpt-4"]["ci"][1] < 0
    check([str(path), "--out", str(tmp_path / "report.html"), "--bootstrap", "100"])
    assert re.search(r"\n  gpt-4 +NOT TRUSTED +−", capsys.readouterr().out)


def test_judges_that_tie_for_the_first_place_are_named(tmp_path, checked):
    path = labels_table(tmp_path / "labels.csv", people=36, items=60, gold=True)
    head, *rows = path.read_text().splitlines()
    judge = head.split(",").index("judge")
    lines = [f"{row},{row.split(',')[judge]}" for row in rows]
    path.write_text("\n".join([f"{head},gpt-4", *lines]))

    _, found = checked(path, "--bootstrap", "100")

    assert found["caveats"][0].startswith("Tied for the first place: ")
    assert found["caveats"][0].endswith("The answer is about gpt-4.")


@pytest.mark.nightly
def test_the_verdict_is_drawn_as_a_card_on_request_alone(tmp_path, checked, refused):
    table = labels_table(tmp_path / "labels.csv", items=60, gold=True)
    told = refused("item\n", "--card", "card.gif", name="other.csv")
    assert "name a file that ends in .png or .svg" in told

    assert checked(table, "--card", str(tmp_path / "card.png"))
    assert (tmp_path / "card.png").read_bytes().startswith(b"\x89PNG")


def test_an_option_that_takes_several_names_may_be_repeated():
    apart = options_of(["t.csv", "--judge", "a", "--judge", "b,c", "--missing", ""])
    together = options_of(["t.csv", "--judge", "a,b,c"])

    assert apart.judge == together.judge == ("a", "b", "c")
    assert (apart.missing, together.missing, apart.people) == ((), None, ())
