"""The comparison that a page shows: computed at once in a small study, by a worker in a large one.

A small study is compared again whenever anything has changed. In a large one a worker looks for
changes when the comparison is older than a minute and somebody opens the page.
"""

from datetime import timedelta

from analysis.data.items.comparisons import fingerprint_of, is_small
from analysis.disagreements.comparison_job import compare_queued, delete_rows
from analysis.models import Comparison
from analysis.tasks import compare_items
from studies.jobs.queueing import queue
from studies.jobs.retry import is_due, start_over
from studies.models.studies import Study
from studies.statements import clock

_OLD_AFTER = timedelta(minutes=1)
# Without a visit for this long the rows are deleted; the next visit computes them again.
_KEPT_FOR = timedelta(days=14)


def comparison_for(study: Study, run_id: int | None) -> Comparison:
    """The comparison with a run; its `edition` is 0 until a worker has compared for the first time.

    The caller has found the run in this study.
    """
    found = _get(study, run_id)
    found.study = study
    if is_small(study, found.run):
        if not found.edition or found.fingerprint != fingerprint_of(
            study, filter(None, [found.run])
        ):
            start_over(found)
            return compare_queued(comparison_id=found.pk)
    elif is_due(found, after=_OLD_AFTER) and start_over(found):
        queue(compare_items, found.pk)
        found.refresh_from_db()
    return found


def stored_for(study: Study, run_id: int | None) -> Comparison | None:
    """The comparison as it is, for pages that need only the order of its items."""
    return Comparison.objects.filter(study=study, run=run_id).first()


def delete_unused() -> None:
    """Delete comparisons that nobody has opened for two weeks."""
    limit = clock.now() - _KEPT_FOR
    for comparison in Comparison.objects.filter(heartbeat_at__lt=limit):
        delete_rows(comparison)
        comparison.delete()


def _get(study: Study, run_id: int | None) -> Comparison:
    rows = Comparison.objects.filter(study=study, run=run_id).select_related("run")
    if found := rows.first():
        return found
    # Somebody may open the same page at the same moment.
    Comparison.objects.bulk_create(
        [Comparison(study=study, run_id=run_id, state=Comparison.State.DONE)],
        ignore_conflicts=True,
    )
    return rows.get()
