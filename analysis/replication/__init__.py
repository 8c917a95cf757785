"""Recount the paper's released result files and compare them with its published tables.

The package reads and writes files, without a database or Django.
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
