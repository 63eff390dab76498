"""The demo: its people and their history, the page with its scenes, and the two processes behind it."""
