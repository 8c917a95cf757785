"""Tables of TOML from outside, and what is wrong with a text that holds none."""

import tomllib
from typing import Any


class NotToml(ValueError):
    """Why a text is not TOML, in words for people."""


def toml_value(content: bytes | str) -> dict[str, Any]:
    """The table in a text. Raises `NotToml`."""
    try:
        return tomllib.loads(content if isinstance(content, str) else content.decode("utf-8"))
    except RecursionError:
        raise NotToml("tables and lists are nested too deep") from None
    except UnicodeDecodeError:
        raise NotToml("it is not in UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise NotToml(str(error)) from None
    except ValueError:
        raise NotToml("a number has too many digits") from None
