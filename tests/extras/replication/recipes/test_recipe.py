"""Recipes and files of models: what they say, and what is refused in words."""

import tomllib
from copy import deepcopy
from decimal import Decimal

import pytest

from extras.replication.recipes.recipe import (
    SHIPPED,
    BadRecipe,
    find_recipe,
    read_models,
    read_recipe,
    shipped_names,
)
from extras.replication.released.cells import TITLES, published
from extras.replication.released.result_files import ResultName
from studies.importers.sets import data_sets
from studies.importers.sets.data_set import parse_options

RAW = tomllib.loads((SHIPPED / "personalized-judge.toml").read_text("utf-8"))


@pytest.fixture
def raw():
    return deepcopy(RAW)


def test_the_papers_recipe_fills_every_cell_that_needs_no_people():
    recipe = find_recipe("personalized-judge")

    filled = {(cell.table, cell.row, cell.part) for cell in recipe.cells}
    filled |= {(cell.table, cell.average, "overall") for cell in recipe.cells if cell.average}
    cells = {
        (c["table"], c["row"], "overall" if c["part"] == "average" else c["part"])
        for c in published()["cells"]
    }
    # The paper's released files have one more row, which the article does not ask for.
    asked = {key for key in cells if key[1] != "Least important feature"}
    assert {key for key in asked if key[0] not in ("table5", "table7")} == filled
    assert len(recipe.published) == 130
    assert recipe.tables == TITLES


def test_its_importers_options_and_released_files_exist():
    pytest.importorskip("extras.datasets")  # importers of released data sets
    recipe = find_recipe("personalized-judge")

    for data in recipe.data.values():
        for options in data.options.values():
            parse_options(data_sets()[data.format].options, options)
    for ask in recipe.asks.values():
        assert ask.wordings.keys() <= set(ask.data)
        assert all(ResultName.parse(name) for name in ask.wordings.values())


def test_a_question_names_its_features_by_variant():
    recipe = find_recipe("personalized-judge")

    found = {
        (q.data.key, q.ask.key, q.variant): q.features
        for q in recipe.questions(("described", "code"), ("prism", "opinionqa"))
    }
    for variant in ("described", "code"):
        single = ("location", "ethnicity", "education")
        assert [found["prism", name, variant] for name in single] == [
            "residence_country",
            "ethnicity",
            "education",
        ]
        assert found["opinionqa", "location", variant] == "region"
    assert found["opinionqa", "three", "code"] == "age,education,politics,ideology"
    assert found["prism", "whole", "code"] == "all"
    assert len(found) == 28


def test_table_8_compares_runs_that_differ_in_the_persona_alone():
    recipe = find_recipe("personalized-judge")

    asked = {
        cell.row.partition(" ")[2]: recipe.asks[cell.ask]
        for cell in recipe.cells
        if cell.table == "table8"
    }

    assert {ask.setting for ask in asked.values()} == {"standard"}
    assert {row: ask.features for row, ask in asked.items()} == {
        "w/ persona": "all",
        "w/o persona": "none",
    }


def test_every_shipped_recipe_can_be_read():
    assert "personalized-judge" in shipped_names()
    for name in shipped_names():
        assert find_recipe(name).name == name


def _without(raw, *path):
    at = raw
    for key in path[:-1]:
        at = at[key]
    del at[path[-1]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda raw: raw.update(speed=1), "There is no field “speed”"),
        (lambda raw: raw.update(name=""), "name: use a text"),
        (
            lambda raw: raw.update(samples=0),
            r"samples: the value is .*\. Use a whole number of 1 or more",
        ),
        (lambda raw: raw.update(variants={}), "variants: use a table"),
        (lambda raw: _without(raw, "data", "pr", "items", "code"), "data.pr.items: .*“code”"),
        (lambda raw: _without(raw, "data", "pr", "letters", "whole"), "data.pr.letters: use"),
        (lambda raw: _without(raw, "data", "ec", "letters", "none"), "data.ec.letters: .*“none”"),
        (lambda raw: _without(raw, "data", "prism", "features", "three", "code"), "add “code”"),
        (lambda raw: raw["ask"]["tie"].update(data=["x"]), "ask.tie.data: “x” is none of pr, "),
        (lambda raw: raw["ask"]["tie"].update(color="red"), "ask.tie: there is no field “color”"),
        (lambda raw: raw["cells"][0].update(table="table9"), "table: “table9” is none of table1"),
        (lambda raw: raw["cells"][0].update(ask="tie"), "“tie” is not asked about “pr”"),
        (lambda raw: raw["cells"][2].update(parts=["middle"]), "parts: “middle” is none of"),
        (lambda raw: raw["figures"].update(figure2=["x"]), "figures.figure2: “x” is none of"),
        (lambda raw: raw.update(published=[]), "tables: use a table"),
    ],
)
def test_a_faulty_recipe_names_the_field(raw, change, message):
    change(raw)

    with pytest.raises(BadRecipe, match=message):
        read_recipe(raw)


def test_published_figures_of_another_recipe_stand_in_its_file(raw):
    raw["tables"] = {name: f"Title of {name}" for name in TITLES}
    raw["published"] = [{"table": "table1", "row": "PR no tie", "model": "x", "accuracy": 0.5}]

    recipe = read_recipe(raw)

    assert not recipe.is_of_the_paper
    assert recipe.published[0]["part"] == "overall"
    raw["published"][0]["table"] = "table0"
    with pytest.raises(BadRecipe, match="published, block 1, table: “table0”"):
        read_recipe(raw)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("absent", "There is no recipe “absent”. Use personalized-judge"),
        ("absent.toml", "cannot be read"),
    ],
)
def test_an_unknown_recipe_names_those_that_there_are(name, message):
    with pytest.raises(BadRecipe, match=message):
        find_recipe(name)


def test_a_recipe_file_that_is_no_toml_is_refused(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text("name = ")

    with pytest.raises(BadRecipe, match="is not TOML"):
        find_recipe(str(path))


MODELS = """
[[judges]]
name = "big"
model = "m"
base_url = "http://localhost:1/v1"
price_input = 2.5
price_output = 10
"""


def test_models_have_the_fields_of_add_judge(tmp_path):
    path = tmp_path / "models.toml"
    path.write_text(MODELS)

    models = read_models(path)

    assert models.names == ["big"]
    assert models.judges[0]["price_input"] == Decimal("2.5")
    assert not models.simulated


@pytest.mark.parametrize(
    "text", [MODELS.replace('"m"', '"demo-steady"'), "simulated = true" + MODELS]
)
def test_models_of_the_demo_are_simulated_whether_the_file_says_so_or_not(tmp_path, text):
    path = tmp_path / "models.toml"
    path.write_text(text)

    assert read_models(path).simulated


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("judges = 1", r"add a block \[\[judges\]\]"),
        ("", r"add a block \[\[judges\]\]"),
        ("colour = 1" + MODELS, "there is no field “colour”"),
        (MODELS + 'key = "x"', "block 1 of .*: there is no field “key”"),
        (MODELS.replace('name = "big"', ""), "name is missing"),
        (MODELS.replace("2.5", "-1"), "price_input is -1"),
        (MODELS.replace("2.5", '"2"'), "price_input is '2'"),
        (MODELS + MODELS, "two judges have the same name"),
        ("[[judges]", "is not TOML"),
    ],
)
def test_a_faulty_file_of_models_is_refused_in_words(tmp_path, text, message):
    path = tmp_path / "models.toml"
    path.write_text(text)

    with pytest.raises(BadRecipe, match=message):
        read_models(path)
