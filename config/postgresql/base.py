"""The backend: a kept connection is asked whether it is alive only when its server has spoken.

Django sends a query before the first one of each request. A server that ends a connection, or
stops, closes the socket or writes to it, and the system tells that without a round trip.
"""

import select

from django.db.backends.postgresql import base
from psycopg2 import InterfaceError


class DatabaseWrapper(base.DatabaseWrapper):
    health_check_done: bool

    def close_if_health_check_failed(self) -> None:
        if self.connection is not None and not self.health_check_done:
            self.health_check_done = not self._has_news()
        super().close_if_health_check_failed()

    def _has_news(self) -> bool:
        """Whether the server has sent something, or ended, since the last answer."""
        poll = select.poll()
        try:
            poll.register(self.connection.fileno(), select.POLLIN)
        except InterfaceError:
            return True  # closed on this side
        return bool(poll.poll(0))
