"""Tables and figures of a reproduction: which figure stands where, and what stays open."""

import pytest

from extras.replication.recipes.reproduction import cell_rows, charts, persona_table, tables
from extras.replication.released.replication import Bars, PaperFigure
from tests.extras.replication.recipes.answers import RECIPE, WHOLE, answers

CODE = "as the code did it"


def now(found, source=CODE):
    return {
        (row["table"], row["row"], row["part"]): row
        for row in cell_rows(RECIPE, found)
        if row["source"] == source
    }


def test_a_question_fills_every_table_that_has_its_figure():
    rows = now([answers("prism", "whole")])

    assert {key[:2] for key in rows} == {
        ("table1", "PRISM no tie"),
        ("table1", "Average no tie"),
        ("table2", "PRISM"),
        ("table4", "All features"),
    }
    assert set(now([answers("prism", "standard")])) == {("table8", "PRISM w/ persona", "overall")}
    assert (rows["table1", "PRISM no tie", "overall"]["correct"]) == 5
    high = rows["table4", "All features", "high"]
    assert (high["correct"], high["n"], high["accuracy"]) == (3, 4, 0.75)


def test_with_ties_a_reply_without_a_verdict_is_wrong():
    row = now([answers("ec-tie", "tie")])["table1", "EC with tie", "overall"]

    assert (row["correct"], row["n"]) == (5, 12)


def test_an_average_waits_for_all_its_data_sets():
    place = ("table1", "Average no tie", "overall")

    assert now(WHOLE[:3])[place]["accuracy"] is None
    assert now(WHOLE)[place]["accuracy"] == pytest.approx(0.5)


def test_models_and_variants_have_rows_of_their_own_below_the_published_ones():
    found = [
        answers("pr", "whole", model, variant)
        for variant in ("described", "code")
        for model in ("one", "two")
    ]

    [table1] = [t for t in tables(RECIPE, cell_rows(RECIPE, found)) if t.name == "table1"]

    first = [row[:3] for row in table1.rows if row[0] == "PR no tie"]
    assert first[:4] == [
        ["PR no tie", "published", model]
        for model in ("Llama-3 70B", "GPT-3.5", "GPT-4", "Command R+")
    ]
    assert first[4:] == [
        ["PR no tie", "as described", "one"],
        ["PR no tie", "as described", "two"],
        ["PR no tie", CODE, "one"],
        ["PR no tie", CODE, "two"],
    ]


def test_released_outputs_stand_between_published_and_new_figures():
    cell = {
        "table": "table2",
        "row": "PRISM",
        "column": "Command R+ low",
        "part": "low",
        "computed": 588 / 852,
        "computed_correct": 588,
        "computed_n": 852,
    }
    absent = cell | {"column": "GPT-4 low", "computed": None, "computed_n": None}

    rows = cell_rows(RECIPE, [answers("prism", "whole")], [cell, absent])

    [released] = [row for row in rows if row["source"] == "released output"]
    assert (released["model"], released["part"], released["n"]) == ("Command R+", "low", 852)
    of_prism = [r["source"] for r in rows if (r["table"], r["row"]) == ("table2", "PRISM")]
    assert list(dict.fromkeys(of_prism)) == ["published", "released output", CODE]


def test_tables_of_people_hold_only_published_figures_and_say_what_they_need():
    made = {table.name: table for table in tables(RECIPE, cell_rows(RECIPE, WHOLE))}

    assert set(made) == {"table1", "table2", "table3", "table4", "table5", "table7", "table8"}
    for name in ("table5", "table7"):
        assert {row[1] for row in made[name].rows} == {"published"}
        assert "need annotators" in str(made[name].note)


def test_the_features_of_personas_stand_next_to_those_of_the_paper():
    table = persona_table([("PRISM", CODE, ["age", "sex"])])

    assert table.rows[0][:2] == ["PR", "published"]
    assert [row[0] for row in table.rows[:4]] == ["PR", "PRISM", "OpinionQA", "EC"]
    assert table.rows[-1] == ["PRISM", CODE, "age, sex"]


def test_figures_have_a_panel_for_each_model_and_question_with_a_certainty():
    found = [*WHOLE, answers("prism", "education"), answers("prism", "none")]

    figure2, figure3 = charts(RECIPE, found)

    assert [panel.title for panel in figure2.panels][:2] == [
        f"PR · mine · {CODE}",
        f"PRISM · mine · {CODE}",
    ]
    assert [panel.title for panel in figure3.panels] == [f"PRISM · mine · education · {CODE}"]
    assert figure3.panels[0].summary == "All 0.500<br>High 0.750 (3/4)<br>Low 0.333 (2/6)"
    assert figure2.title.startswith("Figure 2")


def test_panels_of_released_files_come_first():
    released = PaperFigure("figure2", (Bars("PRISM · GPT-4", "All 0.700", (("50", 7, 3),)),))

    [figure2] = charts(RECIPE, [answers("prism", "whole")], [released])

    titles = [panel.title for panel in figure2.panels]
    assert titles == ["PRISM · GPT-4 · released output", f"PRISM · mine · {CODE}"]
