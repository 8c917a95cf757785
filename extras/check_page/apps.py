from django.apps import AppConfig


class CheckPageConfig(AppConfig):
    name = "extras.check_page"
    addresses = {"check/": "extras.check_page.urls"}

    def ready(self) -> None:
        from studies.pages.workbench import SIGN_IN_LINKS

        SIGN_IN_LINKS.add(f"{self.name}.views:LINK")
