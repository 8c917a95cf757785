"""The site for a web server, loaded whole: gunicorn does it once and forks its workers from it."""

import gc
import os
import sys

from django.core.wsgi import get_wsgi_application
from django.urls import reverse

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.dev")

# A thread that comes back from the database continues after half a millisecond instead of five,
# however busy the others are. On SQLite everyone else who writes waits for it.
sys.setswitchinterval(0.0005)

# Nothing loaded here is garbage, and a collection would visit all of it many times.
gc.disable()
application = get_wsgi_application()
reverse("login")  # imports every page; the first visitor would wait for it
# What workers have from here on stays in memory that they share, and no collection visits it.
gc.freeze()
gc.enable()
