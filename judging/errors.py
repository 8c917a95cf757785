"""What can go wrong with judges; the message says what, where and how to mend it."""


class JudgingError(Exception):
    """Base of this app's errors."""


class BadJudge(JudgingError):
    """The judge cannot be stored, or cannot be asked, as it is described."""


class BadRun(JudgingError):
    """The run cannot be started or changed as asked."""


class BadOption(BadJudge, BadRun):
    """A judge or a run was asked for with a value that none can have."""


class BadPlan(JudgingError):
    """The plan of a campaign cannot be read or started; nothing of it was started."""


class ImportRefused(JudgingError):
    """A file of judgments was not imported; nothing of it was stored."""


class DatabaseAway(JudgingError):
    """The database did not answer for longer than it is waited for."""
