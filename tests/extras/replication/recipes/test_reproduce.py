"""The command reproduce, from a file of models to tables and figures, on the demo's models."""

import io
import json
import re
from html import unescape
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from judging.models import Campaign, Judge, JudgeRun, Judgment, PromptTemplate
from studies.models import Study, StudyLog
from tests.extras.replication.recipes.answers import needs_data_sets
from tests.extras.replication.wordings.test_released_wordings import released, written
from tests.judging.llm_server import completion
from tests.judging.simulated import simulated_server
from tests.studies.sets.made import all_fixtures, fixture

MODELS = """
[[judges]]
name = "{name}"
model = "{model}"
base_url = "{url}"
price_input = {price}
price_output = {price}
"""


def models_file(folder, url="http://127.0.0.1:1/v1", model="mock", name="judge", price=1):
    path = folder / "models.toml"
    path.write_text(MODELS.format(url=url, model=model, name=name, price=price))
    return path


def reproduce(*args, **options):
    out = io.StringIO()
    call_command(
        "reproduce", "personalized-judge", *map(str, args), stdout=out, stderr=io.StringIO()
    )
    return out.getvalue()


def only(tmp_path, *names):
    """A folder with some of the fixtures' data sets."""
    needs_data_sets(*names)
    for name in names:
        (tmp_path / "data").mkdir(exist_ok=True)
        (tmp_path / "data" / name).symlink_to(fixture(name))
    return tmp_path / "data"


def test_an_estimate_at_full_size_needs_neither_data_nor_database(tmp_path):
    text = reproduce("--models", models_file(tmp_path), "--dry-run", "--out", tmp_path / "costs")

    assert re.search(r"^All +63,442 +0 ", text, re.MULTILINE)
    assert re.search(r"^OpinionQA +as described +whole .* 3,000 ", text, re.MULTILINE)
    assert text.endswith("Nothing was stored or sent.\n")
    rows = (tmp_path / "costs" / "costs.csv").read_text().splitlines()
    assert len(rows) == 1 + 40 + 1


def test_one_variant_and_a_limit_make_it_smaller(tmp_path):
    text = reproduce(
        "--models", models_file(tmp_path), "--dry-run", "--variant", "code", "--limit", 10
    )

    assert re.search(r"^All +200 +0 ", text, re.MULTILINE)


def test_the_documentation_has_the_requests_and_tokens_of_each_question(tmp_path):
    page = (Path(__file__).parents[4] / "extras/replication/docs/replication.md").read_text()
    reproduce("--models", models_file(tmp_path), "--dry-run", "--out", tmp_path / "costs")
    lines = (tmp_path / "costs" / "costs.csv").read_text().splitlines()[1:-1]

    for line in lines:
        data, variant, asked, setting = line.split(",")[:4]
        requests, _, tokens, _ = line.rsplit(",", 4)[1:]
        row = rf"\| {data} \| {variant} \| {asked} \| {setting} \| [\d, ]+ \| "
        assert re.search(row + rf"{int(requests):,} \| {int(tokens):,} \|", page), line


@pytest.mark.django_db
def test_an_estimate_from_data_stores_nothing(tmp_path):
    text = reproduce("--models", models_file(tmp_path), "--data", only(tmp_path, "pr"), "--dry-run")

    assert re.search(r"^PR +as described +whole .* 4 +0 ", text, re.MULTILINE)
    assert re.search(r"^PR +as the code did it +whole .* 3 +0 ", text, re.MULTILINE)
    assert not Study.objects.exists()
    assert not Judge.objects.exists()


@pytest.mark.nightly
@pytest.mark.slow
def test_simulated_models_go_from_the_files_to_tables_and_figures(tmp_path, engine):
    needs_data_sets("pr", "opinionqa", "ec")
    with simulated_server() as server:
        models = models_file(tmp_path, server.url, "demo-steady")
        args = (
            "--models",
            models,
            "--data",
            all_fixtures(tmp_path / "sets"),
            "--variant",
            "code",
            "--inline",
        )

        text = reproduce(*args, "--budget", 1, "--out", tmp_path / "out")
        asked = server.requests()["received"]
        again = reproduce(*args, "--budget", 1)
        assert server.requests()["received"] == asked

    assert asked >= 65
    assert "Simulated models. 20 runs of 1 model: 65 items answered, nothing left to ask." in text
    assert again.splitlines()[-1] in text
    slugs = set(Study.objects.values_list("slug", flat=True))
    assert len(slugs) == 6
    assert all(slug.endswith("-code-simulated") for slug in slugs)
    assert all(study.is_simulated for study in Study.objects.all())

    result = json.loads((tmp_path / "out" / "reproduction.json").read_text())
    assert result["simulated"] is True
    now = [cell for cell in result["cells"] if cell["source"] == "as the code did it, simulated"]
    by_place = {(c["table"], c["row"], c["part"]): c for c in now}
    whole = by_place["table1", "PRISM no tie", "overall"]
    high, low = (by_place["table2", "PRISM", part] for part in ("high", "low"))
    assert 0 < whole["n"] == high["n"] + low["n"] <= 5
    assert whole["correct"] == high["correct"] + low["correct"]
    assert whole["accuracy"] == by_place["table8", "PRISM w/ persona", "overall"]["accuracy"]
    parts = [by_place["table1", f"{name} no tie", "overall"] for name in ("PR", "PRISM", "EC")]
    parts.append(by_place["table1", "OpinionQA no tie", "overall"])
    average = by_place["table1", "Average no tie", "overall"]["accuracy"]
    assert average == pytest.approx(sum(part["accuracy"] for part in parts) / 4)
    run = JudgeRun.objects.get(
        study__slug="personalized-judge-prism-code-simulated", setting="certainty", features="all"
    )
    right = [
        judgment.choice == judgment.item.first_person
        for judgment in Judgment.objects.filter(run=run).select_related("item")
        if judgment.choice
    ]
    assert (whole["correct"], whole["n"]) == (sum(right), len(right))

    page = unescape((tmp_path / "out" / "reproduction.html").read_text())
    own = page[: page.index('id="plots"')]
    assert "Simulated models." in own
    assert "Table 4: accuracy by certainty with fewer features, PRISM" in own
    assert "Figure 2: certainty and accuracy with the whole persona" in own
    assert "default-src 'none'" in own
    tables = {path.stem for path in (tmp_path / "out" / "tables").glob("*.csv")}
    assert tables == {*(f"table{n}" for n in range(1, 9)), "figure2", "figure3", "costs"}


@pytest.mark.nightly
def test_one_budget_holds_over_all_studies(tmp_path, engine, llm):
    llm.answer = lambda body, number: completion("A]] [[80]]")
    models = models_file(tmp_path, llm.url, price=100)
    data = only(tmp_path, "pr", "opinionqa")
    args = ("--models", models, "--data", data, "--variant", "described", "--inline")

    with pytest.raises(
        CommandError, match=r"budget of campaign “personalized-judge: budget”, \$0\.3"
    ):
        reproduce(*args, "--budget", 0.3)

    spent = sum(run.spent_nano for run in JudgeRun.objects.all())
    assert 0 < spent <= 0.3 * 10**9
    shared = Campaign.objects.get(plan={})
    assert shared.runs.count() == JudgeRun.objects.count() == 8
    assert len({run.study_id for run in shared.runs.all()}) == 2
    asked = len(llm.requests)
    for other in (("--budget", 1000), ()):
        with pytest.raises(CommandError, match=r"have a budget of \$0.30 already.*--change"):
            reproduce(*args, *other)
    shared.refresh_from_db()
    assert (f"{shared.budget:.2f}", len(llm.requests)) == ("0.30", asked)
    reproduce(*args, "--budget", 1000, "--change")
    assert StudyLog.objects.get(event="campaign changed").detail["after"] == "1000"
    assert not Judgment.objects.exclude(state="done").exists()
    assert len(llm.requests) - asked == Judgment.objects.count() - asked


@pytest.mark.django_db
def test_data_sets_without_a_folder_are_named(tmp_path):
    with pytest.raises(CommandError, match="has none of the folders pr, prism, opinionqa, ec"):
        reproduce("--models", models_file(tmp_path), "--data", tmp_path)
    with pytest.raises(CommandError, match="Give the folder with the data sets"):
        reproduce("--models", models_file(tmp_path))


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--variant", "x"), "There is no variant “x”. Use: described, code."),
        (("--option", "x.n=1"), "There is no data set “x”. Use: pr, "),
        (("--option", "pr.n=1"), "There is no option “n”"),
        (("--owner", "nobody"), "There is no user “nobody”"),
    ],
)
def test_bad_options_are_refused_in_words(tmp_path, args, message):
    with pytest.raises(CommandError, match=re.escape(message)):
        reproduce(
            "--models", models_file(tmp_path), "--data", only(tmp_path, "pr"), "--dry-run", *args
        )


@pytest.mark.nightly
def test_other_options_need_studies_of_their_own(tmp_path, engine, llm):
    llm.answer = lambda body, number: completion("A]] [[80]]")
    models = models_file(tmp_path, llm.url)
    args = ("--models", models, "--data", only(tmp_path, "pr"), "--variant", "code", "--inline")
    reproduce(*args[:-1])
    assert not llm.requests  # no worker has started it, so the same command does it inline
    reproduce(*args)
    assert llm.requests
    other = ("--option", "pr.other=similar", "--option", "pr.similarity=tfidf")

    with pytest.raises(CommandError, match=r"(?s)other content.*another --prefix"):
        reproduce(*args, *other)
    reproduce(*args, *other, "--prefix", "second")
    with pytest.raises(CommandError, match="at most 60 characters"):
        reproduce(*args, *other, "--prefix", "x" * 60)

    slugs = sorted(Study.objects.values_list("slug", flat=True))
    assert slugs == ["personalized-judge-pr-code", "second-pr-code"]


def test_a_folder_of_somebody_else_is_not_replaced(tmp_path, db):
    (tmp_path / "out" / "tables").mkdir(parents=True)

    with pytest.raises(CommandError, match="contains tables, which this command did not create"):
        reproduce(
            "--models",
            models_file(tmp_path),
            "--data",
            only(tmp_path, "pr"),
            "--out",
            tmp_path / "out",
        )


@pytest.mark.nightly
def test_the_prompts_of_released_files_are_used_where_they_are_given(tmp_path, engine, llm):
    llm.answer = lambda body, number: completion("A]] [[80]]")
    outputs = tmp_path / "outputs"
    outputs.mkdir()
    written(outputs, released(), "prism_all_features_command-r-plus.jsonl")
    models = models_file(tmp_path, llm.url)
    args = ("--models", models, "--data", only(tmp_path, "prism"), "--variant", "code", "--inline")

    text = reproduce(*args, "--outputs", outputs)

    assert "Table 1" in text
    prompts = [body["messages"][-1]["content"] for body in llm.requests]
    ours = [prompt for prompt in prompts if "<profile>" not in prompt]
    theirs = [prompt for prompt in prompts if "<profile>" in prompt]
    # Whole, three and one; the other settings keep our words.
    assert (len(theirs), len(ours)) == (25, 15)
    assert all(prompt.startswith("Read the profile. Say [[A]] or [[B]]") for prompt in theirs)
    wording = PromptTemplate.objects.get(name="released whole")
    assert "prism_all_features_command-r-plus.jsonl" in str(wording.note)
    assert "{{ persona }}" not in wording.template_without_persona


@pytest.mark.nightly
def test_the_budget_that_studies_share_is_on_no_page_and_keeps_campaigns_apart(
    tmp_path, engine, llm, client
):
    llm.answer = lambda body, number: completion("A]] [[80]]")
    owner = User.objects.create_user("ada")
    client.force_login(owner)
    data = only(tmp_path, "pr", "opinionqa")
    models = models_file(tmp_path, llm.url)
    args = ("--models", models, "--data", data, "--variant", "code", "--owner", owner.username)

    reproduce(*args, "--budget", 5, "--inline")

    shared = Campaign.objects.get(plan={})
    assert (
        client.get(f"/studies/{shared.study.slug}/judges/campaign/{shared.public_id}/").status_code
        == 404
    )
    home = client.get(f"/studies/{shared.study.slug}/judges/").content.decode()
    assert "personalized-judge: whole" in home
    assert "personalized-judge: budget" not in home
    own = Campaign.objects.exclude(plan={}).get(study=shared.study)
    page = client.get(f"/studies/{shared.study.slug}/judges/campaign/{own.public_id}/")
    assert page.status_code == 200
    assert {run.study_id for run in own.runs.all()} == {shared.study_id}


def test_a_model_without_a_price_gets_no_budget_and_nothing_is_stored(tmp_path, engine, llm):
    path = models_file(tmp_path, llm.url)
    path.write_text(
        "\n".join(line for line in path.read_text().splitlines() if "price" not in line)
    )

    with pytest.raises(CommandError, match="Judge “judge” has no price"):
        reproduce("--models", path, "--data", only(tmp_path, "pr"), "--budget", 1, "--inline")

    assert not JudgeRun.objects.exists()
    assert llm.requests == []
