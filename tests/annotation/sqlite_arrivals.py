"""Run by test_sqlite: one of several processes in which people arrive and answer at once.

python -m tests.annotation.sqlite_arrivals STUDY FIRST LAST
"""

import os
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.test")


def main(slug: str, first: int, last: int) -> int:
    django.setup()
    from django.db import connection

    from annotation import services
    from studies.models import Study
    from tests.factories import answer_item, walk_in

    study = Study.objects.get(slug=slug)

    def take_part(number: int) -> bool:
        try:
            annotator = walk_in(study, f"person{number}")
            for assignment in annotator.assignments.order_by("position"):
                answer_item(assignment, certainty=60)
            services.complete(annotator_id=annotator.pk)
        except Exception:  # noqa: BLE001  whatever it is, the test shows it
            traceback.print_exc()
            return False
        finally:
            connection.close()
        return True

    numbers = range(first, last)
    with ThreadPoolExecutor(max_workers=len(numbers)) as pool:
        return 0 if all(pool.map(take_part, numbers)) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
