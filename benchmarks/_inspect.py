"""Ask the same prompts through inspect-ai; run by `benchmarks.judging` with a Python that has it.

python benchmarks/_inspect.py URL PROMPTS.json SLOTS [quiet]

By default it writes its log after every sample; with `quiet` it does not (`log_realtime=False`).
"""

import json
import os
import sys
import tempfile
import time
from pathlib import Path


def main() -> int:
    url, prompts, slots = sys.argv[1], json.loads(Path(sys.argv[2]).read_text()), int(sys.argv[3])
    is_quiet = "quiet" in sys.argv[4:]
    os.environ |= {"MOCK_API_KEY": "none", "MOCK_BASE_URL": url}
    from inspect_ai import Task, eval  # type: ignore[import-not-found]
    from inspect_ai.dataset import (  # type: ignore[import-not-found]
        MemoryDataset,
        Sample,
    )
    from inspect_ai.solver import generate  # type: ignore[import-not-found]

    task = Task(
        dataset=MemoryDataset([Sample(input=prompt) for prompt in prompts]), solver=generate()
    )
    before, cpu = time.perf_counter(), time.process_time()
    (log,) = eval(
        task,
        model="openai-api/mock/mock",
        temperature=0.7,
        top_p=0.95,
        max_tokens=1024,
        max_connections=slots,
        max_samples=slots,
        display="none",
        log_realtime=False if is_quiet else None,  # None is its default
        log_dir=tempfile.mkdtemp(prefix="inspect-"),
    )
    seconds, cpu = time.perf_counter() - before, time.process_time() - cpu
    is_done = log.status == "success" and len(log.samples or []) == len(prompts)
    sys.stdout.write(json.dumps({"seconds": seconds, "cpu": cpu, "done": is_done}) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
