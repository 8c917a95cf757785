"""Management commands one after another in one process, because each process takes a second."""

import json
from collections.abc import Sequence

SCRIPT = """
import json, sys
from django.core.management import execute_from_command_line
for arguments in json.loads(sys.argv[1]):
    execute_from_command_line(["manage.py", *arguments])
"""


def in_one_process(*commands: Sequence[str]) -> list[str]:
    """What Python is started with; the first command that fails ends the process."""
    return ["-c", SCRIPT, json.dumps(commands)]
