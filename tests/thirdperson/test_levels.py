"""`thirdperson check` on classes, steps and scores: how they are read, and each judge's verdict."""

import csv
import json
import re
import sys

import numpy as np
import pytest
from scipy import stats

from thirdperson.check.command import check

CLASSES = ("blue", "green", "red")


def table(path, names, value, *, people=30, items=300, gold=False):
    """Three of `people` at each item; every judge but `poor` sees the item."""
    rng = np.random.default_rng(1)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["item", "annotator", "label", *names, *(["gold"] if gold else [])])
        for item in range(items):
            signal = rng.normal()
            own = [value(rng, rng.normal() if name == "poor" else signal) for name in names]
            for rater in rng.permutation(people)[:3]:
                right = ["blue"] if gold else []
                writer.writerow([f"q{item}", f"w{rater}", value(rng, signal), *own, *right])
    return path


def a_class(rng, signal):
    seen = rng.random() < 0.85
    return CLASSES[int(np.searchsorted([-0.5, 0.5], signal)) if seen else rng.integers(0, 3)]


def a_step(rng, signal):
    return int(np.searchsorted([-1.5, -0.5, 0.5, 1.5], signal + rng.normal(0, 0.5))) + 1


def a_score(rng, signal):
    return round(50 + 20 * signal + rng.normal(0, 8), 1)


@pytest.fixture
def told(tmp_path, capsys):
    """Check a file; the exit code, and what was printed."""

    def run(path, *options):
        code = check([str(path), "--out", str(tmp_path / "report.html"), *options])
        printed = capsys.readouterr()
        return code, printed.out or printed.err

    return run


@pytest.mark.parametrize(
    ("value", "options", "level", "poor"),
    [
        (a_class, (), "nominal", "NOT TRUSTED"),
        (a_step, ("--level", "ordinal"), "ordinal", "NOT TRUSTED"),
        (a_score, ("--level", "score"), "score", "INCONCLUSIVE"),
    ],
)
def test_every_judge_of_a_file_has_a_verdict(tmp_path, told, value, options, level, poor):
    path = table(tmp_path / "labels.csv", ["poor", "good"], value)

    code, text = told(path, "--json", "--judge", "poor,good", *options)

    found = json.loads(text)
    assert (code, found["verdict"], found["level"]) == (0, "TRUSTED", level)
    verdicts = {one["judge"]: one for one in found["verdicts"]}
    assert [verdicts[name]["verdict"] for name in ("good", "poor")] == ["TRUSTED", poor]
    assert (verdicts["poor"]["why"] == "order") == (level == "score")
    assert [one["reference"] for one in found["reference_judges"]] == [
        "commonest label",
        "coin",
        "another person",
    ]
    assert any("by people: " in line for line in found["read"])
    assert ": people and judges</title>" in (tmp_path / "report.html").read_text("utf-8")


@pytest.mark.nightly
def test_each_judge_is_trusted_from_the_epsilon_that_is_named(tmp_path, told):
    """Judges that are worse the later they come, so that Holm's levels differ."""
    path = table(tmp_path / "labels.csv", ["first"], a_class)
    rng = np.random.default_rng(5)
    head, *rows = path.read_text().splitlines()
    seen: dict[str, list[str]] = {}
    for row in rows:
        item, *_, label = row.split(",")
        noisy = [
            label if rng.random() < share else str(rng.choice(CLASSES)) for share in (0.9, 0.8)
        ]
        seen.setdefault(item, noisy)
    path.write_text(
        "\n".join(
            [f"{head},second,third", *(f"{r},{','.join(seen[r.split(',')[0]])}" for r in rows)]
        )
    )

    def verdicts(epsilon):
        options = ("--json", "--judge", "first,second,third", "--epsilon", f"{epsilon:.5f}")
        return {one["judge"]: one for one in json.loads(told(path, *options)[1])["verdicts"]}

    named = {judge: one["holds_from"] for judge, one in verdicts(0.3).items()}
    for judge, least in named.items():
        assert verdicts(max(least, 0) + 0.001)[judge]["verdict"] == "TRUSTED"
        assert least < 0.002 or verdicts(least - 0.001)[judge]["verdict"] != "TRUSTED"


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("value", "step", "level", "words"),
    [
        (a_step, 1, "ordinal", r"high labels 0\.8\d steps higher than people on average"),
        (a_score, 10, "score", r"high labels (9\.9|10\.\d)\d higher than people on average"),
    ],
)
def test_a_judge_that_is_always_a_step_too_high_is_named(tmp_path, told, value, step, level, words):
    with table(tmp_path / "fair.csv", ["judge"], value).open() as fair:
        rows = list(csv.DictReader(fair))
    own = [float(row["judge"]) for row in rows]
    most = max(float(row["label"]) for row in rows) if level == "ordinal" else np.inf
    for row, label in zip(rows, own, strict=True):
        row["high"] = f"{min(label + step, most):g}"
    path = tmp_path / "two.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    options = ("--judge", "judge", "--judge", "high", "--level", level)

    _, text = told(path, *options)
    _, found = told(path, *options, "--json")

    sentences = " ".join(text.split())
    assert re.search(words, sentences)
    assert "judge labels" not in sentences
    shifts = {each["judge"]: each["minus_people"] for each in json.loads(found)["verdicts"]}
    assert shifts["high"]["ci"][0] > 0.7 * step
    assert shifts["judge"]["ci"][0] < 0 < shifts["judge"]["ci"][1]


def test_numbers_are_read_only_as_told(tmp_path, told):
    path = table(tmp_path / "labels.csv", ["judge"], a_step)

    code, text = told(path)

    assert (code, not (tmp_path / "report.html").exists()) == (2, True)
    assert "The labels are the numbers 1, 2, 3, 4, 5, which can be read in more than one" in text
    assert "--level ordinal" in text
    _, text = told(path, "--level", "nominal")
    assert "labels: 5 classes" in text
    assert told(path, "--positive", "4,5")[1].count("“4 or 5” as response 2") == 1


def test_somebody_at_a_terminal_is_asked(tmp_path, told, monkeypatch):
    path = table(tmp_path / "labels.csv", ["judge"], a_step)
    answers = iter(["what?", "2"])
    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    monkeypatch.setattr("builtins.input", lambda question: next(answers))

    code, text = told(path)

    assert code == 0
    assert "labels: 5 steps in an order, 1 to 5" in text


def test_words_have_the_order_that_is_named(tmp_path, told):
    path = table(tmp_path / "labels.csv", ["judge"], a_class)

    code, text = told(path, "--level", "ordinal")
    assert code == 2
    assert "--level ordinal --labels blue,green,red" in text
    assert "leaves out red" in told(path, "--level", "ordinal", "--labels", "blue,green")[1]
    code, text = told(path, "--level", "ordinal", "--labels", "blue,green,red", "--json")
    assert (code, json.loads(text)["label_names"]) == (0, ["blue", "green", "red"])
    assert "is not a number" in told(path, "--level", "score", "--label", "label")[1]


@pytest.mark.nightly
def test_classes_are_compared_with_the_right_label_and_say_what_is_missing(tmp_path, told):
    path = table(tmp_path / "labels.csv", ["judge"], a_class, people=5, gold=True)

    code, text = told(path)

    assert code == 3
    assert "judge against the right label" in text
    assert "--these-people" in text
    (tmp_path / "report.html").unlink()
    code, text = told(path, "--doctor")
    assert (code, (tmp_path / "report.html").exists()) == (0, False)
    assert "no   a verdict about people in general: needs 12 people" in text
    assert "yes  recall and precision against right labels" in text


def test_one_reason_for_all_judges_is_said_once_with_what_helps(tmp_path, told):
    def rare(rng, signal):
        return a_class(rng, signal) if rng.random() < 0.98 else "not clear"

    path = table(tmp_path / "labels.csv", ["judge_1", "judge_2"], rare, items=60)

    code, text = told(path)

    said = " ".join(text.split())
    assert code == 3
    assert said.count("It is not settled whether") == 1
    assert "any of the 2 judges could replace an annotator: the rarest label, “not clear”" in said
    assert "leave these answers out: --missing 'not clear'" in said
    assert "Labels still needed" not in said


@pytest.mark.parametrize("level", ["nominal", "ordinal"])
def test_right_labels_say_who_is_right_more_often(tmp_path, told, level):
    """Against an own computation: shares of right labels, or of items where one is nearer."""
    rng = np.random.default_rng(2)
    right = rng.integers(0, 4, 240)
    people, judge = (
        np.where(rng.random(shape) < accuracy, right[:, None], rng.integers(0, 4, shape))
        for shape, accuracy in (((240, 3), 0.5), ((240, 1), 0.9))
    )
    path = tmp_path / "labels.csv"
    head = "item,human_1,human_2,human_3,judge,gold\n"
    cells = np.column_stack([people, judge, right])
    rows = "".join(f"q{n},{','.join(map(str, row))}\n" for n, row in enumerate(cells))
    path.write_text(head + rows)

    _, text = told(path, "--level", level, "--these-people", "--json")
    found = json.loads(text)["verdicts"][0]["right_labels"]

    if level == "nominal":
        far = cells[:, :4] != right[:, None]
        own, person = 1 - far[:, 3].mean(), 1 - far[:, :3].mean()
    else:
        far = np.abs(cells[:, :4] - right[:, None])
        own, person = far[:, 3].mean(), far[:, :3].mean()
        median = np.abs(np.median(cells[:, :3], axis=1) - right).mean()
        assert found["compared"][1]["value"] == pytest.approx(median)
    gaps = np.sign(far[:, :3] * 1.0 - far[:, 3:]).mean(axis=1)
    expected = stats.ttest_1samp(gaps, 0.0)
    versus = found["compared"][0]
    assert (found["judge"], versus["value"]) == pytest.approx((own, person))
    assert versus["nearer_more_often"]["value"] == pytest.approx(gaps.mean())
    assert versus["nearer_more_often"]["ci"] == pytest.approx([*expected.confidence_interval()])
    assert [one["state"] for one in found["compared"]] == ["different", "different"]
    nearer = "right more often" if level == "nominal" else "nearer to the right label more often"
    assert f"judge is {nearer} than a person (+" in found["sentence"]


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ("q1,3,4\nq2,5,inf\n", "--level score", "“inf” is not a number"),
        ("q1,3,3\n", "--level score", "Every label is “3”"),
        ("q1,3,4\n", "--level nominal --labels 3,4", "--labels is the order of --level ordinal"),
        ("q1,3,4\n", "--level score --tie 3", "--tie and --positive are for two labels"),
    ],
)
def test_what_cannot_be_read_is_refused(tmp_path, told, rows, options, message):
    path = tmp_path / "labels.csv"
    path.write_text(f"item,human_1,judge\n{rows}", encoding="utf-8")

    code, text = told(path, "--people", "human_1", "--judge", "judge", *options.split())

    assert (code, message in text) == (2, True)


def test_hostile_names_stay_text_and_lonely_labels_are_counted(tmp_path, told):
    path = tmp_path / "labels.csv"
    rows = "".join(f"q{n},<b>x</b>,{'|y' if n % 2 else 'z'},{n}\n" for n in range(40))
    path.write_text(f"item,human_1,<script>,other\n{rows}", encoding="utf-8")

    code, text = told(path, "--judge", "<script>", "--people", "human_1", "--markdown")

    assert code == 3
    assert "no item has two labels of people" in text
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "<script" not in page
    assert "<b>" not in page


def test_three_people_with_equal_shares_are_too_few_and_not_perhaps_uneven(tmp_path, told):
    path = table(tmp_path / "labels.csv", ["good"], a_step, people=3)

    _, text = told(path, "--level", "ordinal", "--judge", "good")

    assert "good could replace an annotator: 3 people are too few." in " ".join(text.split())


def test_tables_have_no_column_and_no_row_without_a_value(tmp_path, told):
    rng = np.random.default_rng(3)
    path = tmp_path / "one.csv"
    rows = [(f"q{n}", step, min(step + n % 2, 4)) for n, step in enumerate(rng.integers(1, 5, 80))]
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("item", "country", "model"), *rows])

    _, text = told(path, "--people", "country", "--judge", "model", "--level", "ordinal")

    _, _, judges = text.partition("\nJudges\n")
    head = judges.splitlines()[0]
    assert "Kappa  Its label minus people’s" in head
    assert "Agrees" not in head
    assert "CI" not in head
    assert "Agreement of people" not in text
