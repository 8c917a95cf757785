import gc
from typing import Any

from django.apps import AppConfig


class OperationsConfig(AppConfig):
    """Commands about the installation as a whole. It has no tables.

    As the first of the apps it also pauses the garbage collector until all models are loaded:
    nothing loaded here is garbage, and collections took a sixth of the start of each process.
    """

    name = "config.operations"
    label = "operations"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        gc.disable()

    def ready(self) -> None:
        # What is frozen is not taken apart at the end, and SQLite's log would stay beside its file.
        gc.enable()
