#!/usr/bin/env python
"""Thirdperson's command line."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.dev")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line
    from django.db import DatabaseError

    from studies.console import console

    try:
        with console():
            execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.exit(str(error))
    except DatabaseError:
        from config.migrate import what_is_wrong

        if sentence := what_is_wrong():
            sys.exit(sentence)
        raise


if __name__ == "__main__":
    main()
