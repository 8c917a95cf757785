"""Items with three to five responses: the pairs that a rule makes of them."""

import io
import json
from dataclasses import replace

import pytest
from django.core.management import CommandError, call_command

from studies.errors import BadOption
from studies.exporters.items import item_cells, item_rows
from studies.importers.columns.mapping import ColumnMapping
from studies.importers.items.import_source import read_paths
from studies.importers.items.item_bundle import ImportOptions, report_on
from studies.importers.items.storage import import_items
from studies.models import Item, Study
from studies.texts.normalisation import canonical
from tests.studies.files import faults, jsonl, raw_item, read
from tests.studies.media_files import needs_media, picture, zipped

TEXTS = {"r1": "A soup.", "r2": "A stew.", "r3": "A cake.", "r4": "A pie."}


def of_four(**overrides):
    responses = [{"key": key, "text": text} for key, text in TEXTS.items()]
    return raw_item(
        **{"id": "q7", "responses": responses, "first_person": {"label": "r3"}} | overrides
    )


def scored(*scores):
    keys = list(TEXTS)[: len(scores)]
    return [{"key": k, "text": TEXTS[k], "score": s} for k, s in zip(keys, scores, strict=True)]


def pairs(raw, rule="all", seed=1):
    return list(read(jsonl(raw), options={"pairs": rule}, seed=seed).items)


def best_of(item):
    """The text that the persona chose; None if that is not known."""
    label = item.values["first_person"]
    return item.values[label]["text"] if label in ("r1", "r2") else label or None


def shown(item):
    return {item.values["r1"]["text"], item.values["r2"]["text"]}


def test_without_a_rule_the_item_is_refused():
    assert faults(jsonl(of_four(first_person=None))) == [
        "Line 1, item “q7”: an item needs exactly 2 responses, found 4. To make pairs of more, set "
        "the option “Items with 3 to 5 responses”."
    ]


@pytest.mark.parametrize(
    ("rule", "made"),
    [("all", "r1-r2 r1-r3 r1-r4 r2-r3 r2-r4 r3-r4"), ("chosen_vs_rest", "r1-r3 r2-r3 r3-r4")],
)
def test_a_rule_makes_pairs_and_those_with_the_chosen_response_have_a_label(rule, made):
    items = pairs(of_four(), rule)

    assert [item.key for item in items] == [f"q7:{pair}" for pair in made.split()]
    for item, pair in zip(items, made.split(), strict=True):
        assert shown(item) == {TEXTS[key] for key in pair.split("-")}
        assert best_of(item) == ("A cake." if "r3" in pair else None)
    assert {item.values["group"] for item in items} == {"q7"}


def test_every_pair_knows_the_whole_set_in_its_order():
    for item in pairs(of_four()):
        values = item.values
        stored = Item(r1=values["r1"], r2=values["r2"], option_set=values["option_set"])

        assert [each["text"] for each in stored.options] == list(TEXTS.values())
        assert values["option_set"]["chosen"] == 3
        for side, place in values["option_set"]["place"].items():
            assert values[side]["text"] == TEXTS[f"r{place}"]


def test_the_chosen_response_is_paired_with_one_other_that_the_seed_draws():
    drawn = {
        seed: [item.key for item in pairs(of_four(), "chosen_vs_random", seed)]
        for seed in range(30)
    }

    assert all(len(keys) == 1 for keys in drawn.values())
    assert {key for [key] in drawn.values()} == {"q7:r1-r3", "q7:r2-r3", "q7:r3-r4"}
    assert drawn[4] == [item.key for item in pairs(of_four(), "chosen_vs_random", 4)]


@pytest.mark.nightly
def test_a_reproducible_draw_decides_which_response_is_response_1():
    made = [pairs(of_four(id=f"q{n}"))[1] for n in range(200)]
    firsts = sum(item.values["first_person"] == "r1" for item in made)

    assert 70 <= firsts <= 130
    again = [pairs(of_four(id=f"q{n}"))[1].content_hash for n in range(20)]
    assert again == [item.content_hash for item in made[:20]]


@pytest.mark.parametrize(
    "given",
    [
        {"first_person": {"ranking": ["r3", "r1", "r4", "r2"]}},
        {"responses": scored(50, 10, 90, 20), "first_person": {}},
    ],
)
def test_a_ranking_or_scores_label_every_pair(given):
    items = pairs(of_four(**given))
    order = ["A cake.", "A soup.", "A pie.", "A stew."]

    for item in items:
        assert best_of(item) == min(shown(item), key=order.index)
    assert {item.values["option_set"]["chosen"] for item in items} == {3}


def test_equal_scores_are_a_tie_and_leave_the_chosen_response_open():
    items = pairs(of_four(responses=scored(9, 1, 9), first_person={}))

    assert [best_of(item) for item in items] == ["A soup.", "tie", "A cake."]
    assert items[0].values["option_set"]["chosen"] is None
    [fault] = faults(
        jsonl(of_four(responses=scored(9, 1, 9), first_person={})),
        options={"pairs": "chosen_vs_rest"},
    )
    assert "need the response that the persona chose" in fault


@pytest.mark.parametrize(
    ("overrides", "sentence"),
    [
        ({"first_person": {"label": "r5"}}, "label “r5” is not allowed; use one of r1, r2, r3, r4"),
        ({"first_person": {"label": "tie"}}, "label “tie” is not allowed"),
        ({"first_person": {"ranking": ["r1", "r2"]}}, "must name each of r1, r2, r3, r4 once"),
        (
            {"first_person": {"label": "r1", "ranking": ["r2", "r1", "r3", "r4"]}},
            "another response is ranked or scored higher",
        ),
        ({"responses": [*scored(1, 2), {"key": "r3", "text": " "}]}, "response r3 is empty"),
        ({"responses": [*scored(1, 2), {"key": "r4", "text": "x"}]}, "the keys r1, r2, r3"),
        (
            {"responses": [*scored(1, 2), {"key": "r3", "text": " A soup. "}]},
            "responses r1 and r3 have the same text",
        ),
        ({"order": {"shuffle": False}}, "has no fixed order"),
        ({"split": "practice"}, "only main items have more than 2 responses"),
        ({"advice": {"text": "Take it."}}, "has no advice"),
        ({"id": ""}, "id is missing"),
        (
            {"responses": [{"text": f"{n}"} for n in range(6)], "first_person": None},
            "exactly 2 responses, found 6.",
        ),
    ],
)
def test_a_set_that_breaks_a_rule_is_refused_once(overrides, sentence):
    found = faults(jsonl(of_four(**overrides)), options={"pairs": "all"})

    assert len(found) == 1
    assert sentence in found[0]


@pytest.mark.parametrize(
    "change",
    [
        {"place": {"r1": 1, "r2": 1}},
        {"place": {"r1": 1}},
        {"place": [1, 2]},
        {"others": []},
        {"others": [{"place": 3, "text": ""}, {"place": 4, "text": "x"}]},
        {"others": [{"place": 3, "text": "x"}, {"place": "4", "text": "x"}]},
        {"others": "none"},
        {"chosen": 9},
        {"rule": "some"},
        {"id": ""},
    ],
)
def test_an_option_set_that_no_export_wrote_is_refused(change):
    [item] = pairs(of_four(), "chosen_vs_random")
    row = raw_item(id="z", option_set=dict(item.values["option_set"]) | change)

    assert any("option_set is not in the form" in f for f in faults(jsonl(row)))


def test_csv_has_columns_for_more_responses():
    header = "id,persona_id,feature:age,question,response_1,response_2,response_3,response_4,"
    rows = ["q1,p,35,Why?,One,Two,Three,,3,", 'q2,p,35,Why?,One,Two,Three,Four,,"4,1,3,2"']
    data = "\n".join([f"{header}first_person,ranking", *rows]).encode()

    items = list(read(data, name="items.csv", options={"pairs": "all"}).items)

    assert {item.key: best_of(item) for item in items} == {
        "q1:r1-r2": None,
        "q1:r1-r3": "Three",
        "q1:r2-r3": "Three",
        "q2:r1-r2": "One",
        "q2:r1-r3": "One",
        "q2:r1-r4": "Four",
        "q2:r2-r3": "Three",
        "q2:r2-r4": "Four",
        "q2:r3-r4": "Four",
    }
    assert any("found 3" in fault for fault in faults(data, name="items.csv"))


def test_mapped_columns_make_no_pairs_and_both_say_what_does(tmp_path):
    path = tmp_path / "own.csv"
    path.write_text("q,a,b,response_3,age\nQ?,Yes,No,Maybe,30\n")
    fields = {"q": "question", "a": "response_1", "b": "response_2", "age": "feature"}
    how = ImportOptions("preference", mapping=ColumnMapping(fields).as_json())

    remedy = "and choose which pairs to make of them"
    assert remedy in dict(report_on(read_paths([path], how)).facts)["Only two responses"]
    with pytest.raises(BadOption, match=f"leave the mapping out.*{remedy}"):
        read_paths([path], replace(how, options={"pairs": "all"}))


@pytest.mark.parametrize("options", [{}, {"pairs": "all"}])
def test_an_item_without_a_set_is_read_as_ever(options):
    (bare,) = read(jsonl(raw_item())).items
    (empty,) = read(jsonl(raw_item(option_set={})), options=options).items

    assert bare.values["option_set"] == {}
    assert canonical(bare.values) == canonical(empty.values)
    assert bare.content_hash == empty.content_hash


@pytest.mark.django_db
def test_the_command_records_the_rule_and_an_export_brings_the_same_items_back(tmp_path):
    file = tmp_path / "items.jsonl"
    file.write_bytes(jsonl(of_four(), raw_item(2)))
    out = io.StringIO()
    options = ["--create", "--option", "pairs=chosen_vs_random", "--seed", "5"]
    call_command("import_items", "sets", str(file), *options, stdout=out)
    study = Study.objects.get(slug="sets")

    assert study.source["dataset"]["importer"] == {
        "name": "items",
        "options": {"pairs": "chosen_vs_random"},
        "seed": 5,
    }
    assert study.log.get(event="items imported").detail["read"][0]["options"] == {
        "pairs": "chosen_vs_random"
    }
    assert "as pairs by “chosen_vs_random” 1" in out.getvalue()
    rows = list(item_rows(study))
    [again] = [item for item in read(jsonl(*rows)).items if item.values["option_set"]]
    stored = Item.objects.exclude(option_set={}).get()
    assert again.content_hash == stored.content_hash
    cells = next(item_cells(row) for row in rows if row.get("option_set"))
    assert json.loads(cells["extra"]) == {"option_set": stored.option_set}


@needs_media
@pytest.mark.django_db
def test_sets_of_pictures_become_pairs(settings, tmp_path):
    settings.VAR_DIR = tmp_path
    colors = ("red", "blue", "green")
    responses = [
        {"text": "", "media": [{"file": f"p/{color}.png", "description": color}]}
        for color in colors
    ]
    files = {f"p/{color}.png": picture(color=color) for color in colors}
    path = zipped(tmp_path / "i.zip", [of_four(responses=responses)], files)

    how = ImportOptions("preference", options={"pairs": "all"})
    import_items("s", read_paths([path], how), create=True)

    made = list(Item.objects.all())
    assert (len(made), Study.objects.get(slug="s").media.count()) == (3, 3)
    for pair in made:
        assert sorted(each["media"][0]["description"] for each in pair.options) == sorted(colors)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--option", "pairs=some"], "must be one of all, chosen_vs_rest, chosen_vs_random"),
        (["--option", "n=5"], "n belongs to a data set"),
        (["--seed", "5"], "seed belongs to a data set"),
    ],
)
def test_other_options_of_an_item_file_are_refused(tmp_path, options, sentence):
    file = tmp_path / "items.jsonl"
    file.write_bytes(jsonl(of_four()))

    with pytest.raises(CommandError, match=sentence):
        call_command("import_items", "sets", str(file), "--create", *options)
