"""A local stand-in for Telegram: the Bot API over HTTP, doors for programs, and a page that looks like a phone.

Everything is in the database, so a restart of the server loses nothing. The unmodified bot runs against it with
``TELEGRAM_API_URL=http://127.0.0.1:8000/sandbox/telegram``. It is for one machine, never for the internet.
"""
