from django.apps import AppConfig


class PublicationConfig(AppConfig):
    """A command; nothing of it is in the core's lists."""

    name = "extras.publication"
