"""Run it: .venv/bin/python -m benchmarks.load STUDY."""

import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.dev")
django.setup()

from benchmarks.load.command import Command  # noqa: E402

Command().run_from_argv(["benchmarks", "load", *sys.argv[1:]])
