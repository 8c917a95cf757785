"""The account of visitors of a public demo: `VISITOR_PASSWORD=… python -m demo.visitors NAME`."""

import os
import sys

import django


def let_in(name: str, password: str) -> None:
    """Create the account, or give it its password and its studies again.

    It is an editor of the demo's studies and may create others, but is not an administrator.
    """
    from django.contrib.auth.models import Permission, User

    from demo.studies import MAIN, TIES
    from studies.models import Membership, SecondStep, Study

    user, _ = User.objects.get_or_create(username=name)
    if not (user.is_active and user.check_password(password)):
        user.is_active = True
        user.set_password(password)
    user.is_staff = user.is_superuser = False
    user.save()
    SecondStep.objects.filter(user=user).delete()
    user.user_permissions.set(Permission.objects.filter(codename="add_study"))
    for study in Study.objects.filter(slug__in=[MAIN, TIES]):
        Membership.objects.update_or_create(
            study=study, user=user, defaults={"role": Membership.Role.EDITOR}
        )


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.base")
    django.setup()
    let_in(sys.argv[1], os.environ["VISITOR_PASSWORD"])
