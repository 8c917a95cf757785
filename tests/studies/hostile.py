"""Texts that would do harm in a file or a page, and what a spreadsheet would see of a file."""

import csv
import io
import re

# Signs that begin a formula: plain, full-width, small.
SIGNS = "=+-@＝＋－＠﹦﹢﹣﹫"
_BREAK = r"[\r\n\x0b\x0c\x1c-\x1e\x85\u2028\u2029]"

HOSTILE = (
    "fine\r=1+1",
    "fine\n=1+1",
    "fine\r\n=1+1",
    'a "quoted"\r@SUM(A1)',
    "fine\r\r-2+3",
    "fine\x0b=1",
    "fine\x0c=1",
    "fine\x1c=1",
    "fine\x85=1",
    "fine\u2028=1",
    "fine\u2029=1",
    "\r=1",
    "\n=1",
    "\r",
    *(f"{sign}1+1" for sign in SIGNS),
    *(f"{before}=cmd|' /C calc'!A0" for before in (" ", "   ", "\t", "\xa0", "\u3000", "\u2003")),
    *(f"{before}=1" for before in ("\ufeff", "\u200b", "\u2060", "\u202e", "\x00", "\x1f", "\xad")),
    "'=1",
    "''=1",
    "' =1",
    "'fine",
    "fine, with a comma",
    "5 = 5",
    "",
)


def rows_of(text: str) -> list[list[str]]:
    """The rows of a CSV file, where every kind of line break outside quotes ends one."""
    physical, quoted, line = [], False, ""
    for sign in text.replace("\r\n", "\n"):
        quoted ^= sign == '"'
        if not quoted and re.fullmatch(_BREAK, sign):
            physical.append(line)
            line = ""
        else:
            line += sign
    physical += [line] if line else []
    return [next(csv.reader(io.StringIO(line, newline=""), strict=True), []) for line in physical]


def looks_like_a_formula(cell: str) -> bool:
    """Whether the first sign of a cell that shows anything begins a formula."""
    unseen = r"[\s\x00-\x20\x7f-\x9f\xad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]*"
    return bool(re.match(rf"{unseen}[{re.escape(SIGNS)}]", cell))
