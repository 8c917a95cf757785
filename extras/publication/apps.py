from django.apps import AppConfig


class PublicationConfig(AppConfig):
    """Only a command; it adds nothing to the core's lists."""

    name = "extras.publication"
