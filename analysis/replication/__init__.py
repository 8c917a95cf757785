"""Counts the paper's released result files again and compares them with its published tables.

It reads and writes files, without a database or Django.
"""

from analysis.replication.errors import NothingToReplicate, ReplicationError, UnreadableFile
from analysis.replication.replication import Replication, replicate

__all__ = [
    "NothingToReplicate",
    "Replication",
    "ReplicationError",
    "UnreadableFile",
    "replicate",
]
