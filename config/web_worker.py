"""A gunicorn worker in which waitress talks to the clients: its threads never wait for one.

gunicorn starts, watches and replaces processes. waitress receives whole requests in one loop, gives
each to a thread, and sends the answer from the loop again. What it buys: twenty clients who send
half a body, or read nothing, stop gunicorn's own threads and granian's; here they cost a connection
each. A proxy in front does the same (deploy/nginx.conf); this protects installations without one.
"""

import os
import resource
import signal
import sys
import time
from contextlib import suppress
from typing import Any

from gunicorn.arbiter import Arbiter
from gunicorn.workers.base import Worker
from waitress import create_server, wasyncore

from config.processes import is_orphaned

_STOPPING = 2.0  # seconds in which a stopping worker takes requests on the connections it has
OPTIONS: dict[str, Any] = {
    "connection_limit": 4000,
    "channel_timeout": 60,  # seconds in which a client must send or take something
    "max_request_body_size": 256 * 1024 * 1024,  # more than any upload here
    # A thread leaves to the loop what the client does not take at once, however much it is: above
    # 1 MB in an unnamed file.
    "outbuf_high_watermark": sys.maxsize,
    # TRUST_PROXY and TRUSTED_PROXIES say which headers of a proxy the site reads.
    "clear_untrusted_proxy_headers": False,
    "asyncore_use_poll": True,
    "log_socket_errors": False,  # a client who leaves is no error
}


class WaitressWorker(Worker):
    def load_wsgi(self) -> None:
        super().load_wsgi()
        from config.health import refusal  # after Django is set up

        if sentence := refusal():
            sys.stderr.write(f"{sentence}\n")
            sys.exit(Arbiter.WORKER_BOOT_ERROR)  # or the server would start another worker

    def run(self) -> None:
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        listeners = [listener.sock for listener in self.sockets]
        clients: dict[int, Any] = {}
        server = create_server(
            self.wsgi, map=clients, sockets=listeners, threads=self.cfg.threads, **OPTIONS
        )
        while self.alive and os.getppid() == self.ppid:
            self._turn(clients)
            if is_orphaned():
                os.kill(self.ppid, signal.SIGTERM)
        server.accepting = False
        stopped = time.monotonic()
        while (waited := time.monotonic() - stopped) < self.cfg.graceful_timeout:
            channels = server.active_channels.values()
            if waited > _STOPPING and not any(c.requests or c.total_outbufs_len for c in channels):
                return
            self._turn(clients)

    def _turn(self, clients: dict[int, Any]) -> None:
        self.notify()
        wasyncore.loop(timeout=1.0, use_poll=True, map=clients, count=1)
