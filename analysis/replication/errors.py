"""Errors of a replication; each message states what is wrong, where, and what to do."""


class ReplicationError(Exception):
    """Base of this package's errors."""


class NothingToReplicate(ReplicationError):
    """The folder cannot be read or holds no released result file."""


class UnreadableFile(ReplicationError):
    """A file is named like a released result but does not hold one."""
