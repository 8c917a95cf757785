"""The programs whose exports can be checked. Another one takes one module and one line here."""

from thirdperson.check.exports import argilla, inspect_log, label_studio, mlflow, promptfoo
from thirdperson.check.exports.reader import ExportReader

# The first that recognises a document reads it.
READERS: dict[str, ExportReader] = {
    "promptfoo": promptfoo.READER,
    "inspect": inspect_log.READER,
    "mlflow": mlflow.READER,
    "label-studio": label_studio.READER,
    "argilla": argilla.READER,
}
