"""`thirdperson check --tiers`: the tier of each judge from a file, against scikit-learn."""

import json
from itertools import combinations

import numpy as np
import pytest

from thirdperson.check.command import check

CLASSES = np.array(["blue", "green", "red"])
PEOPLE, ITEMS = 11, 150
sklearn = pytest.importorskip("sklearn.metrics")


@pytest.fixture(scope="module")
def raters():
    """Eleven people who see an item more or less well, and three judges; labels by rater."""
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 3, ITEMS)

    def labels(sees):
        return CLASSES[np.where(rng.random(ITEMS) < sees, truth, rng.integers(0, 3, ITEMS))]

    people = {f"person_{n}": labels(0.5 + 0.04 * n) for n in range(PEOPLE)}
    return people, {"alike": labels(0.72), "above": CLASSES[truth], "guess": labels(0)}


def write(path, raters, *, people=PEOPLE):
    """The files as the program of the alternative annotator test has them."""
    crowd, judges = raters
    crowd = dict([*crowd.items()][:people])
    files = []
    for name, group in (("human_annotations", crowd), ("llm_annotations", judges)):
        file = path / f"{name}.json"
        values = {
            rater: {f"q{n}": str(label) for n, label in enumerate(own)}
            for rater, own in group.items()
        }
        file.write_text(json.dumps(values))
        files.append(str(file))
    return files


@pytest.fixture
def result(tmp_path, capsys, raters):
    def run(*options, people=PEOPLE):
        files = write(tmp_path, raters, people=people)
        code = check([*files, "--out", str(tmp_path / "r.html"), "--bootstrap", "200", *options])
        printed = capsys.readouterr()
        return code, printed.out or printed.err

    return run


def test_z_and_tier_of_a_file_are_those_of_another_program(result, raters):
    crowd, judges = raters
    kappa = sklearn.cohen_kappa_score
    of_person: dict[str, list[float]] = {name: [] for name in crowd}
    for one, other in combinations(crowd, 2):
        value = kappa(crowd[one], crowd[other])
        of_person[one].append(value)
        of_person[other].append(value)
    own = np.array([np.mean(values) for values in of_person.values()])

    _, text = result("--level", "nominal", "--tiers", "--json")

    tiers = {one["judge"]: one["tier"] for one in json.loads(text)["verdicts"]}
    for judge, labels in judges.items():
        mean = np.mean([kappa(labels, person) for person in crowd.values()])
        assert tiers[judge]["kappa"] == pytest.approx(mean)
        assert tiers[judge]["people_kappa"] == pytest.approx(own.mean())
        assert tiers[judge]["z"] == pytest.approx((mean - own.mean()) / own.std(ddof=1))
        low, high = tiers[judge]["difference"]["ci"]
        assert low < tiers[judge]["difference"]["value"] < high
        assert tiers[judge]["people"] == PEOPLE
    expected = {"alike": "human-like", "above": "super-consistent", "guess": "below human"}
    assert {judge: one["tier"] for judge, one in tiers.items()} == expected


def test_the_page_and_the_terminal_say_the_tiers_only_if_asked(result, tmp_path):
    _, without = result("--level", "nominal")
    assert "Tier" not in without
    assert json.loads(result("--level", "nominal", "--json")[1])["verdicts"][0]["tier"] is None

    _, text = result("--level", "nominal", "--tiers")

    assert "Tiers by kappa with people" in text
    assert "super-consistent" in text
    assert "standard deviations of people" in " ".join(text.split())
    assert "super-consistent" in (tmp_path / "r.html").read_text()


def test_fewer_than_ten_people_have_a_z_but_no_tier(result):
    _, text = result("--level", "nominal", "--tiers", "--json", people=6)

    tiers = [one["tier"] for one in json.loads(text)["verdicts"]]
    assert {tier["people"] for tier in tiers} == {6}
    assert all(tier["z"] is not None for tier in tiers)
    assert {tier["tier"] for tier in tiers} == {None}
    assert {tier["reason"] for tier in tiers} == {"under 10 people"}


def test_two_labels_without_a_level_say_what_to_add(tmp_path, capsys):
    table = tmp_path / "labels.csv"
    rows = [f"q{n},{'yes' if n % 3 else 'no'},yes,no" for n in range(30)]
    table.write_text("\n".join(["item,human_1,human_2,judge", *rows]))

    code = check([str(table), "--tiers", "--out", str(tmp_path / "r.html")])

    assert code == 2
    assert "add --level nominal" in capsys.readouterr().err


def test_scores_of_many_values_have_no_tiers(tmp_path, capsys):
    table = tmp_path / "scores.csv"
    rows = [f"q{n},{n}.5,{n + 1}.5,{n}.5" for n in range(40)]
    table.write_text("\n".join(["item,human_1,human_2,judge", *rows]))

    code = check([str(table), "--level", "score", "--tiers", "--out", str(tmp_path / "r.html")])

    assert code == 2
    assert "at most 20" in capsys.readouterr().err
