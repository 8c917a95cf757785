from config.env import env, flag

# Whether webhooks may go to this machine and private networks.
WEBHOOK_PRIVATE_ADDRESSES = env("WEBHOOK_PRIVATE_ADDRESSES", cast=flag, default=False)
SCHEDULE = {"send-webhooks": {"task": "extras.webhooks.tasks.send_webhooks", "schedule": 15.0}}
