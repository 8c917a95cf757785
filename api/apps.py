from django.apps import AppConfig


class ApiConfig(AppConfig):
    name = "api"
    verbose_name = "Interface for programs"

    def ready(self) -> None:
        from api.pages import views
        from api.webhooks import webhooks_of_an_owner
        from studies.services.accounts import team

        views.register()
        team.register(webhooks_of_an_owner)
