from django.apps import AppConfig


class StudiesConfig(AppConfig):
    name = "studies"

    def ready(self) -> None:
        from studies.pages.workbench import navigation, setup, study_list

        navigation.register()
        setup.register()
        study_list.register()
