from django.apps import AppConfig


class ApiConfig(AppConfig):
    name = "api"
    verbose_name = "Interface for programs"

    def ready(self) -> None:
        from api.pages import navigation
        from api.webhooks.services import webhooks_of_an_owner
        from studies.services.accounts import team

        navigation.register()
        team.register(webhooks_of_an_owner)
