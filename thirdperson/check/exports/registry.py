"""The programs whose exports can be checked. Another one takes one module and one line here."""

from thirdperson.check.exports import annotations, evaluations
from thirdperson.check.exports.reader import ExportReader

# The first that recognises a document reads it.
READERS: dict[str, ExportReader] = {
    "promptfoo": evaluations.PROMPTFOO,
    "inspect": evaluations.INSPECT,
    "mlflow": evaluations.MLFLOW,
    "label-studio": annotations.LABEL_STUDIO,
    "argilla": annotations.ARGILLA,
}
