"""The paper's released result files, counted again and set beside its published cells.

Files in, files out: no database, no Django.
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
