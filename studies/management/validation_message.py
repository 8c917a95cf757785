"""What a command says when a study's settings do not hold."""

from django.core.exceptions import ValidationError


def explain(error: ValidationError) -> str:
    """Each setting that does not hold, with the reason, a line each."""
    lines = [f"{field}: {' '.join(messages)}" for field, messages in error.message_dict.items()]
    return "The study was not created.\n" + "\n".join(lines)
