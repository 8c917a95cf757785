"""Several people press at the same moment: what costs money happens once."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from django.db import connection

from annotation.models import BonusPayment
from annotation.prolific.api.errors import NotAllowed
from annotation.prolific.money import bonuses
from tests.annotation.prolific.life import (
    make_recruiting,
    owed_to_two,
    paid_there,
    published,
    ready,
)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_people_who_pay_at_the_same_moment_pay_once(prolific):
    row = published(make_recruiting())
    payment = ready(row.study, owed_to_two(row, prolific))

    def press(_):
        with suppress(NotAllowed):
            bonuses.pay(payment_id=payment.pk, confirmed=payment.total)
        connection.close()

    with ThreadPoolExecutor(max_workers=6) as pool:
        list(pool.map(press, range(6)))

    assert paid_there(prolific) == [[150], [150]]
    assert BonusPayment.objects.get().state == "paid"
