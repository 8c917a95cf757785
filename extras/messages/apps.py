from django.apps import AppConfig


class MessagesConfig(AppConfig):
    name = "extras.messages"
    label = "prolific_messages"  # Django itself has an app `messages`
    addresses = {"studies/<slug:slug>/people/prolific/messages/": "extras.messages.urls"}

    def ready(self) -> None:
        from annotation.prolific.sync import sync
        from annotation.researchers.reaching import WRITING_PAGES
        from extras.messages import workbench
        from studies import held_copies

        sync.MORE.add(f"{self.name}.workbench:UNREAD")
        WRITING_PAGES.add(f"{self.name}.workbench:WRITING")
        held_copies.MORE.add(f"{self.name}.workbench:HELD")
        workbench.register()
