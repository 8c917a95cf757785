from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    name = "extras.webhooks"
    addresses = {"studies/<slug:slug>/webhooks/": "extras.webhooks.urls"}

    def ready(self) -> None:
        from config.operations import doctor
        from extras.webhooks import views
        from extras.webhooks.webhooks import webhooks_of_an_owner
        from studies.services.accounts import team

        doctor.MORE.add(f"{self.name}.webhooks:SECRETS")
        team.register(webhooks_of_an_owner)
        views.register()
