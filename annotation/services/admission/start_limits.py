"""The limit on starts that nobody vouches for, from one network address and in one study."""

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

# One study may have so many times the starts of one address: who has many addresses meets this.
_ADDRESSES = 20
_HOUR = dt.timedelta(hours=1)
_KEPT_FOR = dt.timedelta(hours=12)


def count_start(study: Study, address: str) -> None:
    """Count a start from `address`; raises `TooManyStarts`, and then counts nothing.

    A study whose people are simulated has no limit, because all of them have one address. Only a
    keyed hash of the address is stored, separate from the annotator, and only for hours.
    """
    if not settings.LINK_STARTS_PER_HOUR or study.is_simulated:
        return
    hashed = salted_hmac(
        "annotation.starts", f"{study.pk} {address}", secret=settings.SECRET_KEY, algorithm="sha256"
    ).hexdigest()
    LinkStart.objects.filter(created_at__lt=clock.now() - _KEPT_FOR).delete()
    # Stored before it is compared, so that simultaneous starts see each other.
    own = LinkStart.objects.create(study=study, address=hashed)
    others = LinkStart.objects.filter(study=study).exclude(pk=own.pk)
    by_address = Limit(settings.LINK_STARTS_PER_HOUR, _HOUR)
    by_study = Limit(settings.LINK_STARTS_PER_HOUR * _ADDRESSES, _HOUR)
    if wait := by_address.wait(others.filter(address=hashed)) or by_study.wait(others):
        own.delete()
        logger.warning("study %s: start refused, too many of them", study.pk)
        raise TooManyStarts(wait)
