"""Links that reset a forgotten password, by e-mail from a worker."""

from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.forms import PasswordResetForm

from studies.jobs.queueing import queue
from studies.services.accounts import sign_ins


def ask_for_reset(*, email: str, address: str) -> None:
    """Let a worker send the link, unless there were too many requests.

    The page takes equally long for known and unknown addresses.
    """
    from studies.tasks import send_reset_link

    if sign_ins.may_ask_for_reset(email=email, address=address):
        queue(send_reset_link, email)


def send_link(*, email: str) -> None:
    """Send a link to every account with this address that has a password.

    The link leads to `PUBLIC_BASE_URL`, whatever host the request named.
    """
    form = PasswordResetForm({"email": email})
    if not form.is_valid():
        return
    public = urlsplit(settings.PUBLIC_BASE_URL)
    form.save(
        domain_override=public.netloc,
        use_https=public.scheme == "https",
        subject_template_name="registration/reset_subject.txt",
        email_template_name="registration/reset_email.txt",
    )
