"""Broker transports that let workers survive an outage: Redis, and a folder by default."""

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
        """Raise the error of a broken connection, even if the connection was already closed.

        kombu 5.7 raises an AttributeError when a task ends whose connection is gone, which ended
        every worker with running tasks when Redis stopped.
        """
        if client is None and (self.connection is None or self.connection.client is None):
            raise ConnectionError("The connection that the task came over is gone.")
        with super().conn_or_acquire(client) as acquired:
            yield acquired


class RedisTransport(redis.Transport):
    Channel = RedisChannel


class FolderChannel(filesystem.Channel):
    def _put(self, queue: str, message: Any, **_: Any) -> None:  # type: ignore[override]
        """Publish a message only once it is complete.

        kombu 5.7 writes directly to the folder that workers read, and reading an incomplete message
        ends a worker.
        """
        name = f"{round(time.monotonic() * 1000)}_{uuid.uuid4()}.{queue}.msg"
        file = Path(self.data_folder_out) / name
        part = file.with_name(f"{name}.part")  # no worker reads files with this suffix
        try:
            part.write_text(dumps(message), "utf-8")
            os.replace(part, file)
        except OSError:
            part.unlink(missing_ok=True)
            raise


class FolderTransport(filesystem.Transport):
    Channel = FolderChannel
