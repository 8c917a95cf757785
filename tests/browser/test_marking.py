"""The page of `check --mark`, opened from the disk: marked blind, kept, and read by `check`."""

import csv
import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import fits_and_reads_well, until
from tests.studies.media_files import picture, sound
from thirdperson.check.command import check

pytestmark = pytest.mark.browser
PHONE = {"width": 390, "height": 844}


@pytest.fixture
def marking_page(open_page, tmp_path):
    """The page of a table of 24 items, open on a phone; its folder has no network."""

    def opened(*options: str):
        table = tmp_path / "items.csv"
        with table.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["item", "persona", "response_a", "response_b", "human_1", "judge"])
            for item in range(24):
                person = "AB"[item % 2] if item > 20 else ""
                cells = (f"Ann, {item}", f"First <b>{item}</b>", f"Second {item}", person)
                writer.writerow([f"q{item}", *cells, "AB"[item % 3 == 0]])
        out = tmp_path / "mark.html"
        assert check(["--mark", str(out), str(table), *options]) == 0
        page = open_page(viewport=PHONE)
        page.context.set_offline(True)
        page.goto(out.as_uri())
        return page

    return opened


def begin(page, name: str) -> None:
    page.fill("#name", name)
    page.get_by_role("button", name="Begin").click()


def downloaded(page, path: Path) -> list[dict[str, str]]:
    with page.expect_download() as download:
        page.get_by_role("button", name="Download the marks").click()
    download.value.save_as(path)
    assert download.value.suggested_filename == "marks-Zoë-K.csv"
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_marks_are_made_blind_kept_and_checked(marking_page, tmp_path, capsys):
    page = marking_page()
    fits_and_reads_well(page)
    begin(page, "Zoë K")
    # Items that one person has labelled come first: a verdict needs two.
    assert page.locator("#fields dd").first.inner_text() in {f"Ann, {n}" for n in (21, 22, 23)}
    shown = page.locator("main").inner_text()
    assert "human_1" not in shown
    assert "judge" not in shown.split("Your marks")[0]
    fits_and_reads_well(page)

    for _ in range(12):
        text = page.locator("#choices button", has_text="First").inner_text()
        assert "<b>" in text  # responses are text, never markup
        page.keyboard.press(text[0])
    page.keyboard.press("s")
    page.keyboard.press("ArrowLeft")
    page.reload()
    begin(page, "Zoë K")
    expect(page.locator("#progress")).to_contain_text("12 of 24 marked")
    expect(page.locator("#distance")).to_contain_text("more marks")

    rows = downloaded(page, tmp_path / "marks-Zoë-K.csv")
    assert len(rows) == 12
    assert {(row["annotator"], row["label"]) for row in rows} == {("Zoë K", "A")}
    capsys.readouterr()
    table, marks = str(tmp_path / "items.csv"), str(tmp_path / "marks-Zoë-K.csv")
    options = ["--judge", "judge", "--json", "--out", str(tmp_path / "report.html")]
    assert check([table.replace("items", "without"), marks, *options]) == 2
    (tmp_path / "without.csv").write_text(
        (tmp_path / "items.csv").read_text().replace("human_1", "note")
    )
    capsys.readouterr()
    check([str(tmp_path / "without.csv"), marks, "--on", "item", "--out", options[-1], "--json"])
    assert json.loads(capsys.readouterr().out)["labels"] == 12


def test_both_sides_come_first_and_a_click_marks(marking_page):
    page = marking_page("--tie", "same")
    begin(page, "Ben")
    first = set()
    for _ in range(24):
        first.add(page.locator("#choices button").first.inner_text().split()[1])
        assert page.locator("#choices button").last.inner_text() == "3. same"
        page.locator("#choices button").nth(1).click()
    assert first == {"First", "Second"}
    expect(page.locator("#done-title")).to_be_focused()
    page.get_by_role("button", name="Look at them again").click()
    expect(page.locator("#choices button").nth(1)).to_have_attribute("aria-pressed", "true")
    fits_and_reads_well(page)


def test_a_file_of_marks_goes_on_elsewhere_and_a_foreign_one_does_not(marking_page, tmp_path):
    page = marking_page()
    page.get_by_text("Continue from a file of marks").click()
    foreign, own = tmp_path / "foreign.csv", tmp_path / "own.csv"
    foreign.write_text("item,annotator,label\nz1,ben,A\n")
    own.write_text('\ufeffitem,annotator,label\r\nq1,"ben, jr",B\r\nq2,"ben, jr",A\r\n', "utf-8")

    page.set_input_files("#earlier", foreign)
    expect(page.locator("#problem")).to_contain_text("no item “z1”")
    expect(page.locator("#work")).to_be_hidden()
    page.set_input_files("#earlier", own)
    expect(page.locator("#progress")).to_contain_text("2 of 24 marked")


def test_pictures_and_sounds_next_to_the_table_are_shown_without_their_names(open_page, tmp_path):
    for name, data in (("red.png", picture()), ("blue.png", picture(color="blue"))):
        (tmp_path / name).write_bytes(data)
    (tmp_path / "question.wav").write_bytes(sound())
    (tmp_path / "in").mkdir()
    rows = (
        "item,question,response_a,response_b,judge\nq1,{0}question.wav,{0}red.png,{0}blue.png,A\n"
    )
    page = open_page(viewport=PHONE)

    for folder, beside in ((tmp_path, ""), (tmp_path / "in", "../")):
        table = folder / "items.csv"
        table.write_text(rows.format(beside))
        assert check(["--mark", str(folder / "mark.html"), str(table), "--labels", "A,B"]) == 0
        page.goto((folder / "mark.html").as_uri())
        begin(page, "Ann")
        is_shown = folder == tmp_path  # Nothing outside the table's folder is read.
        expect(page.locator("#choices img")).to_have_count(2 if is_shown else 0)
        expect(page.locator("#fields audio")).to_have_count(1 if is_shown else 0)
        if is_shown:
            until(page, "[...document.images].every((each) => each.naturalWidth === 64)")
            until(page, "document.querySelector('audio').duration > 0.4")
            names = ["1. This response", "2. This response"]
            assert page.locator("#choices button").all_inner_texts() == names
            fits_and_reads_well(page)
            page.keyboard.press("2")
            expect(page.locator("#done-title")).to_be_focused()


def test_labels_that_are_no_responses_are_the_buttons(open_page, tmp_path):
    table = tmp_path / "items.csv"
    # Every object of JavaScript has a “constructor”; a cell with this word is text.
    table.write_text("item,text,judge\nq1,constructor,yes\nq2,constructor,no\n")
    assert check(["--mark", str(tmp_path / "mark.html"), str(table)]) == 0
    page = open_page(viewport=PHONE)
    page.goto((tmp_path / "mark.html").as_uri())
    begin(page, "Ann")

    assert page.locator("#fields dd").first.inner_text() == "constructor"
    assert page.locator("#choices button").all_inner_texts() == ["1. no", "2. yes"]
    page.keyboard.press("2")
    page.keyboard.press("1")
    expect(page.locator("#done-title")).to_be_focused()
