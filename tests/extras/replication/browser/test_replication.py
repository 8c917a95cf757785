"""The page of a replication in Chromium: the same tables and figures as any other report."""

import pytest

from extras.replication.released.replication import replicate, write_replication
from tests.browser.conftest import fits_and_reads_well
from tests.extras.replication.released.rows import ASKED_FIVE, row, write_file

pytestmark = [pytest.mark.sampled(keep=1, group="replication in replication"), pytest.mark.browser]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder, out = tmp_path_factory.mktemp("released"), tmp_path_factory.mktemp("out")
    rows = [row("A", "85", "A"), row("B", "70", "A"), row("[", "60", "B")]
    files = [
        write_file(folder, "ec_all_features_gpt-4o.jsonl", rows),
        write_file(
            folder,
            "prism_no_persona_command-r-plus_new.jsonl",
            [row("A", "5", "A", prompt=ASKED_FIVE), row("B", "3", "C", prompt=ASKED_FIVE)],
        ),
    ]
    write_replication(replicate(files), out)
    return out


@pytest.mark.nightly
def test_it_is_drawn_asks_for_nothing_and_gives_its_tables_as_files(browser, written):
    context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True)
    page = context.new_page()
    said, asked = [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto((written / "replication.html").as_uri())
    page.wait_for_selector("body[data-drawn]")

    page.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true; })")
    with page.expect_download() as download:
        page.locator("#table-table1").get_by_role("button", name="CSV").click()

    # As the file in the folder, but for the digits that the two languages write at the end.
    saved = download.value.path().read_text("utf-8").splitlines()
    stored = (written / "tables" / "table1.csv").read_text("utf-8").splitlines()
    assert (saved[0], len(saved)) == (stored[0], len(stored))
    assert (
        page.locator(".plot svg.still circle, .plot svg.still rect, .plot svg.still path").count()
        > 0
    )
    fits_and_reads_well(page)
    assert said == []
    assert all(url.startswith(("file:", "data:", "blob:")) for url in asked)
    context.close()
