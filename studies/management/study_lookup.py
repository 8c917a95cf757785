"""The study that a command names."""

from django.core.management.base import CommandError

from studies.models import Study


def find_study(slug: str) -> Study:
    """The study with this short name. Raises `CommandError` that lists the existing ones."""
    try:
        return Study.objects.get(slug=slug)
    except Study.DoesNotExist:
        known = ", ".join(Study.objects.order_by("slug").values_list("slug", flat=True)[:20])
        raise CommandError(
            f"There is no study “{slug}”. "
            + (f"Use one of: {known}." if known else "Create one with create_study.")
        ) from None
