from config.env import env, folder

# Where backups go that are made on the Server page; by default below VAR_DIR.
BACKUP_DIR = env("BACKUP_DIR", cast=folder, default=None)
