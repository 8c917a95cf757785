from django.apps import AppConfig


class DocumentationPagesConfig(AppConfig):
    name = "extras.documentation_pages"
    addresses = {"": "extras.documentation_pages.urls"}

    def ready(self) -> None:
        from studies.pages.workbench import MAIN_LINKS

        MAIN_LINKS.add(f"{self.name}.views:LINK")
