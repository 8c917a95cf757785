from django.apps import AppConfig


class AgentsConfig(AppConfig):
    name = "extras.agents"
    addresses = {"studies/<slug:slug>/proposals/": "extras.agents.urls"}

    def ready(self) -> None:
        from extras.agents import views

        views.register()
