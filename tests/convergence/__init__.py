"""Convergence: whatever happens to devices, doorbells, answers and the log, all screens show the same in the end.

A schedule is a list of steps from a seed. It runs in one thread: the database answers inline, doorbells and time are in
the schedule's hand (`support/stage.py`), and devices talk to the real consumer without a socket (`support/wire.py`).
"""
