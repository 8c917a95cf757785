"""Simulated data whose truth is known, and checks of what each statistic promises about it.

The command `verify_methods` runs the checks, and tests run a few of them.
"""
