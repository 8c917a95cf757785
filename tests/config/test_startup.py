"""What a process imports before it does anything: pages and `--help` wait for it."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Statistics, plots, clients of providers, files for exports: imported where the work is done.
HEAVY = ["kaleido", "krippendorff", "openai", "plotly", "pyarrow", "scipy", "torch", "transformers"]
SCRIPT = f"""
import json
import sys
from importlib import import_module

import django

found = {{}}

def note(step):
    for name in {HEAVY}:
        if name in sys.modules:
            found.setdefault(name, step)

django.setup()
note("django.setup()")
from django.core.management import call_command, get_commands, load_command_class

call_command("check")
note("manage.py check")
steps = []
for name, app in sorted(get_commands().items()):
    if not app.startswith("django."):
        load_command_class(app, name).create_parser("manage.py", name).format_help()
        note(f"manage.py {{name}} --help")
        steps.append(name)
import_module("config.wsgi")
note("config.wsgi")
print(json.dumps([len(steps), found]))
"""


def test_pages_and_the_help_of_commands_load_no_heavy_packages():
    """One new process for all: the first step that needs a package is named with it."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    n_commands, found = json.loads(done.stdout.splitlines()[-1])
    assert found == {}
    assert n_commands > 10
