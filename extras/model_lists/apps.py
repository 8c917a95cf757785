from django.apps import AppConfig


class ModelListsConfig(AppConfig):
    name = "extras.model_lists"

    def ready(self) -> None:
        from judging.pages.workbench import ADDING_HELPS

        ADDING_HELPS.add(f"{self.name}.filling_in:ADDING")
