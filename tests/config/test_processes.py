"""What an installation runs."""

from django.conf import settings

from config.processes import all_commands


def test_the_workers_serve_every_queue_and_one_of_them_keeps_the_schedule():
    workers = list(all_commands()["worker"].values())

    served = [command[command.index("--queues") + 1] for command in workers]
    assert sorted(served) == sorted(queue.name for queue in settings.CELERY_TASK_QUEUES)
    assert sum("--beat" in command for command in workers) == 1
