"""Numbers from typed text and from addresses."""

LARGEST_ID = 2**63 - 1  # the largest that a database can hold
_MOST_DIGITS = len(str(LARGEST_ID))


def whole_number(text: str, *, most: int = LARGEST_ID) -> int | None:
    """The whole number from 0 to `most` that `text` states; None for anything else."""
    text = text.strip()
    if not text.isascii() or not text.isdigit() or len(text.lstrip("0")) > _MOST_DIGITS:
        return None
    number = int(text[-_MOST_DIGITS:])
    return number if number <= most else None
