"""The public demo, replaced every day:

`python -m demo.public`. Visitors sign in as “visitor” with the printed password, and are editors of
the demo's studies. The next demo is built while the last one is served, so a change takes seconds.
"""

import argparse
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType

from config.processes import ProcessDied, Processes, web_command, worker_command

VISITOR = "visitor"
_DAY = 24 * 60 * 60
# Start building the next demo this long before the change, because it takes minutes.
_BEGIN_BEFORE = 30 * 60
_VISITOR_AGAIN = 5 * 60


def main() -> int:
    """Build and serve, day after day; ends with Ctrl-C, SIGTERM, or a process that dies."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)
    port = int(os.environ.get("PORT", "8000"))
    root = Path(os.environ.get("VAR_DIR", "var")).resolve() / "public"
    password = os.environ.get("VISITOR_PASSWORD") or secrets.token_hex(8)
    public = os.environ.get("PUBLIC_BASE_URL", f"http://localhost:{port}")
    days = Days(root, port=port, public=public, password=password)
    try:
        sys.stdout.write(f"{public}: sign in as “{VISITOR}” with the password {password}\n")
        sys.stdout.flush()
        # Every demo starts from nothing, so leftovers of a killed container are deleted.
        shutil.rmtree(root, ignore_errors=True)
        days.run()
    except KeyboardInterrupt:
        return 0
    except (ProcessDied, subprocess.CalledProcessError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    finally:
        days.stop()
    return 0


class Days:
    """The demo of today, and that of tomorrow once it is being built."""

    def __init__(self, root: Path, *, port: int, public: str, password: str) -> None:
        self._root, self._port, self._public, self._password = root, port, public, password
        self._number = 0
        self._building: subprocess.Popen[bytes] | None = None
        self._serving = Processes()

    def run(self) -> None:
        self._build()
        while True:
            self._change()
            self._serve_until(time.monotonic() + _DAY)

    def stop(self) -> None:
        if self._building is not None:
            self._building.terminate()
        self._serving.stop()

    def _build(self) -> None:
        """Start the next demo on its own ports."""
        self._number += 1
        folder = self._folder(self._number)
        folder.mkdir(parents=True, mode=0o700)
        self._building = subprocess.Popen(
            [sys.executable, "-m", "demo.run"],
            env=build_environment(folder, port=own_port(self._port, self._number)),
        )

    def _change(self) -> None:
        """Wait for the next demo, and serve it in place of the last one, which is deleted."""
        if self._building is not None and (code := self._building.wait()):
            raise ProcessDied(f"The demo could not be built: it ended with exit code {code}")
        self._building = None
        self._serving.stop()
        folder = self._folder(self._number)
        environment = serve_environment(folder, public=self._public)
        self._serving = Processes(environment=environment)
        own = own_port(self._port, self._number)
        for name, command in serve_commands(port=self._port, own=own).items():
            self._serving.start(name, command)
        self._let_visitors_in(environment)
        self._serving.wait_healthy(f"http://127.0.0.1:{self._port}")
        shutil.rmtree(self._folder(self._number - 1), ignore_errors=True)

    def _serve_until(self, end: float) -> None:
        again = time.monotonic() + _VISITOR_AGAIN
        while time.monotonic() < end:
            self._serving.check()
            if self._building is None and time.monotonic() > end - _BEGIN_BEFORE:
                self._build()
            if time.monotonic() > again:
                again = time.monotonic() + _VISITOR_AGAIN
                self._let_visitors_in(serve_environment(self._now, public=self._public))
            time.sleep(1)

    @property
    def _now(self) -> Path:
        return self._folder(self._number - (self._building is not None))

    def _folder(self, number: int) -> Path:
        return self._root / f"day-{number}"

    def _let_visitors_in(self, environment: dict[str, str]) -> None:
        """Reset the password of the visitors' account, which any visitor may have changed."""
        subprocess.run(  # noqa: S603
            [sys.executable, "-m", "demo.visitors", VISITOR],
            env={**os.environ, **environment, "VISITOR_PASSWORD": self._password},
            check=True,
        )


def own_port(port: int, number: int) -> int:
    """The first port of a demo: its simulated models keep theirs while the next one is built."""
    return port + (10 if number % 2 else 20)


def build_environment(folder: Path, *, port: int) -> dict[str, str]:
    """For building: an installation of its own, which only this machine can reach."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in {"DATABASE_URL", "SECRET_KEY", "CELERY_BROKER_URL", "VISITOR_PASSWORD"}
    }
    return kept | {
        "VAR_DIR": str(folder),
        "DEMO_EXIT": "1",
        "PORT": str(port),
        "HOST": "127.0.0.1",
        "PUBLIC_BASE_URL": f"http://localhost:{port}",
    }


def serve_environment(folder: Path, *, public: str) -> dict[str, str]:
    """For serving: the same installation, at its public address. Visitors add no servers."""
    return {
        "VAR_DIR": str(folder),
        "SECRET_KEY": (folder / "secret_key").read_text("utf-8").strip(),
        "PUBLIC_BASE_URL": public,
        "JUDGE_HOSTS": "",
        "JUDGE_STORED_KEYS": "0",
        "PROLIFIC_API_TOKEN": "",
    }


def serve_commands(*, port: int, own: int) -> dict[str, list[str]]:
    """The site, its worker, and the simulated models, at the address that the judges know."""
    return {
        "The simulated LLM server": [sys.executable, "-m", "demo.llm_server", f"--port={own + 1}"],
        "The web server": web_command(port=port, host=os.environ.get("HOST", "127.0.0.1")),
        "The worker": worker_command(),
    }


def _leave(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    # There are no options, but --help must not start the demo.
    formatter = argparse.RawDescriptionHelpFormatter
    argparse.ArgumentParser(description=__doc__, formatter_class=formatter).parse_args()
    raise SystemExit(main())
