"""The page that checks a table in the browser is served, and linked where one signs in."""

import io
import json
import re
import subprocess
import sys
import sysconfig
import tarfile
from pathlib import Path

import pytest

from extras.try_out.check_page import building
from extras.try_out.check_page.building import program

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def folder(settings, tmp_path) -> Path:
    settings.VAR_DIR = tmp_path
    return tmp_path / "check-page"


@pytest.mark.django_db
def test_a_server_without_the_page_says_how_to_build_it_and_links_to_nothing(client, folder):
    found = client.get("/check/")

    assert found.status_code == 200
    assert (
        "python -m extras.try_out.check_page.building</code>, which downloads 98 MB" in found.text
    )
    assert client.get("/check/worker.js").status_code == 404
    assert "/check/" not in client.get("/accounts/login/", follow=True).text


@pytest.mark.django_db
def test_a_built_page_is_linked_and_alone_may_compile(client, folder, admin_user):
    folder.mkdir()
    for name in ("index.html", "worker.js", "python.bin"):
        (folder / name).write_text("content")
    (folder.parent / "secret.js").write_text("secret")

    assert 'href="/check/"' in client.get("/accounts/login/").text
    for name in ("", "worker.js", "python.bin"):
        found = client.get(f"/check/{name}")
        policy = found.headers["Content-Security-Policy"]
        assert "'wasm-unsafe-eval'" in policy
        assert "connect-src 'self'" in policy
        assert b"".join(found.streaming_content) == b"content"
    for name in ("../secret.js", "%2e%2e/secret.js", "nothing.js", "vendor"):
        assert client.get(f"/check/{name}").status_code == 404
    assert "wasm" not in client.get("/accounts/login/").headers["Content-Security-Policy"]


def test_the_page_also_writes_one_to_mark_the_items(tmp_path):
    """By the page's own Python, with folders of this machine."""
    script = (Path(building.__file__).parent / "page/worker.js").read_text("utf-8")
    # Without what clears the folders that only a stored Python remembers.
    start = re.search(r"const START = `.+?\n(import os.+?)`;", script, re.DOTALL)[1]
    start = f"import sys\n{start}"
    for name in ("app", "tables"):
        (tmp_path / name).mkdir()
        start = start.replace(f"/{name}", str(tmp_path / name))
    (tmp_path / "app/commit").write_text("")
    (tmp_path / "tables/items.csv").write_text("item,text,judge\nq1,Hello,yes\nq2,Bye,no\n")
    program = f'{start}\nprint(answer(["items.csv"], "", True))'

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=ROOT
    )

    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == "0"
    assert "2 items to mark as no, yes" in done.stdout
    assert "Hello" in (tmp_path / "tables/mark.html").read_text("utf-8")


CHECK = """
import sys

sys.path[:0] = sys.argv[1:]
from thirdperson.check.command import check

sys.exit(check(["labels.csv", "--json", "--out", "report.html"]))
"""


@pytest.mark.nightly
def test_the_program_of_the_page_needs_no_other_package_than_those_compiled_with_python(tmp_path):
    with tarfile.open(fileobj=io.BytesIO(program())) as tar:
        tar.extractall(tmp_path / "program", filter="data")
    installed, compiled = Path(sysconfig.get_path("purelib")), tmp_path / "compiled"
    compiled.mkdir()
    for name in ("numpy", "scipy", "openpyxl", "et_xmlfile"):
        for path in (*installed.glob(name), *installed.glob(f"{name}[.-]*")):
            (compiled / path.name).symlink_to(path)
    rows = [f"{n},{n % 2},{n % 2},{n % 5 % 2},{n % 2},{n % 2}" for n in range(60)]
    (tmp_path / "labels.csv").write_text(
        "\n".join(["item,human_1,human_2,human_3,judge,gold", *rows])
    )

    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", CHECK, tmp_path / "program", compiled],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stderr == ""
    assert json.loads(done.stdout)["items"] == 60
    assert '"accuracy-1":{"data":[{' in (tmp_path / "report.html").read_text("utf-8")
