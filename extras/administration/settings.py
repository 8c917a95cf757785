from config.env import env, folder

# The token for /metrics; without it, only programs on this machine may read it.
METRICS_TOKEN = env.str("METRICS_TOKEN", default="")

# Where backups go that are made on the Server page; by default below VAR_DIR.
BACKUP_DIR = env("BACKUP_DIR", cast=folder, default=None)
