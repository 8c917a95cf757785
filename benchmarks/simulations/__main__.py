"""Run it: .venv/bin/python -m benchmarks.simulations --quick."""

import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.dev")
django.setup()

from benchmarks.simulations.command import Command  # noqa: E402

Command().run_from_argv(["benchmarks", "simulations", *sys.argv[1:]])
