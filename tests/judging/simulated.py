"""The simulated LLM server as a process, and a study whose prompts it knows."""

import io
import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.core.management import call_command

from demo.bundle import write_bundles
from demo.truth import SEED, World
from studies.models import Study

ROOT = Path(__file__).resolve().parent.parent.parent


class Simulated:
    """Speaks to the server's own routes."""

    def __init__(self, url: str) -> None:
        self.url = url

    def fault(self, name: str, **how: Any) -> None:
        self._send("/simulate/faults", json.dumps({"fault": name, **how}).encode())

    def requests(self) -> dict[str, Any]:
        return self._send("/simulate/requests")

    def batches(self) -> list[dict[str, Any]]:
        return self._send("/v1/batches")["data"]

    def _send(self, path: str, body: bytes | None = None) -> Any:
        request = urllib.request.Request(self.url.removesuffix("/v1") + path, data=body)
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.load(response)


@contextmanager
def simulated_server(*options: str) -> Iterator[Simulated]:
    process = subprocess.Popen(
        [sys.executable, "-m", "demo.llm_server", "--port", "0", *options],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield Simulated(process.stdout.readline().strip())
    finally:
        process.terminate()
        process.wait(timeout=60)
        process.stdout.close()


@cache
def _lines() -> list[str]:
    with TemporaryDirectory() as folder:
        items, _ = write_bundles(Path(folder), World(SEED))
        return (items / "items.jsonl").read_text("utf-8").splitlines(keepends=True)


STUDY_SEED = 20  # of the first 40 questions every one can be read, two at the second attempt


def demo_study(folder: Path, items: int = 300) -> Study:
    """The first of the demo's 300 items in a new study."""
    file = folder / "items.jsonl"
    file.write_text("".join(_lines()[:items]), "utf-8")
    call_command("import_items", "demo", str(file), "--create", stdout=io.StringIO())
    # Drawn at random otherwise, and with it what the simulated judges answer.
    Study.objects.filter(slug="demo").update(seed=STUDY_SEED)
    return Study.objects.get(slug="demo")
