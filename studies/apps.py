from django.apps import AppConfig


class StudiesConfig(AppConfig):
    name = "studies"

    def ready(self) -> None:
        from django.contrib.auth.models import User
        from django.contrib.auth.signals import user_logged_in
        from django.db.models.signals import pre_delete

        from studies.pages.signed_in import begin_session
        from studies.services.studies import keep_name

        # Every way of deleting an account, and of signing in, sends these signals.
        pre_delete.connect(keep_name, sender=User, dispatch_uid="keep_name")
        user_logged_in.connect(begin_session, dispatch_uid="begin_session")
