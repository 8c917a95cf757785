from django.apps import AppConfig


class ProlificFiltersConfig(AppConfig):
    name = "extras.prolific_filters"
    addresses = {"studies/<slug:slug>/people/prolific/filters/": "extras.prolific_filters.pages"}

    def ready(self) -> None:
        from annotation.prolific.additions import PARTS
        from studies.pages.workbench import register_pages

        PARTS.add(f"{self.name}.pages:LINK")
        register_pages("annotators", "prolific_filters:")
