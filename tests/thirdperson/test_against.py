"""`thirdperson check --against`: whether a judge got worse since an earlier file."""

import csv
import json
from collections import Counter

import numpy as np
import pytest

from thirdperson.check.against import EarlierFile, between
from thirdperson.check.command import check, options_of
from thirdperson.check.labels import Label, LabelTable

WORDS = ("no", "yes")


def table(path, *, judge=0.85, seed=1, items=range(240), people="w", name="judge", words=WORDS):
    """Right labels and those of three people are the same in all files, the judge's are drawn."""
    known = np.random.default_rng(7)
    right = known.integers(0, 2, 400)
    by_people = np.where(known.random((400, 3)) < 0.8, right[:, None], 1 - right[:, None])
    own = np.random.default_rng(seed)
    judged = np.where(own.random(400) < judge, right, 1 - right)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["item", "annotator", "label", name, "gold", "persona"])
        for item in items:
            for seat in range(3):
                rater = f"{people}{(item * 3 + seat) % 30}"
                codes = (by_people[item, seat], judged[item], right[item])
                label, own_label, gold = (words[code] for code in codes)
                writer.writerow([f"q{item}", rater, label, own_label, gold, f"p{item % 40}"])
    return path


@pytest.fixture
def against(tmp_path, capsys):
    """Check a file against others, and return the exit code and the comparison."""

    def run(now, *earlier, options=()):
        named = [part for file in earlier for part in ("--against", str(file))]
        out = ["--out", str(tmp_path / "report.html"), "--bootstrap", "100"]
        code = check([str(now), *named, *out, "--json", *options])
        output = capsys.readouterr()
        return code, json.loads(output.out)["against"] if output.out else output.err

    return run


@pytest.mark.parametrize(
    ("judge", "seed", "result", "code"),
    [(0.85, 2, "not shown", 5), (0.6, 2, "got worse", 4), (0.99, 2, "better", 0)],
)
def test_the_result_is_the_exit_code(against, tmp_path, judge, seed, result, code):
    now = table(tmp_path / "now.csv", judge=judge, seed=seed)

    exit_code, comparison = against(now, table(tmp_path / "then.csv"))

    assert (exit_code, comparison["exit_code"], comparison["result"]) == (code, code, result)
    [one] = comparison["judges"]
    assert one["items"] == 240
    gap = one["share_now"] - one["share_before"]
    assert one["difference"] == pytest.approx(gap)
    assert one["ci"][0] < gap < one["ci"][1]
    assert "240 items that both files have" in comparison["sentence"]


def test_only_what_both_have_is_compared(against, tmp_path):
    now = table(tmp_path / "now.csv", seed=2, items=range(60, 260), name="gpt-5")
    then = table(tmp_path / "then.csv", items=range(160), people="x", name="gpt-4")

    _, comparison = against(now, then)

    [one] = comparison["judges"]
    assert (one["judge"], one["before"], one["items"]) == ("gpt-5", "gpt-4", 100)
    [left_out, *_] = comparison["notes"]
    assert "100 items only in today’s file" in left_out
    assert "60 items only in the earlier file" in left_out


def test_items_of_which_one_file_has_no_right_label_are_left_out_by_name(against, tmp_path):
    now, then = table(tmp_path / "now.csv", seed=2), table(tmp_path / "then.csv")
    lines = [line.split(",") for line in then.read_text().splitlines()]
    gold = lines[0].index("gold")
    for place, line in enumerate(lines[1:]):
        line[gold] = line[gold] if place < 300 else ""
    then.write_text("\n".join(map(",".join, lines)))

    _, comparison = against(now, then)

    assert "the 100 items that both files have with the same right label" in comparison["sentence"]
    assert "140 items without a right label in one of the files or both" in comparison["notes"][0]


def test_without_right_labels_the_same_labels_of_people_decide(against, tmp_path):
    now = table(tmp_path / "now.csv", judge=0.5, seed=2)
    then = table(tmp_path / "then.csv", judge=0.95)
    for file in (now, then):
        file.write_text(file.read_text().replace(",gold,", ",other_note,"))

    code, comparison = against(now, then)

    assert (code, comparison["measure"]) == (4, "labels of people")
    assert "the labels that the same people gave" in comparison["sentence"]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"items": range(300, 400)}, "no item in common"),
        ({"people": "x", "gold": False}, "no person gave the same label"),
        ({"words": ("bad", "good")}, "labels are no and yes now and were bad and good"),
    ],
)
def test_other_items_people_or_labels_are_not_compared(against, tmp_path, change, why):
    has_gold = change.pop("gold", True)
    now, then = table(tmp_path / "now.csv"), table(tmp_path / "then.csv", **change)
    for file in (now, then) if not has_gold else ():
        file.write_text(file.read_text().replace(",gold,", ",other_note,"))

    code, comparison = against(now, then)

    assert (code, comparison["result"], comparison["judges"]) == (6, "not comparable", [])
    assert why in comparison["sentence"].replace(", ", " and ")


def test_a_stored_result_compares_like_its_table_and_names_nobody(against, tmp_path, capsys):
    now, then = table(tmp_path / "now.csv", judge=0.6, seed=2), table(tmp_path / "then.csv")
    check([str(then), "--out", str(tmp_path / "report.html"), "--bootstrap", "100", "--json"])
    stored = tmp_path / "then.json"
    stored.write_text(capsys.readouterr().out)

    by_table, by_result = against(now, then), against(now, stored)

    assert by_result[0] == by_table[0] == 4
    assert by_result[1]["judges"] == by_table[1]["judges"]
    kept = json.dumps(json.loads(stored.read_text())["stored"])
    assert '"w1"' not in kept
    assert '"p1"' not in kept


@pytest.mark.parametrize("part", [None, {"version": 99}, {"version": 1, "items": [1]}])
def test_a_result_of_another_version_is_refused(against, tmp_path, part):
    stored = tmp_path / "then.json"
    stored.write_text(json.dumps({"verdict": "TRUSTED", "exit_code": 0, "stored": part}))

    code, why = against(table(tmp_path / "now.csv"), stored)

    assert code == 2
    assert "Name the table that was checked instead" in why
    assert not (tmp_path / "report.html").exists()


@pytest.mark.parametrize("level", ["ordinal", "score"])
def test_steps_are_compared_by_who_is_nearer(against, tmp_path, level):
    rng = np.random.default_rng(3)
    right = rng.integers(1, 6, 200)

    def steps(path, error):
        shift = rng.choice([-1, 0, 1], 200, p=[error / 2, 1 - error, error / 2])
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["item", "ann", "ben", "cem", "judge", "gold"])
            for item, (gold, move) in enumerate(zip(right, shift, strict=True)):
                step = int(np.clip(gold + move, 1, 5))
                writer.writerow([f"q{item}", gold, min(gold + 1, 5), gold, step, gold])
        return path

    then = steps(tmp_path / "then.csv", 0.1)
    columns = ["--level", level, "--people", "ann,ben,cem"]

    code, comparison = against(steps(tmp_path / "now.csv", 0.7), then, options=columns)

    assert code == 4
    assert "were nearer then" in comparison["sentence"]


def test_numbers_of_another_scale_are_not_compared(against, tmp_path):
    rows = ["item,ann,ben,judge"]
    rng = np.random.default_rng(2)
    now, then = tmp_path / "now.csv", tmp_path / "then.csv"
    for path, most in ((now, 6), (then, 101)):
        labels = rng.integers(1, most, (60, 3))
        lines = [f"q{n},{one},{two},{own}" for n, (one, two, own) in enumerate(labels)]
        path.write_text("\n".join([*rows, *lines]))

    code, comparison = against(now, then, options=["--level", "score", "--people", "ann,ben"])

    assert code == 6
    assert "looks like another scale" in comparison["sentence"]


def test_a_judge_that_did_not_change_is_rarely_said_to_have():
    """People and personas differ; in 300 such worlds 3 % were false."""
    options = options_of(["now.csv"])
    results = Counter[str]()
    for seed in range(40):
        rng = np.random.default_rng(seed)
        personas, right = rng.integers(0, 30, 120), rng.integers(0, 2, 120)
        ease = rng.normal(0.8, 0.1, 30)

        def labels(accuracy, rng=rng, right=right):
            return np.where(rng.random(right.size) < accuracy, right, 1 - right)

        by_people = labels(0.75)
        tables = []
        for judged in (labels(ease[personas]), labels(ease[personas])):
            rows = [("w", False, by_people), ("judge", True, judged)]
            tables.append(
                LabelTable(
                    [
                        Label("", f"q{n}", who, is_judge, WORDS[code])
                        for who, is_judge, codes in rows
                        for n, code in enumerate(codes)
                    ],
                    {f"q{n}": WORDS[code] for n, code in enumerate(right)},
                    {f"q{n}": f"p{code}" for n, code in enumerate(personas)},
                )
            )
        then = EarlierFile.of(tables[1], "then.csv")
        results[between(tables[0], then, options).result] += 1

    assert results["not shown"] >= 36


def test_right_labels_alone_are_enough_to_compare(against, tmp_path):
    rng = np.random.default_rng(4)
    right = rng.integers(0, 2, 300)

    def judged(path, share, tie):
        own = np.where(rng.random(300) < share, right, 1 - right)
        words = np.where(rng.random(300) < tie, "tie", np.array(WORDS)[own])
        lines = [
            f"q{n},{own},{WORDS[gold]}"
            for n, (own, gold) in enumerate(zip(words, right, strict=True))
        ]
        path.write_text("\n".join(["item,judge,gold", *lines]))
        return path

    now, then = judged(tmp_path / "now.csv", 0.6, 0.1), judged(tmp_path / "then.csv", 0.9, 0)

    code, comparison = against(now, then)

    assert (code, comparison["measure"]) == (4, "right labels")
    assert (
        "Only today’s file has “tie”, which counts as a label like any other."
        in comparison["notes"]
    )
    assert not (tmp_path / "report.html").exists()
