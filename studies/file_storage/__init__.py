"""Files that belong to rows of the database, in one storage that every process reads.

The setting `FILES` names the storage: a folder or a bucket (docs/configuration.md).
"""
