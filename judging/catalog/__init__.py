"""Judges as researchers add, test and change them on pages: who may, where, and with which keys."""
