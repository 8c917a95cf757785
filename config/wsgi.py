import os
import sys

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.dev")

# A thread that comes back from the database continues after half a millisecond instead of five,
# however busy the others are. On SQLite everyone else who writes waits for it.
sys.setswitchinterval(0.0005)

application = get_wsgi_application()
