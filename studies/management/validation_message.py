"""The error of a command for invalid settings of a study."""

from django.core.exceptions import ValidationError


def explain(error: ValidationError) -> str:
    """One line for each invalid setting, with the reason."""
    lines = [f"{field}: {' '.join(messages)}" for field, messages in error.message_dict.items()]
    return "The study was not created.\n" + "\n".join(lines)
