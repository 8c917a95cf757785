from config.env import env, percentage

# Cost of recruiting on top of rewards, in percent; None if unknown.
RECRUITING_FEE = env("RECRUITING_FEE", cast=percentage, default=None)
RECRUITING_TAX = env("RECRUITING_TAX", cast=percentage, default=None)
