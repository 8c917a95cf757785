from config.env import env

# The token for /metrics; without it, only programs on this machine may read it.
METRICS_TOKEN = env.str("METRICS_TOKEN", default="")
