"""docs/extending/README.md against the class of manifests, and a package of its own, installed."""

import os
import re
import subprocess
import sys
import zipfile
from collections import defaultdict
from pathlib import Path

import pytest

from studies.extra import CORE, KINDS, Placed, manifests

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/extending/README.md").read_text("utf-8")


def used() -> dict[str, dict[str, set[str]]]:
    """The manifests with entries of each kind, by the list of the kind."""
    lists: dict[str, dict[str, set[str]]] = {kind: defaultdict(set) for kind in KINDS}
    for extra, _ in manifests():
        for kind in KINDS:
            for entry in getattr(extra, kind):
                at = entry.at if isinstance(entry, Placed) else ""
                lists[kind][at].add(extra.name)
    return lists


def test_the_page_describes_every_kind_and_every_list_of_it():
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", PAGE, re.MULTILINE))

    assert set(KINDS) <= set(rows)
    for kind, lists in used().items():
        if kind in ("chapters", "workbench"):  # lists by the name of a chapter or a column
            continue
        assert [at for at in lists if at and f"`{at}`" not in rows[kind]] == [], kind


@pytest.mark.skipif(
    not (Path(__file__).parents[2] / ".git").exists(),
    reason="not a checkout: extras may be left out",
)
def test_each_kind_has_two_users_or_one_in_the_core():
    users = {kind: set().union(*lists.values()) for kind, lists in used().items()}

    assert [kind for kind, names in users.items() if CORE not in names and len(names) < 2] == []
    assert len(KINDS) <= 24


SMALL = {
    "film/__init__.py": "",
    "film/extra.py": """
from studies.extra import Extra, Placed

EXTRA = Extra(
    name="film",
    title="Films",
    summary="A page of films.",
    group="analyses",
    addresses={"studies/<slug:slug>/films/": "pages"},
    navigation=("pages:pages",),
    exports=("missing:TABLE",),
)
""",
    "film/pages.py": """
from django.http import HttpResponse
from django.urls import path, reverse
from studies.pages.workbench import SectionPage

app_name = "film"
urlpatterns = [path("", lambda request, slug: HttpResponse("films"), name="list")]

def pages(study):
    return [SectionPage("report", "Films", reverse("film:list", args=[study.slug]))]
""",
    "film-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: film\nVersion: 1.0\n",
    "film-1.0.dist-info/WHEEL": (
        "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    ),
    "film-1.0.dist-info/entry_points.txt": (
        "[thirdperson.extras]\nfilm = film.extra:EXTRA\ngone = no_such_package.extra:EXTRA\n"
    ),
}
USED = """
import django
django.setup()
from studies.extra import Kind, extras_for_studies
from studies.models import Study
from studies.pages.workbench import section_pages

study = Study(slug="one", extras=["film"])
assert extras_for_studies()["film"].title == "Films"
assert ("Films", "/studies/one/films/") in [(p.title, p.address) for p in section_pages.of(study)]
assert "Films" not in [page.title for page in section_pages.of(Study(slug="one", extras=[]))]
assert "film" not in [getattr(entry, "name", "") for entry in Kind("exports")]
print("used")
"""


def test_a_package_outside_is_installed_and_used_and_what_is_missing_is_left_out(tmp_path):
    wheel, site = tmp_path / "film-1.0-py3-none-any.whl", tmp_path / "site"
    with zipfile.ZipFile(wheel, "w") as archive:
        record = "".join(f"{name},,\n" for name in (*SMALL, "film-1.0.dist-info/RECORD"))
        for name, text in {**SMALL, "film-1.0.dist-info/RECORD": record}.items():
            archive.writestr(name, text)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--target", site, wheel], check=True)
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join((str(ROOT), str(site))),
        "DJANGO_SETTINGS_MODULE": "config.settings.dev",
        "VAR_DIR": str(tmp_path / "var"),
    }

    done = subprocess.run(
        [sys.executable, "-c", USED],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )

    assert done.stdout == "used\n", done.stderr
    assert "The extra gone was left out: there is no package no_such_package." in done.stderr
    assert "missing:TABLE of “Films” is missing." in done.stderr
