"""A page on which one person marks items without seeing the judge: `check --mark`."""
