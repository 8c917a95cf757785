from django.apps import AppConfig


class AdministrationConfig(AppConfig):
    name = "extras.administration"
    addresses = {
        "administration/": "extras.administration.urls",
        "admin/components/": "extras.administration.components",
    }

    def ready(self) -> None:
        from studies.pages.workbench import ADMINISTRATION

        ADMINISTRATION.add(f"{self.name}.views:LINK")
