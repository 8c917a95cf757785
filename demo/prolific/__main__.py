"""A simulated Prolific for trying things out: `python -m demo.prolific --port 8002`."""

import argparse
import os
import sys
import time
from pathlib import Path

from demo.prolific.server import LAB_TOKEN, TOKEN, SimulatedProlific, start
from demo.prolific.world import ProlificWorld


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="demo.prolific", description="A simulated Prolific. No money, no people."
    )
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8002, help="0 takes a free port")
    parser.add_argument(
        "--token",
        default=TOKEN,
        help="what PROLIFIC_API_TOKEN is to be; default: %(default)s. A second lab with its own "
        f"workspace has the token {LAB_TOKEN}",
    )
    parser.add_argument("--state", type=Path, help="a file to remember everything in")
    options = parser.parse_args()
    world = ProlificWorld(path=options.state, secret=os.environ.get("PROLIFIC_WEBHOOK_SECRET", ""))
    simulated = SimulatedProlific(world, token=options.token)
    simulated.add_lab()
    try:
        http = start(simulated, host=options.host, port=options.port)
    except OSError as problem:
        sys.stderr.write(
            f"The simulated Prolific cannot listen on {options.host}:{options.port}: "
            f"{problem.strerror}. Choose another port with --port.\n"
        )
        return 1
    host, port = http.server_address[:2]
    sys.stdout.write(f"http://{host!s}:{port}/api/v1/\n")
    sys.stdout.flush()
    try:
        while True:
            simulated.deliver()
            time.sleep(0.2)
    except KeyboardInterrupt:
        http.shutdown()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
