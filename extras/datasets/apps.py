from django.apps import AppConfig

_SETS = (
    "opinionqa:OPINIONQA",
    "ec:EC",
    "personal_reddit:PERSONAL_REDDIT",
    "multipref:MULTIPREF",
    "persona_feedback:PERSONA_FEEDBACK",
    "daily_dilemmas:DAILY_DILEMMAS",
    "mena_values:MENA_VALUES",
    "arena:ARENA",
    "helpsteer:HELPSTEER",
)


class DatasetsConfig(AppConfig):
    name = "extras.datasets"

    def ready(self) -> None:
        from studies.importers.sets import MORE

        MORE.add(*(f"{self.name}.{each}" for each in _SETS))
