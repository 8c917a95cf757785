#!/usr/bin/env python
"""Thirdperson's command line."""

import errno
import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.dev")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line
    from django.db import DatabaseError, InterfaceError

    from studies.console import console

    try:
        with console():
            execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.exit(str(error))
    except (DatabaseError, InterfaceError) as error:
        from config.migrate import what_is_wrong

        if sentence := what_is_wrong(error):
            sys.exit(sentence)
        raise
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        where = f" for {error.filename}" if error.filename else ""
        sys.exit(f"There is no space left{where}. Free space on its disk, then try again.")


if __name__ == "__main__":
    main()
