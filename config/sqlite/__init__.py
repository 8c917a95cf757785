"""Django's SQLite backend, with a queue for writers; `config.env.sqlite` names it as the engine."""
