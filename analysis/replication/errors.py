"""What can go wrong; each message says what, where and how to mend it."""


class ReplicationError(Exception):
    """Base of this package's errors."""


class NothingToReplicate(ReplicationError):
    """The folder cannot be read or holds no released result file."""


class UnreadableFile(ReplicationError):
    """A file is named like a released result but does not hold one."""
