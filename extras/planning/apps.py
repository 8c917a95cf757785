from django.apps import AppConfig

from config.env import env, percentage


class PlanningConfig(AppConfig):
    name = "extras.planning"
    addresses = {"studies/<slug:slug>/planning/": "extras.planning.urls"}
    # Cost of recruiting on top of rewards, in percent; None if unknown.
    recruiting_fee = env("RECRUITING_FEE", cast=percentage, default=None)
    recruiting_tax = env("RECRUITING_TAX", cast=percentage, default=None)

    def ready(self) -> None:
        from extras.planning import views

        views.register()
