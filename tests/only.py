"""Whether the core works with one extra alone: `python -m tests.only NAME… [-- pytest arguments]`.

As `tests.without`, but all other extras are deleted; `core` leaves none. Without a name it does so
for every extra.
"""

import sys

import extras
from tests.without import passes

if __name__ == "__main__":
    names, _, after = " ".join(sys.argv[1:]).partition("--")
    chosen = names.split() or ["core", *extras.NAMES]
    results = [
        passes(f"only {name}", [other for other in extras.NAMES if other != name], after.split())
        for name in chosen
    ]
    sys.exit(not all(results))
