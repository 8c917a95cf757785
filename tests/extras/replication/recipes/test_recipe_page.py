"""extending/recipe.md, followed word for word: its recipe is found, costed and asked."""

import io
import shlex
import tomllib

import pytest
from django.core.management import call_command

from extras.replication.recipes import recipe as recipes
from extras.replication.recipes.recipe import BadRecipe
from judging.models import JudgeRun
from tests.extending.page import blocks
from tests.extras.replication.recipes.answers import needs_data_sets
from tests.judging.llm_server import completion
from tests.studies.sets.made import all_fixtures

PAGE = "../../extras/replication/docs/extending/recipe.md"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The recipe among the shipped ones, and the working folder with the file of models."""
    written, models = blocks(PAGE, "toml")
    first = written.partition("\n")[0]
    assert first == "# extras/replication/recipes/shipped/who-wrote-it.toml"
    shipped = tmp_path / "shipped"
    shipped.mkdir()
    (shipped / "who-wrote-it.toml").write_text(written, encoding="utf-8")
    monkeypatch.setattr(recipes, "SHIPPED", shipped)
    (tmp_path / "models.toml").write_text(models, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def follow(command, *more):
    out = io.StringIO()
    args = [*shlex.split(command)[1:], *map(str, more)]
    call_command(*args, stdout=out, stderr=io.StringIO())
    return out.getvalue()


def test_the_estimate_prints_what_the_page_says(folder):
    command, printed = blocks(PAGE, "")

    assert printed.split() == follow(command).splitlines()[-2].split()


def test_the_recipe_is_asked_and_set_next_to_its_published_figure(folder, engine, llm):
    needs_data_sets("pr")
    command, _ = blocks(PAGE, "")
    llm.answer = lambda body, number: completion("A]] [[90]]")
    path = folder / "models.toml"
    path.write_text(path.read_text().replace("http://localhost:8001/v1", llm.url))

    text = follow(
        command.replace("--dry-run", ""), "--data", all_fixtures(folder / "sets"), "--inline"
    )

    assert "Table A: who wrote it" in text
    assert "their model  0.900 (472/525)" in text
    assert JudgeRun.objects.filter(state="done", orders="both").count() == 2
    # Side A in both orders: every item gets one right and one wrong answer, so no verdict.
    assert "PR                all answers  mine" in text


def test_the_refusal_on_the_page_is_the_programs(folder):
    [refusal] = [line for line in _lines() if line.startswith("A wrong field is refused")]
    raw = tomllib.loads(blocks(PAGE, "toml")[0])
    del raw["data"]["pr"]["letters"]["two"]

    with pytest.raises(BadRecipe) as caught:
        recipes.read_recipe(raw)

    assert f"`{caught.value}`" in refusal


def _lines():
    from tests.extending.page import DOCS

    return (DOCS / PAGE).read_text("utf-8").splitlines()
