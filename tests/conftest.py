"""What holds for every test."""

from django.core.servers.basehttp import WSGIRequestHandler

# `live_server` sends head and body apart, and the second would wait 40 ms for the client to
# acknowledge the first.
WSGIRequestHandler.disable_nagle_algorithm = True
