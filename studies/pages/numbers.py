"""Numbers as somebody typed them, or wrote them into an address."""

LARGEST_ID = 2**63 - 1  # that a database holds
_MOST_DIGITS = len(str(LARGEST_ID))


def whole_number(text: str, *, most: int = LARGEST_ID) -> int | None:
    """The whole number from 0 to `most` that `text` is; None where it is anything else."""
    text = text.strip()
    if not text.isascii() or not text.isdigit() or len(text.lstrip("0")) > _MOST_DIGITS:
        return None
    number = int(text[-_MOST_DIGITS:])
    return number if number <= most else None
