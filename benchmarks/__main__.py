"""Run every benchmark, or those named: `python -m benchmarks [name …]`."""

import runpy
import sys
from pathlib import Path

AVAILABLE = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))


def main() -> int:
    wanted = sys.argv[1:] or AVAILABLE
    if unknown := [name for name in wanted if name not in AVAILABLE]:
        sys.stderr.write(f"No benchmark “{unknown[0]}”. There are: {', '.join(AVAILABLE)}.\n")
        return 2
    for name in wanted:
        sys.stdout.write(f"\n== {name}\n")
        sys.stdout.flush()
        sys.argv = [f"benchmarks.{name}"]
        runpy.run_module(f"benchmarks.{name}", run_name="__main__")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
