"""The programs whose exports can be checked. A new one needs a reader and one line here."""

from thirdperson.check.exports import (
    annotations,
    by_rater,
    evaluations,
    feedback,
    prolific,
    weave,
)
from thirdperson.check.exports.reader import ExportReader

# The first one that recognises a document reads it.
READERS: dict[str, ExportReader] = {
    "promptfoo": evaluations.PROMPTFOO,
    "inspect": evaluations.INSPECT,
    "mlflow": evaluations.MLFLOW,
    "weave": weave.WEAVE,
    "prolific": prolific.PROLIFIC,
    "label-studio": annotations.LABEL_STUDIO,
    "argilla": annotations.ARGILLA,
    "deepeval": feedback.DEEPEVAL,
    "lm-eval": feedback.LM_EVAL,
    "langfuse": feedback.LANGFUSE,
    "phoenix": feedback.PHOENIX,
    "langsmith": feedback.LANGSMITH,
    "opik": feedback.OPIK,
    "braintrust": feedback.BRAINTRUST,
    "alt-test": by_rater.BY_RATER,
}
