"""Asks the web server of this machine whether it is healthy: `python config/is_healthy.py`.

With the argument `worker` it checks the last heartbeat of this machine's worker.

It imports nothing of the program, so it can run often.
"""

import os
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

_SILENCE_SECONDS = 60.0


def worker_lives() -> int:
    """0 if a worker with its data in VAR_DIR has written a recent heartbeat, otherwise 1."""
    own = Path(__file__).resolve().parents[1] / "var"
    path = Path(os.environ.get("VAR_DIR") or own) / "worker.heartbeat"
    try:
        silence = time.time() - path.stat().st_mtime
    except OSError as error:
        sys.stderr.write(f"No worker has started: {error}\n")
        return 1
    if abs(silence) <= _SILENCE_SECONDS:
        return 0
    sys.stderr.write(f"The worker has been silent for {silence:,.0f} seconds.\n")
    return 1


def main() -> int:
    """0 if `/healthz` answers 200, otherwise 1 and its answer."""
    if sys.argv[1:] == ["worker"]:
        return worker_lives()
    address = f"http://127.0.0.1:{os.environ.get('PORT', '8000')}/healthz"
    # Ask like the https proxy: otherwise the answer is a redirect.
    request = urllib.request.Request(
        address, headers={"Host": "localhost", "X-Forwarded-Proto": "https"}
    )
    try:
        with urllib.request.urlopen(request, timeout=8):  # noqa: S310
            return 0
    except urllib.error.HTTPError as error:
        sys.stderr.write(f"{error.code}: {error.read(1000).decode(errors='replace')}\n")
    except OSError as error:
        sys.stderr.write(f"{address} does not answer: {error}\n")
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
