"""Attaching to a conversation as one attaches to tmux: what is there is replayed, then what happens follows."""
