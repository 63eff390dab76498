"""Measurements as ratios against a baseline of the same run: `make bench`. Nothing here asserts a time."""
