"""The programs whose exports can be checked. A new one needs one module and one line here."""

from thirdperson.check.exports import annotations, evaluations
from thirdperson.check.exports.reader import ExportReader

# The first one that recognises a document reads it.
READERS: dict[str, ExportReader] = {
    "promptfoo": evaluations.PROMPTFOO,
    "inspect": evaluations.INSPECT,
    "mlflow": evaluations.MLFLOW,
    "label-studio": annotations.LABEL_STUDIO,
    "argilla": annotations.ARGILLA,
}
