from django.apps import AppConfig
from django.conf import settings

from config.env import env, flag


class WebhooksConfig(AppConfig):
    name = "extras.webhooks"
    addresses = {"studies/<slug:slug>/webhooks/": "extras.webhooks.urls"}

    def ready(self) -> None:
        from config.operations import doctor
        from extras.webhooks import views
        from extras.webhooks.webhooks import webhooks_of_an_owner
        from studies.services.accounts import team

        # Whether webhooks may go to this machine and private networks.
        settings.WEBHOOK_PRIVATE_ADDRESSES = env(
            "WEBHOOK_PRIVATE_ADDRESSES", cast=flag, default=False
        )
        settings.CELERY_BEAT_SCHEDULE["send-webhooks"] = {
            "task": f"{self.name}.tasks.send_webhooks",
            "schedule": 15.0,
        }
        doctor.MORE.add(f"{self.name}.webhooks:SECRETS")
        team.register(webhooks_of_an_owner)
        views.register()
