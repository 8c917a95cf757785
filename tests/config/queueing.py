"""Run by test_sqlite_queue: one of several processes that write to the same database.

python -m tests.config.queueing take-turns DATABASE LOG THREADS TURNS
python -m tests.config.queueing hold DATABASE
"""

import os
import sys
import threading
import time
from pathlib import Path

from config.sqlite.queue import WriterQueue


def take_turns(database: str, log: str, threads: str, turns: str) -> None:
    """Note every turn of every thread in `log`, after a line from the parent."""
    queue = WriterQueue(Path(database), timeout=60)
    file = os.open(log, os.O_WRONLY | os.O_APPEND)

    def write(thread: int) -> None:
        for _ in range(int(turns)):
            queue.enter()
            os.write(file, f"{os.getpid()} {thread}\n".encode())
            time.sleep(0.002)
            queue.leave()

    sys.stdin.readline()
    running = [threading.Thread(target=write, args=(n,)) for n in range(int(threads))]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()


def hold(database: str) -> None:
    """Take the turn, with another thread waiting behind, and keep it."""
    queue = WriterQueue(Path(database), timeout=60)
    queue.enter()
    threading.Thread(target=queue.enter, daemon=True).start()
    sys.stdout.write("held\n")
    sys.stdout.flush()
    time.sleep(60)


if __name__ == "__main__":
    {"take-turns": take_turns, "hold": hold}[sys.argv[1]](*sys.argv[2:])
