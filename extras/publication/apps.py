from django.apps import AppConfig


class PublicationConfig(AppConfig):
    """A command, and where a person's data went by it."""

    name = "extras.publication"

    def ready(self) -> None:
        from studies import held_copies

        held_copies.MORE.add(f"{self.name}.publish:HELD")
