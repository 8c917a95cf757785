"""Items and answers as tasks of Label Studio and records of Argilla."""
