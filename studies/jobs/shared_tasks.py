"""Celery's `shared_task` for modules of tasks, with the app that queues them loaded first.

So a process loads Celery when it first needs a task, not when it starts.
"""

from importlib import import_module

from celery import shared_task
from django.conf import settings

import_module(settings.TASKS_OF_APP)

__all__ = ["shared_task"]
