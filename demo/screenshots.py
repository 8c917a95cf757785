"""The pictures of pages that docs/ names, from an existing demo: `python -m demo.screenshots`.

Works on a copy of the demo's database, so that no click here changes the demo. Needs Chromium and
Playwright (requirements-dev.txt). VAR_DIR says where the demo is, as it does for `make demo`.
"""

import io
import os
import re
import shutil
import socket
import sqlite3
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import django

from demo.prolific.server import TOKEN

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "docs/images"
# Device name -> width and height; pictures of the first have no suffix.
DEVICES = {"": (1280, 800), "-phone": (390, 844)}
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
]


def main() -> int:
    source = Path(os.environ.get("VAR_DIR", ROOT / "var"))
    if not (source / "demo/report/report.html").is_file():
        sys.stderr.write(
            f"There is no finished demo in {source}. Make one: DEMO_EXIT=1 make demo\n"
        )
        return 1
    with tempfile.TemporaryDirectory(prefix="thirdperson-pictures-") as folder:
        copy = Path(folder)
        _copy(source, copy)
        port, prolific = _free_port(), _free_port()
        os.environ |= {
            "VAR_DIR": str(copy),
            "PROLIFIC_BASE_URL": f"http://127.0.0.1:{prolific}",
            "PROLIFIC_API_TOKEN": TOKEN,
            "DJANGO_SETTINGS_MODULE": "config.settings.dev",
            "PUBLIC_BASE_URL": f"http://localhost:{port}",
            # Playwright's synchronous interface runs an event loop in this thread.
            "DJANGO_ALLOW_ASYNC_UNSAFE": "true",
        }
        django.setup()
        # These need the settings.
        from django.core.management import call_command

        from config.processes import Processes, web_command, worker_command
        from demo.steps import prolific_command

        call_command("files", adopt=True)  # The copy is in another folder.
        with (copy / "processes.log").open("ab") as log:
            processes = Processes(log=log)
            try:
                state = copy / "prolific.json"
                processes.start("The simulated Prolific", prolific_command(prolific, state=state))
                processes.start("The web server", web_command(port=port))
                processes.start("The worker", worker_command(beat=True))
                processes.wait_healthy(f"http://localhost:{port}")
                _take(f"http://localhost:{port}", copy)
            finally:
                processes.stop()
    return 0


def _free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _copy(source: Path, copy: Path) -> None:
    with (
        closing(sqlite3.connect(source / "thirdperson.sqlite3")) as old,
        closing(sqlite3.connect(copy / "thirdperson.sqlite3")) as new,
    ):
        old.backup(new)
    for name in ("reports", "demo/report"):
        shutil.copytree(source / name, copy / name)
    for name in ("secret_key", "demo/prolific.json"):
        shutil.copy(source / name, copy)


def _take(site: str, copy: Path) -> None:
    from playwright.sync_api import sync_playwright

    # These need the settings.
    from demo.picture_pages import participant_pages, researcher_pages
    from demo.studies import researcher

    _, password = researcher(copy / "login.txt")
    wanted = _named()
    for picture in OUT.glob("*.png"):
        if picture.name not in wanted:
            picture.unlink()
    with sync_playwright() as playwright:
        installed = os.environ.get("CHROMIUM") or shutil.which("chromium")
        chromium = installed or playwright.chromium.executable_path
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        for suffix, (width, height) in DEVICES.items():
            for pages, secret in ((participant_pages, ""), (researcher_pages, password)):
                context = browser.new_context(
                    base_url=site,
                    viewport={"width": width, "height": height},
                    reduced_motion="reduce",
                    color_scheme="light",
                )
                page = context.new_page()
                for name in pages(page, secret or f"picture{suffix}"):
                    path = OUT / f"{name}{suffix}.png"
                    if path.name in wanted:
                        page.wait_for_load_state("networkidle")
                        _save(page.screenshot(), path)
                        sys.stdout.write(f"{path.name}\n")
                context.close()
        browser.close()


def _save(picture: bytes, path: Path) -> None:
    """Write a PNG with 256 colours: pages need few, and the file is a third of the size."""
    from PIL import Image

    pixels = Image.open(io.BytesIO(picture)).convert("RGB")
    few = pixels.quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.save(path, optimize=True)


def _named() -> set[str]:
    """The files that a page of the documentation shows."""
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    return {
        name
        for page in pages
        for name in re.findall(r"images/([\w-]+\.png)\)", page.read_text("utf-8"))
    }


if __name__ == "__main__":
    raise SystemExit(main())
