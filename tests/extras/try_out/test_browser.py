"""The built page in Chromium: the verdicts of the command, offline, and without a request."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import expect

from extras.try_out.check_page.building import build
from extras.try_out.check_page.views import built_folder
from tests.browser.conftest import is_well_in_both_themes

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    # With --all: it downloads 98 MB. `test_check_page.py` has what is near it by default.
    pytest.mark.sampled(keep=0),
    pytest.mark.timeout(1200),
]
ROOT = Path(__file__).resolve().parents[3]
STARTED_MS = 120_000
FILES = ("ann.csv", "ben.csv", "gpt-4.csv", "gold.csv")


def table(columns: str, row: str, n: int) -> str:
    """`n` rows; {a} to {d} are answers that mostly agree."""
    lines = [columns]
    for item in range(n):
        right = item % 2 if item % 7 else 1
        own = {name: "no yes".split()[right ^ (item % step == 0)] for name, step in STEPS.items()}
        lines.append(row.format(item=item, number=1 + item % 5, near=1 + (item + 1) % 5, **own))
    return "\n".join(lines)


STEPS = {"a": 5, "b": 6, "c": 8, "d": 7}
WIDE = ("item,human_1,human_2,human_3,judge", "{item},{a},{b},{c},{d}")
TABLES = {
    "wide.csv": (table(*WIDE, 300), ""),
    "these.csv": (table(*WIDE, 300), "--these-people --bootstrap 200"),
    "certain.csv": (
        table(f"{WIDE[0]},judge_certainty,gold", f"{WIDE[1]},{{number}}1,{{a}}", 120),
        "",
    ),
    "scores.csv": (
        table("item,ann,bob,gpt", "{item},{number},{near},{number}", 200),
        "--people ann,bob --judge gpt --level ordinal",
    ),
    "unclear.csv": (
        table("item,ann,bob,gpt", "{item},{number},{near},{number}", 40),
        "--people ann,bob --judge gpt",
    ),
    "lines.jsonl": (table("", '{{"item": {item}, "human": "{a}", "judge": "{d}"}}', 40), ""),
    "empty.csv": ("", ""),
    "hostile.csv": ('item,human_1,judge\n"<img src=x onerror=alert(1)>",=1+1,\x00\n', ""),
    "nothing.csv": ("a,b\n1,2\n", "--people 'x"),
}


@pytest.mark.django_db(transaction=True)
def test_every_verdict_is_the_commands_and_nothing_leaves_the_browser(
    open_page, live_server, settings, tmp_path
):
    settings.VAR_DIR = tmp_path
    build(built_folder())
    page = open_page()
    requests: list[str] = []
    page.context.on("request", lambda request: requests.append(request.url))
    page.goto("/check/")
    expect(page.locator("#check")).to_be_enabled(timeout=STARTED_MS)
    loaded = len(requests)
    page.context.set_offline(True)

    for name, (content, options) in TABLES.items():
        (tmp_path / name).write_text(content, "utf-8")
        page.fill("#options", options)
        page.set_input_files("#file", tmp_path / name)
        expect(page.locator("#result:not([hidden]), #problem:not([hidden])")).to_be_visible()
        assert shown(page) == commanded(tmp_path / name, options)
    several = {name: [f"q{n},{'no yes'.split()[n % 2]}" for n in range(40)] for name in FILES}
    for name, rows in several.items():
        (tmp_path / name).write_text("\n".join(["item,label", *rows]))
    page.fill("#options", "--these-people")
    page.set_input_files("#file", [tmp_path / name for name in FILES])
    expect(page.locator("#result")).to_be_visible()
    assert shown(page) == commanded(tmp_path / FILES[0], f"{' '.join(FILES[1:])} --these-people")
    page.set_input_files("#file", {"name": "a.parquet", "mimeType": "", "buffer": b"PAR1"})
    expect(page.locator("#reason")).to_contain_text("browsers cannot read Parquet")
    assert len(requests) == loaded
    page.fill("#options", "")
    page.set_input_files("#file", tmp_path / "wide.csv")
    expect(page.locator("#result")).to_be_visible()
    is_well_in_both_themes(page)
    # A later visit, without a network.
    page.reload()
    expect(page.locator("#check")).to_be_enabled(timeout=STARTED_MS)


def shown(page) -> list[object]:
    if page.locator("#problem").is_visible():
        return [page.inner_text("#reason").strip()]
    with page.expect_download() as download:
        page.click("#report")
    return [
        page.inner_text("#verdict"),
        page.inner_text("#sentence"),
        *(page.locator(f"#{place} li").all_text_contents() for place in ("caveats", "read")),
        content(Path(download.value.path())),
    ]


def commanded(path: Path, options: str) -> list[object]:
    """The same from the command; a table that it refuses gives its sentence."""
    if "'" in options:
        return ["The options cannot be read: No closing quotation."]
    arguments = [path.name, *options.split(), "--json", "--out", "report.html"]
    done = subprocess.run(
        [sys.executable, "-m", "thirdperson", "check", *arguments],
        cwd=path.parent,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    if not done.stdout:
        return [done.stderr.strip()]
    found = json.loads(done.stdout)
    names = ("verdict", "sentence", "caveats", "read")
    return [*(found[name] for name in names), content(path.parent / "report.html")]


def content(report: Path) -> str:
    """The words and numbers of a report, without versions."""
    text = re.sub(r"<script.*?</script>|<[^>]+>", " ", report.read_text("utf-8"), flags=re.DOTALL)
    return re.sub(r"\d+\.\d+\.\d+(\+g\w+)?", "", text)
