from django.apps import AppConfig


class PublicationConfig(AppConfig):
    """The files that describe a bundle, a command, and where a person's data went by it."""

    name = "extras.publication"

    def ready(self) -> None:
        from analysis.exports import catalogue
        from studies import held_copies

        catalogue.DESCRIPTIONS.add(f"{self.name}.describing:FILES")
        held_copies.MORE.add(f"{self.name}.publish:HELD")
