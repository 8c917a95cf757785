"""Run it: .venv/bin/python -m benchmarks.simulations.conformance results.json."""

import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.dev")
django.setup()

from benchmarks.simulations.conformance.command import Command  # noqa: E402

Command().run_from_argv(["benchmarks", "conformance", *sys.argv[1:]])
