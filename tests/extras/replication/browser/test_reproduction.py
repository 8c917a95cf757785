"""The page of a reproduction in Chromium: legible, drawn, and without any request."""

import pytest

from extras.replication.recipes.asking import at_full_size, cost_table
from extras.replication.recipes.recipe import Models
from extras.replication.recipes.reproduction import (
    SCHEMA,
    cell_rows,
    charts,
    tables,
    write_reproduction,
)
from tests.browser.conftest import is_well_in_both_themes
from tests.extras.replication.recipes.answers import RECIPE, WHOLE, answers

pytestmark = [pytest.mark.sampled(keep=1, group="replication in reproduction"), pytest.mark.browser]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    out = tmp_path_factory.mktemp("out")
    found = [*WHOLE, answers("prism", "education")]
    rows = cell_rows(RECIPE, found)
    models = Models(({"name": "mine"},), simulated=True)
    costs = at_full_size(RECIPE, RECIPE.questions(("code",), ("prism",)), models)
    result = {
        "schema": SCHEMA,
        "title": RECIPE.title,
        "citation": RECIPE.citation,
        "simulated": True,
        "state": "Simulated models. 5 runs of 1 model: 50 items answered, nothing left to ask.",
        "cells": rows,
    }
    made = [*tables(RECIPE, rows), cost_table(RECIPE, costs)]
    write_reproduction(result, made, charts(RECIPE, found), [], out)
    return out


@pytest.mark.nightly
def test_it_is_drawn_asks_for_nothing_and_reads_well(browser, written):
    context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True)
    page = context.new_page()
    said, asked = [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto((written / "reproduction.html").as_uri())
    page.wait_for_selector("body[data-drawn]")

    page.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true; })")

    assert "Simulated models." in page.locator("header.banner").inner_text()
    assert (
        page.locator(".plot svg.still circle, .plot svg.still rect, .plot svg.still path").count()
        > 0
    )
    with page.expect_download() as download:
        page.locator("#table-table2").get_by_role("button", name="CSV").click()
    saved = download.value.path().read_text("utf-8").splitlines()
    stored = (written / "tables" / "table2.csv").read_text("utf-8").splitlines()
    assert (saved[0], len(saved)) == (stored[0], len(stored))
    is_well_in_both_themes(page)
    assert said == []
    assert all(url.startswith(("file:", "data:", "blob:")) for url in asked)
    context.close()
