from django.apps import AppConfig


class ProviderLibrariesConfig(AppConfig):
    name = "extras.provider_libraries"

    def ready(self) -> None:
        from judging.backends.kinds import MORE

        MORE.add(f"{self.name}.anthropic:ANTHROPIC", f"{self.name}.gemini:GEMINI", after="openai")
