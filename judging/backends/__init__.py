"""Where replies come from: servers and local models. No Django."""
