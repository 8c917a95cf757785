from django.apps import AppConfig


class StudyFilesConfig(AppConfig):
    name = "extras.study_files"

    def ready(self) -> None:
        from analysis.exports import catalogue

        catalogue.MORE_FOLDERS.add(f"{self.name}.applying:EXPORT")
