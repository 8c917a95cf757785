"""The limit on starts by an open link from one network address."""

import datetime as dt
import logging

from django.conf import settings
from django.utils.crypto import salted_hmac

from annotation.errors import TooManyStarts
from annotation.models import LinkStart
from studies.models import Study
from studies.services.accounts.rate_limits import Limit
from studies.statements import clock

logger = logging.getLogger(__name__)

_HOUR = dt.timedelta(hours=1)
_KEPT_FOR = dt.timedelta(hours=12)


def count_start(study: Study, address: str) -> None:
    """Count a start from `address`; raises `TooManyStarts`, and then counts nothing.

    Only a keyed hash of the address is stored, separate from the annotator, and only for hours.
    """
    if not settings.LINK_STARTS_PER_HOUR:
        return
    hashed = salted_hmac(
        "annotation.starts", f"{study.pk} {address}", secret=settings.SECRET_KEY, algorithm="sha256"
    ).hexdigest()
    LinkStart.objects.filter(created_at__lt=clock.now() - _KEPT_FOR).delete()
    # Stored before it is compared, so that simultaneous starts see each other.
    own = LinkStart.objects.create(study=study, address=hashed)
    others = LinkStart.objects.filter(study=study, address=hashed).exclude(pk=own.pk)
    if wait := Limit(settings.LINK_STARTS_PER_HOUR, _HOUR).wait(others):
        own.delete()
        logger.warning("study %s: start refused, too many from one address", study.pk)
        raise TooManyStarts(wait)
