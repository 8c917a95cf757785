"""Brokers that workers outlive: Redis, and a folder on the embedded default."""

import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kombu.transport import filesystem, redis
from kombu.utils.json import dumps
from redis import Redis
from redis.exceptions import ConnectionError


class RedisChannel(redis.Channel):
    @contextmanager
    def conn_or_acquire(self, client: Redis | None = None) -> Iterator[Any]:
        """Raises what a broken connection raises, also when the connection was taken apart.

        kombu 5.7 runs into an AttributeError where a task ends that came over a connection which
        is no more; that ended every worker with tasks in hand when Redis died.
        """
        if client is None and (self.connection is None or self.connection.client is None):
            raise ConnectionError("The connection that the task came over is gone.")
        with super().conn_or_acquire(client) as acquired:
            yield acquired


class RedisTransport(redis.Transport):
    Channel = RedisChannel


class FolderChannel(filesystem.Channel):
    def _put(self, queue: str, message: Any, **_: Any) -> None:  # type: ignore[override]
        """Show a message when it is whole.

        kombu 5.7 writes it where workers look already; half a message ends the worker that reads
        it.
        """
        name = f"{round(time.monotonic() * 1000)}_{uuid.uuid4()}.{queue}.msg"
        file = Path(self.data_folder_out) / name
        part = file.with_name(f"{name}.part")  # no worker asks for this ending
        part.write_text(dumps(message), "utf-8")
        os.replace(part, file)


class FolderTransport(filesystem.Transport):
    Channel = FolderChannel
