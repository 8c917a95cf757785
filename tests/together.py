"""Doing the same thing in many threads at one moment."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from django.db import connection


def run_together(work: Callable[[int], None], arguments: list[int]) -> list[BaseException]:
    """Start one thread an argument, let all go at once, and return what they raised."""
    barrier = threading.Barrier(len(arguments))

    def start(argument: int) -> BaseException | None:
        try:
            barrier.wait()
            work(argument)
        except Exception as error:  # noqa: BLE001  the test shows every error
            return error
        finally:
            connection.close()
        return None

    with ThreadPoolExecutor(max_workers=len(arguments)) as pool:
        return [error for error in pool.map(start, arguments) if error is not None]
