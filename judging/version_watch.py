"""Whether a server names another version of the model during a run."""

from datetime import datetime, timedelta

from django.db.models import Min

from judging.models import Judgment

# Answers are stored slightly later than their time stamp.
_OVERLAP = timedelta(seconds=30)


class VersionWatch:
    """Watches a run and reports each new model or fingerprint once.

    It reads only answers since the last check, so frequent checks are cheap.
    """

    def __init__(self, run_id: int) -> None:
        self._run_id = run_id
        self._known: list[tuple[str, str]] = []
        self._since: datetime | None = None

    def look(self) -> list[str]:
        """A sentence for each new version; none for the first."""
        answers = Judgment.everything.filter(
            run=self._run_id, answered_at__isnull=False, reused_from=None
        ).exclude(model_snapshot="", fingerprint="")
        newest = answers.order_by("-answered_at").values_list("answered_at", flat=True).first()
        if newest is None:
            return []
        if self._since is not None:
            answers = answers.filter(answered_at__gte=self._since)
        self._since = newest - _OVERLAP
        versions = (
            answers.order_by()
            .values_list("model_snapshot", "fingerprint")
            .annotate(first=Min("answered_at"))
            .order_by("first", "model_snapshot", "fingerprint")
        )
        sentences = []
        for model, fingerprint, first in versions:
            version = model, fingerprint
            if version in self._known:
                continue
            if self._known:
                sentences.append(
                    f"The model changed during this run. Since {first:%H:%M:%S} UTC the server "
                    f"names {_named(*version)}; before, it named {_named(*self._known[-1])}."
                )
            self._known.append(version)
        return sentences


def _named(model: str, fingerprint: str) -> str:
    name = f"“{model}”" if model else "no model"
    return f"{name} with the fingerprint “{fingerprint}”" if fingerprint else name
